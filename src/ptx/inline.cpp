// Inlining of device functions.
#include <algorithm>

#include "base/error.hpp"
#include "ptx/calls.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Module;
using isa::Opcode;
using isa::Operand;
using isa::Service;
using isa::Symbol;

std::uint32_t function_index(const Module& module, const std::string& name) {
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    if (module.functions[i].name == name && !module.functions[i].code.empty()) return i;
  }
  return isa::kNoTarget;
}

namespace {

/// A body larger than this is called for real when it is called more than once from one function.
constexpr std::size_t kLargestRepeatedBody = 4000;

Service service_of(const std::string& name) {
  if (name == "vprintf") return Service::Vprintf;
  if (name == "malloc") return Service::Malloc;
  if (name == "free") return Service::Free;
  if (name == "__assertfail") return Service::AssertFail;
  return Service::None;
}

/// True when `from` reaches `to` over direct calls.
bool calls_into(const Module& module, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(module.functions.size(), false);
  std::vector<std::uint32_t> work{from};
  while (!work.empty()) {
    const std::uint32_t index = work.back();
    work.pop_back();
    for (const Instruction& inst : module.functions[index].code) {
      if (inst.op != Opcode::Call) continue;
      const std::uint32_t callee = function_index(module, module.functions[index].calls[inst.call].callee);
      if (callee == to) return true;
      if (callee != isa::kNoTarget && !seen[callee]) {
        seen[callee] = true;
        work.push_back(callee);
      }
    }
  }
  return false;
}

class Inliner {
 public:
  Inliner(const Module& module, const Function& root) : module_(module), out_(root) {
    out_.code.clear();
    root_ = isa::kNoTarget;
    for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
      if (&module.functions[i] == &root || module.functions[i].name == root.name) root_ = i;
    }
    std::uint32_t frame = 0;
    for (const Symbol& symbol : module.symbols) {
      if (symbol.kind == Symbol::Kind::Local && symbol.in_function && symbol.function == root_) {
        frame = std::max(frame, static_cast<std::uint32_t>(symbol.address + symbol.bytes));
      }
    }
    own_frame_ = std::max(root.local_bytes, frame);
    out_.local_bytes = own_frame_;
  }

  Function run(const Function& root) {
    Context context;
    context.frame_bytes = own_frame_;
    context.is_root = true;
    std::vector<std::uint32_t> slots(root.slots.size());
    for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
    context.slots = std::move(slots);
    splice(root, context);
    return std::move(out_);
  }

 private:
  struct Context {
    std::uint32_t reg32 = 0, reg64 = 0, pred = 0, label = 0, table = 0, call = 0;
    std::uint32_t frame = 0;        // where the body's own frame starts
    std::uint32_t frame_bytes = 0;  // and how long it is
    std::uint32_t end_label = 0;
    bool is_root = false;
    std::vector<std::uint32_t> slots;  // of the body -> of the result
  };

  void rename(Operand& operand, const Context& context) const {
    switch (operand.kind) {
      case Operand::Kind::Reg32: operand.reg += context.reg32; break;
      case Operand::Kind::Reg64: operand.reg += context.reg64; break;
      case Operand::Kind::Pred: operand.reg += context.pred; break;
      case Operand::Kind::Symbol: {
        const Symbol& symbol = module_.symbols[operand.reg];
        if (symbol.kind == Symbol::Kind::Local) {
          operand = Operand::symbol(kFrameSymbol, context.frame + symbol.address + operand.imm);
        }
        break;
      }
      default: break;
    }
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
      callee = function_index(module_, site.callee);
      const Service service = service_of(site.callee);
      if (callee == isa::kNoTarget && service != Service::None) {
        inst.op = Opcode::Syscall;
        inst.service = service;
      } else if (callee == isa::kNoTarget) {
        throw UserError({body.where.file, inst.line, inst.column},
                        "call to '" + site.callee + "', which this module does not define");
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

  std::uint32_t add_site(isa::CallSite site) {
    sites_.push_back(std::move(site));
    out_.calls = sites_;
    return static_cast<std::uint32_t>(sites_.size() - 1);
  }

  bool can_inline(std::uint32_t callee) {
    if (calls_into(module_, callee, callee)) return false;
    expanded_.resize(module_.functions.size(), false);
    const bool again = expanded_[callee];
    expanded_[callee] = true;
    return !again || module_.functions[callee].code.size() <= kLargestRepeatedBody;
  }

  void expand(std::uint32_t callee, const isa::CallSite& here, const Instruction& inst,
              const Context& outer) {
    const Function& body = module_.functions[callee];
    Context context;
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
    // Frames of sibling calls share their place; none outlives its call.
    context.frame = (outer.frame + outer.frame_bytes + 15U) / 16U * 16U;
    context.frame_bytes = body.local_bytes;
    out_.local_bytes = std::max(out_.local_bytes, context.frame + context.frame_bytes);
    // Parameters of the body are the call site's own slots: arguments are only read, results only
    // written, so no copies are needed.
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
    if (inst.guard) {
      Instruction skip = inst;
      skip.op = Opcode::Bra;
      skip.call = isa::kNoTarget;
      skip.guard.negate = !skip.guard.negate;
      skip.target = context.end_label;
      out_.code.push_back(skip);
    }
    splice(body, context);
    Instruction end;
    end.op = Opcode::Label;
    end.target = context.end_label;
    end.line = inst.line;
    out_.code.push_back(end);
  }

  const Module& module_;
  Function out_;
  std::uint32_t root_;
  std::uint32_t own_frame_ = 0;
  std::vector<isa::CallSite> sites_;
  std::vector<bool> expanded_;
};

}  // namespace

Function inline_calls(const Module& module, const Function& function) {
  Inliner inliner(module, function);
  return inliner.run(function);
}

std::vector<std::uint32_t> real_callees(const Module& module, const Function& function) {
  std::vector<bool> wanted(module.functions.size(), false);
  std::vector<Function> work{function};
  const auto want = [&](std::uint32_t index) {
    if (wanted[index] || module.functions[index].is_kernel || module.functions[index].code.empty()) return;
    wanted[index] = true;
    work.push_back(inline_calls(module, module.functions[index]));
  };
  while (!work.empty()) {
    const Function current = std::move(work.back());
    work.pop_back();
    for (const Instruction& inst : current.code) {
      if (inst.op != Opcode::Call) continue;
      const std::string& callee = current.calls[inst.call].callee;
      if (!callee.empty()) {
        want(function_index(module, callee));
        continue;
      }
      for (const Symbol& symbol : module.symbols) {  // any function whose address is taken
        if (symbol.kind == Symbol::Kind::Function) want(symbol.function);
      }
    }
  }
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) result.push_back(i);
  }
  return result;
}

}  // namespace gpumux::ptx
