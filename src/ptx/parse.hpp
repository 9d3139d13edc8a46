// Parser: converts PTX text to an isa::Module in virtual registers, with one isa::Instruction per PTX
// instruction. A few rare opcodes become short sequences (parse_expansions.cpp, vector atomics).
//
// Conventions in addition to isa/instruction.hpp:
// - A kernel's parameter is an Ld of Space::Param with src[0] = Const(offset of the parameter) and the
//   displacement in `offset`. The address of a parameter (mov of its name) is a Mov of an Imm, the offset in
//   the constant bank. An Ld of Space::Param through a register takes such an address.
// - Parameters of device functions and call sites: Ld and St of Space::Param with src[0] = Imm(slot).
// - Calls of vprintf, malloc, free and __assertfail remain calls of these names. The back end turns them into
//   Syscall after slots have become registers. Declared functions without a body are not in
//   Module::functions.
// - The carry flag is one virtual predicate per function: dst[1] of instructions that set it (carry_out), and
//   the last source of instructions that read it (carry_in): Add, Sub, MadLo and MadHi. For Sub it is the
//   borrow.
// - Bar: src[0] barrier, src[1] threads or None, src[2] predicate of reductions. Setp: dst[1] is the second
//   predicate or None, src[2] the predicate for bool_op. Shfl: value, lane, clamp, member mask. Atom Cas:
//   src[1] is compared, src[2] stored. Vote, Match, Redux: value, member mask.
// - Narrow signed loads extend to 32 bits (64 in a Reg64), whatever the declared width of the register, so
//   readers of 8 or 16 bits must ignore the upper bits. Signed conversions to narrow types extend to the
//   declared width.
// - Relaxed accesses at GPU or system scope get CacheOp::CG: the L1 may not serve them.
// - Votes and shuffles without .sync have no member mask (Operand None).
// - Parameters in registers, and registers and numbers that calls pass, are copied to and from slots.
// - Labels without references are dropped (-G and -lineinfo set many).
// - Offsets of .shared variables: see shared_layout.cpp.
#pragma once

#include <string>
#include <string_view>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

/// Parses a whole PTX translation unit in either dialect of nvcc 13 (sm_75 to sm_90, and sm_100). `file` is
/// the name used in messages. Throws UserError with file:line:column, naming the construct, for malformed or
/// unsupported text.
[[nodiscard]] isa::Module parse(std::string_view text, const std::string& file);

/// Like parse(), but stores errors inside a function's body in Function::error, so that the other functions
/// can be used.
[[nodiscard]] isa::Module parse_by_function(std::string_view text, const std::string& file);

}  // namespace gpumux::ptx
