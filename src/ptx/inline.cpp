// Inlining of device functions.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "ptx/calls.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Module;
using isa::Opcode;
using isa::Operand;
using isa::Symbol;

std::uint32_t function_index(const Module& module, const std::string& name) {
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    if (module.functions[i].name == name && !module.functions[i].code.empty()) return i;
  }
  return isa::kNoTarget;
}

namespace {

/// Size of a real call in the size of a body, since a call saves and restores registers.
constexpr std::size_t kRealCallSize = 64;

class Inliner {
 public:
  Inliner(const CallGraph& graph, std::uint32_t index)
      : graph_(graph), module_(graph.module()), root_(index), out_(module_.functions[index]) {
    const Function& root = module_.functions[root_];
    out_.code.clear();
    std::uint32_t frame = 0;
    for (const Symbol& symbol : module_.symbols) {
      if (symbol.kind == Symbol::Kind::Local && symbol.in_function && symbol.function == root_) {
        frame = std::max(frame, static_cast<std::uint32_t>(symbol.address + symbol.bytes));
      }
    }
    own_frame_ = std::max(root.local_bytes, frame);
    out_.local_bytes = own_frame_;
    uses_alloca_.assign(module_.functions.size(), false);
    for (const Symbol& symbol : module_.symbols)
      if (is_stack_top(symbol)) uses_alloca_[symbol.function] = true;
  }

  Function run() {
    const Function& root = module_.functions[root_];
    Context context;
    context.function = root_;
    context.frame_bytes = own_frame_;
    context.is_root = true;
    std::vector<std::uint32_t> slots(root.slots.size());
    for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
    context.slots = std::move(slots);
    if (uses_alloca_[root_] && !root.is_kernel) {
      context.stack_top = Operand::reg32(out_.num_reg32++);
      move_stack_top(Opcode::Ld, {}, context);
    }
    splice(root, context);
    out_.calls = std::move(sites_);
    return std::move(out_);
  }

 private:
  struct Context {
    std::uint32_t reg32 = 0, reg64 = 0, pred = 0, label = 0, table = 0, call = 0;
    std::uint32_t function = 0;     // the function whose body is copied
    std::uint32_t frame = 0;        // start of the body's own frame
    std::uint32_t frame_bytes = 0;  // size of this frame
    std::uint32_t end_label = 0;
    bool is_root = false;
    Operand stack_top;                 // the alloca top before the call, if the body changes it
    std::vector<std::uint32_t> slots;  // by slot of the body: slot of the result
  };

  void rename(Operand& operand, const Context& context) const {
    switch (operand.kind) {
      case Operand::Kind::Reg32: operand.reg += context.reg32; break;
      case Operand::Kind::Reg64: operand.reg += context.reg64; break;
      case Operand::Kind::Pred: operand.reg += context.pred; break;
      case Operand::Kind::Symbol: {
        const Symbol& symbol = module_.symbols[operand.reg];
        if (is_stack_top(symbol)) {
          operand = Operand::symbol(kStackTopSymbol);
        } else if (symbol.kind == Symbol::Kind::Local) {
          operand = Operand::symbol(kFrameSymbol, context.frame + symbol.address + operand.imm);
        }
        break;
      }
      default: break;
    }
  }

  static bool is_stack_top(const Symbol& symbol) {
    return symbol.kind == Symbol::Kind::Local && symbol.name == kStackTop;
  }

  /// Saves the alloca top (Ld) or restores it (St), since a function's alloca memory ends with it.
  void move_stack_top(Opcode op, const Instruction& like, const Context& context) {
    Instruction inst;
    inst.op = op;
    inst.type = isa::Type::U32;
    inst.space = isa::Space::Local;
    inst.line = like.line;
    inst.column = like.column;
    inst.src[0] = Operand::symbol(kStackTopSymbol);
    (op == Opcode::Ld ? inst.dst[0] : inst.src[1]) = context.stack_top;
    out_.code.push_back(inst);
  }

  void splice(const Function& body, const Context& context) {
    for (const Instruction& original : body.code) {
      Instruction inst = original;
      rename(inst.guard, context);
      for (Operand& operand : inst.dst) rename(operand, context);
      const bool slot_access = inst.space == isa::Space::Param && inst.src[0].kind == Operand::Kind::Imm &&
                               (inst.op == Opcode::Ld || inst.op == Opcode::St || inst.op == Opcode::Mov);
      if (slot_access && !body.slots.empty()) {
        if (inst.src[0].imm >= context.slots.size()) {
          throw UserError({body.where.file, inst.line, inst.column}, "no such parameter here");
        }
        inst.src[0].imm = context.slots[inst.src[0].imm];
        for (std::size_t i = 1; i < inst.src.size(); ++i) rename(inst.src[i], context);
      } else {
        for (Operand& operand : inst.src) rename(operand, context);
      }
      if (inst.op == Opcode::Label || inst.op == Opcode::Bra) inst.target += context.label;
      if (inst.op == Opcode::BrxIdx) inst.call += context.table;
      if (inst.op == Opcode::Ret && !context.is_root) {
        inst.op = Opcode::Bra;
        inst.target = context.end_label;
      }
      if (inst.op == Opcode::Ret && context.is_root && context.stack_top) {
        move_stack_top(Opcode::St, inst, context);
        out_.code.back().guard = inst.guard;
      }
      if (inst.op == Opcode::Call) {
        call(body, inst, context);
      } else {
        out_.code.push_back(inst);
      }
    }
  }

  void call(const Function& body, Instruction inst, const Context& context) {
    const isa::CallSite& site = body.calls[inst.call];
    isa::CallSite here = site;
    rename(here.pointer, context);
    for (std::uint32_t& slot : here.arguments) slot = context.slots[slot];
    for (std::uint32_t& slot : here.results) slot = context.slots[slot];
    std::uint32_t callee = isa::kNoTarget;
    if (!site.callee.empty()) {
      callee = graph_.callee(context.function, inst.call);
      const isa::ServiceFunction* const service = isa::find_service(site.callee);
      if (callee == isa::kNoTarget && service != nullptr) {
        check_arguments(body, inst, *service);
        inst.op = Opcode::Syscall;
        inst.service = service->service;
        inst.shift = service->per_thread ? 1 : 0;
      } else if (callee == isa::kNoTarget && site.callee == "cudaGraphSetConditional" &&
                 here.arguments.size() == 2) {
        set_condition(here, inst);
        return;
      } else if (callee == isa::kNoTarget) {
        fail_undefined({body.where.file, inst.line, inst.column}, site.callee);
      } else if (module_.functions[callee].argument_slots.size() != site.arguments.size() ||
                 module_.functions[callee].result_slots.size() != site.results.size()) {
        throw UserError({body.where.file, inst.line, inst.column},
                        "call to '" + site.callee + "' with " + std::to_string(site.arguments.size()) +
                            " arguments; it takes " +
                            std::to_string(module_.functions[callee].argument_slots.size()));
      } else if (can_inline(callee)) {
        expand(callee, here, inst, context);
        return;
      }
    }
    if (inst.op == Opcode::Call && callee == isa::kNoTarget) inst.src[0] = here.pointer;
    inst.call = add_site(std::move(here));
    out_.code.push_back(inst);
  }

  /// Replaces cudaGraphSetConditional by a store. The condition of a graph is a word of global memory, and
  /// its handle is the address of the word (runtime::Condition).
  void set_condition(const isa::CallSite& site, const Instruction& like) {
    const auto access = [&](Opcode op, isa::Type type, isa::Space space) {
      Instruction inst;
      inst.op = op;
      inst.type = type;
      inst.space = space;
      inst.guard = like.guard;
      inst.line = like.line;
      inst.column = like.column;
      return inst;
    };
    Instruction handle = access(Opcode::Ld, isa::Type::U64, isa::Space::Param);
    handle.src[0] = Operand::immediate(site.arguments[0]);
    handle.dst[0] = Operand::reg64(out_.num_reg64++);
    Instruction value = access(Opcode::Ld, isa::Type::U32, isa::Space::Param);
    value.src[0] = Operand::immediate(site.arguments[1]);
    value.dst[0] = Operand::reg32(out_.num_reg32++);
    Instruction store = access(Opcode::St, isa::Type::U32, isa::Space::Global);
    store.src[0] = handle.dst[0];
    store.src[1] = value.dst[0];
    out_.code.insert(out_.code.end(), {handle, value, store});
  }

  /// Checks the arguments of device run-time functions, which are read by their widths.
  static void check_arguments(const Function& body, const Instruction& inst,
                              const isa::ServiceFunction& service) {
    if (!isa::is_device_runtime(service.service)) return;
    const isa::CallSite& site = body.calls[inst.call];
    bool same =
        site.results.size() == 1 && site.arguments.size() == std::string_view(service.arguments).size();
    for (std::size_t i = 0; same && i < site.arguments.size(); ++i) {
      const char letter = service.arguments[i];
      const std::uint32_t bytes = letter == 'l' ? 8 : letter == 'i' ? 4 : 12;
      same = body.slots[site.arguments[i]].bytes == bytes;
    }
    if (same && body.slots[site.results[0]].bytes == (isa::gives_address(service.service) ? 8U : 4U)) return;
    throw UserError({body.where.file, inst.line, inst.column},
                    "call to '" + site.callee + "' with other arguments than it takes");
  }

  [[noreturn]] void fail_undefined(const SourceLocation& where, const std::string& callee) const {
    for (const Function& function : module_.functions) {
      if (function.name == callee && !function.error.empty()) throw UserError::from_line(function.error);
    }
    constexpr std::string_view kDeviceRuntime = "__cudaCDP2";
    if (callee.starts_with(kDeviceRuntime)) {
      throw UserError(where,
                      "'cuda" + callee.substr(kDeviceRuntime.size()) + "' in kernels is not supported");
    }
    // Functions of programs compiled with -DCUDA_FORCE_CDP1_IF_SUPPORTED, in which kernels may wait for
    // kernels that they launch.
    if (callee.starts_with("cuda")) {
      throw UserError(where,
                      "'" + callee + "': CUDA's run time within kernels as before CUDA 12 is not supported");
    }
    throw UserError(where, "call to '" + callee + "', which this module does not define");
  }

  std::uint32_t add_site(isa::CallSite site) {
    sites_.push_back(std::move(site));
    return static_cast<std::uint32_t>(sites_.size() - 1);
  }

  bool can_inline(std::uint32_t callee) const {
    return graph_.inlines(callee) && out_.code.size() + graph_.inlined_size(callee) <= kLargestInlinedCode;
  }

  void expand(std::uint32_t callee, const isa::CallSite& here, const Instruction& inst,
              const Context& outer) {
    const Function& body = module_.functions[callee];
    Context context;
    context.function = callee;
    context.reg32 = out_.num_reg32;
    context.reg64 = out_.num_reg64;
    context.pred = out_.num_pred;
    out_.num_reg32 += body.num_reg32;
    out_.num_reg64 += body.num_reg64;
    out_.num_pred += body.num_pred;
    context.label = static_cast<std::uint32_t>(out_.labels.size());
    out_.labels.insert(out_.labels.end(), body.labels.begin(), body.labels.end());
    context.end_label = static_cast<std::uint32_t>(out_.labels.size());
    out_.labels.push_back("end of " + body.name);
    context.table = static_cast<std::uint32_t>(out_.branch_tables.size());
    for (auto table : body.branch_tables) {
      for (std::uint32_t& label : table) label += context.label;
      out_.branch_tables.push_back(std::move(table));
    }
    // Frames of calls from the same function overlap, since no frame outlives its call.
    context.frame = (outer.frame + outer.frame_bytes + 15U) / 16U * 16U;
    context.frame_bytes = body.local_bytes;
    out_.local_bytes = std::max(out_.local_bytes, context.frame + context.frame_bytes);
    // Parameters of the body are the call site's own slots. No copies are needed, since arguments are only
    // read and results only written.
    context.slots.assign(body.slots.size(), isa::kNoTarget);
    for (std::size_t i = 0; i < body.argument_slots.size(); ++i) {
      context.slots[body.argument_slots[i]] = here.arguments[i];
    }
    for (std::size_t i = 0; i < body.result_slots.size(); ++i) {
      context.slots[body.result_slots[i]] = here.results[i];
    }
    for (std::uint32_t slot = 0; slot < body.slots.size(); ++slot) {
      if (context.slots[slot] != isa::kNoTarget) continue;
      context.slots[slot] = static_cast<std::uint32_t>(out_.slots.size());
      out_.slots.push_back(body.slots[slot]);
    }
    std::uint32_t skipped_to = context.end_label;
    if (inst.guard) {
      if (uses_alloca_[callee]) {  // lanes that skip the call have no top to restore
        skipped_to = static_cast<std::uint32_t>(out_.labels.size());
        out_.labels.push_back("behind " + body.name);
      }
      Instruction skip = inst;
      skip.op = Opcode::Bra;
      skip.call = isa::kNoTarget;
      skip.guard.negate = !skip.guard.negate;
      skip.target = skipped_to;
      out_.code.push_back(skip);
    }
    if (uses_alloca_[callee]) {
      context.stack_top = Operand::reg32(out_.num_reg32++);
      move_stack_top(Opcode::Ld, inst, context);
    }
    splice(body, context);
    add_label(context.end_label, inst);
    if (!uses_alloca_[callee]) return;
    move_stack_top(Opcode::St, inst, context);
    if (skipped_to != context.end_label) add_label(skipped_to, inst);
  }

  void add_label(std::uint32_t label, const Instruction& like) {
    Instruction inst;
    inst.op = Opcode::Label;
    inst.target = label;
    inst.line = like.line;
    out_.code.push_back(inst);
  }

  const CallGraph& graph_;
  const Module& module_;
  std::uint32_t root_;
  Function out_;
  std::uint32_t own_frame_ = 0;
  std::vector<bool> uses_alloca_;  // by function of the module: the function itself uses alloca
  std::vector<isa::CallSite> sites_;
};

}  // namespace

bool uses_alloca(const Function& inlined) {
  return std::any_of(inlined.code.begin(), inlined.code.end(), [](const Instruction& inst) {
    return std::any_of(inst.src.begin(), inst.src.end(), [](const Operand& operand) {
      return operand.kind == Operand::Kind::Symbol && operand.reg == kStackTopSymbol;
    });
  });
}

CallGraph::CallGraph(const Module& module)
    : module_(&module),
      callees_(module.functions.size()),
      sites_(module.functions.size(), 0),
      recursive_(module.functions.size(), false),
      sizes_(module.functions.size(), 0) {
  std::unordered_map<std::string_view, std::uint32_t> defined;  // only for lookups
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    if (!module.functions[i].code.empty()) defined.emplace(module.functions[i].name, i);
  }
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    for (const isa::CallSite& site : module.functions[i].calls) {
      const auto found = defined.find(site.callee);
      callees_[i].push_back(found == defined.end() ? isa::kNoTarget : found->second);
      if (found != defined.end()) ++sites_[found->second];
    }
  }
  find_recursion();
  find_sizes();
}

void CallGraph::find_recursion() {
  // Tarjan's algorithm for strongly connected components, without recursion because calls may be deeply
  // nested.
  constexpr std::uint32_t kUnseen = ~0U;
  struct Visit {
    std::uint32_t function;
    std::size_t next;  // index of the next call
  };
  std::vector<std::uint32_t> number(callees_.size(), kUnseen);
  std::vector<std::uint32_t> low(callees_.size(), 0);
  std::vector<bool> open(callees_.size(), false);
  std::vector<std::uint32_t> component;
  std::vector<Visit> visits;
  std::uint32_t numbers = 0;
  const auto enter = [&](std::uint32_t function) {
    number[function] = low[function] = numbers++;
    open[function] = true;
    component.push_back(function);
    visits.push_back({function, 0});
  };
  for (std::uint32_t root = 0; root < callees_.size(); ++root) {
    if (number[root] == kUnseen) enter(root);
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const std::uint32_t function = visit.function;
      if (visit.next < callees_[function].size()) {
        const std::uint32_t callee = callees_[function][visit.next++];
        if (callee == isa::kNoTarget) continue;
        if (callee == function) recursive_[function] = true;
        if (number[callee] == kUnseen) {
          enter(callee);
        } else if (open[callee]) {
          low[function] = std::min(low[function], number[callee]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) {
        const std::uint32_t caller = visits.back().function;
        low[caller] = std::min(low[caller], low[function]);
      }
      if (low[function] != number[function]) continue;
      const bool several = component.back() != function;
      while (true) {
        const std::uint32_t member = component.back();
        component.pop_back();
        open[member] = false;
        if (several) recursive_[member] = true;
        callees_first_.push_back(member);
        if (member == function) break;
      }
    }
  }
}

void CallGraph::find_sizes() {
  for (const std::uint32_t function : callees_first_) {
    std::size_t size = module_->functions[function].code.size();
    for (const std::uint32_t callee : callees_[function]) {
      if (callee != isa::kNoTarget) size += inlines(callee) ? sizes_[callee] : kRealCallSize;
    }
    sizes_[function] = std::min(size, kEndless);
  }
}

Function inline_calls(const CallGraph& graph, std::uint32_t index) {
  Inliner inliner(graph, index);
  return inliner.run();
}

std::vector<RealCallee> real_callees(const CallGraph& graph, const Function& function) {
  const Module& module = graph.module();
  std::vector<bool> wanted(module.functions.size(), false);
  std::vector<RealCallee> result;
  const auto want = [&](std::uint32_t index) {
    if (wanted[index] || module.functions[index].is_kernel || module.functions[index].code.empty()) return;
    wanted[index] = true;
    result.push_back({index, inline_calls(graph, index)});
  };
  const auto look = [&](const Function& caller) {
    std::vector<std::uint32_t> callees;  // copied, because `want` may move `caller`
    bool pointers = false;
    for (const Instruction& inst : caller.code) {
      if (inst.op != Opcode::Call) continue;
      const std::string& callee = caller.calls[inst.call].callee;
      if (callee.empty()) {
        pointers = true;
      } else {
        callees.push_back(function_index(module, callee));
      }
    }
    for (const std::uint32_t callee : callees) want(callee);
    if (!pointers) return;
    for (const Symbol& symbol : module.symbols) {  // any function whose address is taken
      if (symbol.kind == Symbol::Kind::Function) want(symbol.function);
    }
  };
  look(function);
  for (std::size_t i = 0; i < result.size(); ++i) look(result[i].function);
  std::sort(result.begin(), result.end(),
            [](const RealCallee& a, const RealCallee& b) { return a.index < b.index; });
  return result;
}

}  // namespace gpumux::ptx
