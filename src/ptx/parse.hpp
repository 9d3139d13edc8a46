// PTX text -> isa::Module in virtual registers, one isa::Instruction per PTX instruction (a few rare opcodes
// become short sequences: parse_expansions.cpp, vector atomics).
//
// What the instructions mean beyond isa/instruction.hpp:
//  - A kernel's parameters: Ld of Space::Param with src[0] = Const(offset of the parameter) and the
//  displacement in
//    `offset`. Their addresses (mov of a parameter's name) are Mov of an Imm, the offset in the constant
//    bank; an Ld of Space::Param through a register takes such an address.
//  - Parameters of device functions and call sites: Ld and St of Space::Param with src[0] = Imm(slot).
//  - Calls of vprintf, malloc, free and __assertfail stay calls to those names; the back end turns them into
//    Syscall once slots are registers. Functions that are only declared are not in Module::functions.
//  - The carry flag is one virtual predicate per function: dst[1] of what sets it (carry_out), the last
//  source of
//    what reads it (carry_in); Add, Sub, MadLo and MadHi. For Sub it is the borrow.
//  - Bar: src[0] barrier, src[1] threads or None, src[2] predicate of reductions. Setp: dst[1] is the second
//    predicate or None, src[2] what bool_op combines with. Shfl: value, lane, clamp, member mask. Atom Cas:
//    src[1] is compared, src[2] stored. Vote, Match, Redux: value, member mask.
//  - Narrow signed loads extend to 32 bits (64 in a Reg64), whatever the declared width of the register, so
//  who
//    reads 8 or 16 bits looks at those alone. Signed conversions to narrow types extend to the declared
//    width.
//  - Accesses at GPU or system scope that are relaxed get CacheOp::CG: they may not be served by L1.
//  - Votes and shuffles without .sync have no member mask (Operand None).
//  - Parameters in registers, and registers and numbers that calls pass, are copied to and from slots.
//  - Labels that nothing refers to are dropped (-G and -lineinfo set many).
//  - .shared offsets: see shared_layout.cpp.
#pragma once

#include <string>
#include <string_view>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

/// Parses a whole PTX translation unit, both dialects of nvcc 13 (sm_75 to sm_90 and sm_100).
/// `file` is the name used in messages. Throws UserError with file:line:column for whatever is
/// malformed or not supported, naming the construct.
[[nodiscard]] isa::Module parse(std::string_view text, const std::string& file);

/// The same, but what is wrong inside a function's body is kept in Function::error, so that the others can be
/// used.
[[nodiscard]] isa::Module parse_by_function(std::string_view text, const std::string& file);

}  // namespace gpumux::ptx
