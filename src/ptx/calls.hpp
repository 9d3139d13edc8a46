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

/// The name of the local variable of a function that says where its thread's stack of alloca ends so far, and
/// what stands for it likewise. As another operand than the address of Ld and St: where that stack ends at
/// most.
inline constexpr const char* kStackTop = ".alloca";
inline constexpr std::uint32_t kStackTopSymbol = 0xffff'fff1U;
/// Of that stack, per thread, behind the kernel's frame: as much as recursion gets.
inline constexpr std::uint32_t kAllocaBytes = 4096;
/// No function of the program uses it.
inline constexpr std::uint32_t kNoAlloca = 0xffff'ffffU;
[[nodiscard]] bool uses_alloca(const isa::Function& inlined);

/// A body of more instructions than this, with all that is inlined into it, is inlined only where the module
/// calls it once. Else code doubles at each level of calls.
inline constexpr std::size_t kLargestRepeatedBody = 4000;
/// No call is inlined that would make a function longer than this.
inline constexpr std::size_t kLargestInlinedCode = 60'000;

/// Who calls whom in a module, over direct calls.
class CallGraph {
 public:
  explicit CallGraph(const isa::Module& module);

  [[nodiscard]] const isa::Module& module() const { return *module_; }
  /// The callee of a call site of `function`, or kNoTarget where it is not of this module (or not known).
  [[nodiscard]] std::uint32_t callee(std::uint32_t function, std::uint32_t site) const {
    return callees_[function][site];
  }
  /// Whether its calls are inlined, where they still have room.
  [[nodiscard]] bool inlines(std::uint32_t function) const {
    return !recursive_[function] && (sizes_[function] <= kLargestRepeatedBody || sites_[function] == 1);
  }
  [[nodiscard]] bool calls_itself(std::uint32_t function) const { return recursive_[function]; }
  /// All functions, each behind those that it calls; those that call each other in any order.
  [[nodiscard]] const std::vector<std::uint32_t>& callees_first() const { return callees_first_; }
  /// Instructions of the function's body with what is inlined into it; kEndless at most.
  [[nodiscard]] std::size_t inlined_size(std::uint32_t function) const { return sizes_[function]; }
  static constexpr std::size_t kEndless = std::size_t{1} << 40U;

 private:
  void find_recursion();
  void find_sizes();

  const isa::Module* module_;
  std::vector<std::vector<std::uint32_t>> callees_;  // by function and call site
  std::vector<std::uint32_t> callees_first_;         // functions, each behind those that it calls
  std::vector<std::size_t> sites_;                   // by function: calls of it in the module
  std::vector<bool> recursive_;
  std::vector<std::size_t> sizes_;
};

/// The function at `index` with direct calls to functions that do not call themselves replaced by their
/// bodies, as long as the two bounds above allow, that of cudaGraphSetConditional by its store, and calls of
/// vprintf, malloc, free and __assertfail turned into Syscall (their slots still in memory form:
/// Syscall::call is the call site). Local symbols have become
/// symbol kFrameSymbol with the offset in the frame of `function`. Throws UserError for calls to functions
/// that do not exist.
[[nodiscard]] isa::Function inline_calls(const CallGraph& graph, std::uint32_t index);

/// A function that is called for real, with its own calls inlined.
struct RealCallee {
  std::uint32_t index = isa::kNoTarget;  // in the module
  isa::Function function;
};
/// Functions that `function` (inlined) calls for real, directly or through pointers, in the order of the
/// module, closed under calls of their own.
[[nodiscard]] std::vector<RealCallee> real_callees(const CallGraph& graph, const isa::Function& function);

/// In a program with real calls, 32-bit register 0 of each function is the stack pointer: the local
/// address of the function's frame.
inline constexpr std::uint32_t kStackPointer = 0;
/// Local bytes added to a program with recursion or indirect calls beyond the kernel's own frame
/// (CUDA's default stack limit is 1024; nested frames here also hold the registers that calls save).
inline constexpr std::uint32_t kStackReserveBytes = 4096;

/// Parameter slots -> registers where each is only read and written in parts that do not overlap, else
/// local memory. `stack`: the program has real calls, so that frame addresses are relative to the stack
/// pointer, registers are renumbered to free kStackPointer, and slots of real calls lie beyond the
/// frame (marked until finish_frame()). `is_root`: the kernel itself. `alloca`: where in it the stack of
/// alloca begins, or kNoAlloca.
void lower_slots(isa::Function& function, bool stack, bool is_root, std::uint32_t alloca);

/// Makes the returns of a called function one block at the end. In the kernel (`is_root`) they become
/// exits, also, but for code that is to stay `as_written`, where a branch leads to a block that only returns.
void lower_returns(FlowGraph& graph, bool is_root, bool as_written = false);

/// Around each real call: saves the registers that live across it in the frame, moves the stack
/// pointer. Grows function.local_bytes. Call this after all optimisation but before allocation.
void save_registers(FlowGraph& graph, isa::Function& function);

/// Fills in the frame size where save_registers() and lower_slots() left marks.
void finish_frame(FlowGraph& graph, const isa::Function& function);

}  // namespace gpumux::ptx
