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

/// Operand::reg of Kind::Symbol that stands for the function's own frame until lower_slots().
inline constexpr std::uint32_t kFrameSymbol = 0xffff'fff0U;

/// Name of the local variable with the current top of the thread's alloca stack, and Operand::reg of
/// Kind::Symbol that stands for it. As the address of Ld and St, it accesses the top. As any other operand,
/// it is the end of the stack.
inline constexpr const char* kStackTop = ".alloca";
inline constexpr std::uint32_t kStackTopSymbol = 0xffff'fff1U;
/// Bytes per thread of the alloca stack behind the kernel's frame, the same size as for recursion.
inline constexpr std::uint32_t kAllocaBytes = 4096;
/// No function of the program uses alloca.
inline constexpr std::uint32_t kNoAlloca = 0xffff'ffffU;
[[nodiscard]] bool uses_alloca(const isa::Function& inlined);

/// A body with more instructions than this, including inlined ones, is inlined only if the module calls it
/// once. Otherwise code could double at each level of calls.
inline constexpr std::size_t kLargestRepeatedBody = 4000;
/// Calls are not inlined if the function would become longer than this.
inline constexpr std::size_t kLargestInlinedCode = 60'000;

/// The direct calls between functions of a module.
class CallGraph {
 public:
  explicit CallGraph(const isa::Module& module);

  [[nodiscard]] const isa::Module& module() const { return *module_; }
  /// The callee of a call site of `function`, or kNoTarget if it is not in this module or not known.
  [[nodiscard]] std::uint32_t callee(std::uint32_t function, std::uint32_t site) const {
    return callees_[function][site];
  }
  /// True if calls of the function are inlined, provided there is room.
  [[nodiscard]] bool inlines(std::uint32_t function) const {
    return !recursive_[function] && (sizes_[function] <= kLargestRepeatedBody || sites_[function] == 1);
  }
  [[nodiscard]] bool calls_itself(std::uint32_t function) const { return recursive_[function]; }
  /// All functions, each after its callees. Functions that call each other are in any order.
  [[nodiscard]] const std::vector<std::uint32_t>& callees_first() const { return callees_first_; }
  /// Number of instructions of the function's body including inlined bodies, limited to kEndless.
  [[nodiscard]] std::size_t inlined_size(std::uint32_t function) const { return sizes_[function]; }
  static constexpr std::size_t kEndless = std::size_t{1} << 40U;

 private:
  void find_recursion();
  void find_sizes();

  const isa::Module* module_;
  std::vector<std::vector<std::uint32_t>> callees_;  // by function and call site
  std::vector<std::uint32_t> callees_first_;         // functions, each after its callees
  std::vector<std::size_t> sites_;                   // by function: number of calls in the module
  std::vector<bool> recursive_;
  std::vector<std::size_t> sizes_;
};

/// The function at `index` after inlining. Direct calls of non-recursive functions are replaced by their
/// bodies within the two bounds above. cudaGraphSetConditional is replaced by its store. Calls of vprintf,
/// malloc, free and __assertfail become Syscall, whose slots are still in memory form: Syscall::call is the
/// call site. Local symbols become kFrameSymbol with their offset in the frame of `function`. Throws
/// UserError for calls of functions that do not exist.
[[nodiscard]] isa::Function inline_calls(const CallGraph& graph, std::uint32_t index);

/// A function that is called and not inlined. Its own calls have been inlined.
struct RealCallee {
  std::uint32_t index = isa::kNoTarget;  // index in the module
  isa::Function function;
};
/// Functions that the inlined `function` really calls, directly, through pointers or transitively, in the
/// order of the module.
[[nodiscard]] std::vector<RealCallee> real_callees(const CallGraph& graph, const isa::Function& function);

/// In a program with real calls, 32-bit register 0 of each function is the stack pointer: the local address
/// of the function's frame.
inline constexpr std::uint32_t kStackPointer = 0;
/// Local bytes beyond the kernel's own frame in a program with recursion or indirect calls. CUDA's default
/// stack limit is 1024, but frames here also hold the registers that calls save.
inline constexpr std::uint32_t kStackReserveBytes = 4096;

/// Converts parameter slots to registers, if each is only accessed in parts that do not overlap, otherwise to
/// local memory. `stack`: the program has real calls. Then frame addresses are relative to the stack pointer,
/// registers are renumbered to free kStackPointer, and slots of real calls are beyond the frame (marked until
/// finish_frame()). `is_root`: the function is the kernel. `alloca`: start of the alloca stack in the
/// kernel's frame, or kNoAlloca.
void lower_slots(isa::Function& function, bool stack, bool is_root, std::uint32_t alloca);

/// Gives a called function a single return block at its end. In the kernel (`is_root`), returns become exits.
/// A branch to a block that only returns becomes an exit as well, unless code must stay `as_written`.
void lower_returns(FlowGraph& graph, bool is_root, bool as_written = false);

/// Saves the live registers in the frame around each real call and moves the stack pointer. Increases
/// function.local_bytes. Must be called after optimisation and before allocation.
void save_registers(FlowGraph& graph, isa::Function& function);

/// Fills in the frame size at the marks of save_registers() and lower_slots().
void finish_frame(FlowGraph& graph, const isa::Function& function);

}  // namespace gpumux::ptx
