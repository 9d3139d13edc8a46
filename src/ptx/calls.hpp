// Device functions: inlining, parameter slots, and real calls for recursion and function pointers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// Index of the function `name` in the module, or kNoTarget.
[[nodiscard]] std::uint32_t function_index(const isa::Module& module, const std::string& name);

/// Stands for the function's own frame in Operand::reg of Kind::Symbol until lower_slots().
inline constexpr std::uint32_t kFrameSymbol = 0xffff'fff0U;

/// `function` with its direct calls to functions that do not call themselves replaced by their bodies,
/// and calls of vprintf, malloc, free and __assertfail turned into Syscall (their slots still in
/// memory form: Syscall::call is the call site). Local symbols have become symbol kFrameSymbol with the
/// offset in the frame of `function`. Throws UserError for calls to functions that do not exist.
[[nodiscard]] isa::Function inline_calls(const isa::Module& module, const isa::Function& function);

/// Functions that `function` (inlined) calls for real, directly or through pointers: module indices,
/// ascending, closed under calls of their own.
[[nodiscard]] std::vector<std::uint32_t> real_callees(const isa::Module& module,
                                                      const isa::Function& function);

/// In a program with real calls, 32-bit register 0 of each function is the stack pointer: the local
/// address of the function's frame.
inline constexpr std::uint32_t kStackPointer = 0;
/// Local bytes added to a program with recursion or indirect calls beyond the kernel's own frame
/// (CUDA's default stack limit is 1024; nested frames here also hold the registers that calls save).
inline constexpr std::uint32_t kStackReserveBytes = 4096;

/// Parameter slots -> registers where each is only read and written in parts that do not overlap, else
/// local memory. `stack`: the program has real calls, so that frame addresses are relative to the stack
/// pointer, registers are renumbered to free kStackPointer, and slots of real calls lie beyond the
/// frame (marked until finish_frame()). `is_root`: the kernel itself.
void lower_slots(isa::Function& function, bool stack, bool is_root);

/// Makes the returns of a called function one block at the end. In the kernel (`is_root`) they become
/// exits, also where a branch leads to a block that only returns.
void lower_returns(FlowGraph& graph, bool is_root);

/// Around each real call: saves the registers that live across it in the frame, moves the stack
/// pointer. Grows function.local_bytes. Call this after all optimisation but before allocation.
void save_registers(FlowGraph& graph, isa::Function& function);

/// Fills in the frame size where save_registers() and lower_slots() left marks.
void finish_frame(FlowGraph& graph, const isa::Function& function);

}  // namespace gpumux::ptx
