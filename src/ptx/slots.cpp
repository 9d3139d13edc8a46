// Assignment of parameter slots and of the frame: registers if possible, otherwise local memory.
#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "ptx/calls.hpp"
#include "ptx/frame_marks.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Type;

namespace {

constexpr std::uint32_t align_up(std::uint32_t value, std::uint32_t align) {
  return (value + align - 1) / align * align;
}

constexpr std::uint32_t kDim3Bytes = 12;

/// The accessed parts of a slot, and the assignment of the slot.
struct SlotUse {
  std::map<std::int64_t, unsigned> parts;  // offset -> bytes
  bool in_memory = false;
  bool outgoing = false;    // behind the frame, where the callee finds it
  std::uint32_t place = 0;  // byte offset, if in memory
  std::map<std::int64_t, Operand> registers;
};

class SlotLowering {
 public:
  SlotLowering(Function& function, bool stack, bool is_root, std::uint32_t alloca)
      : function_(function), stack_(stack), alloca_(alloca), uses_(function.slots.size()) {
    if (stack_) free_stack_pointer();
    collect();
    std::uint32_t incoming = 0;
    if (!is_root) place_call(function.argument_slots, function.result_slots, incoming, false);
    for (const Instruction& inst : function.code) {
      if (inst.op != Opcode::Call) continue;
      const isa::CallSite& site = function.calls[inst.call];
      std::uint32_t bytes = 0;
      place_call(site.arguments, site.results, bytes, true);
    }
    locals_ = align_up(incoming, 16);
    frame_ = locals_ + function.local_bytes;
    for (std::uint32_t i = 0; i < uses_.size(); ++i) place_slot(i);
    if (stack_ && is_root) {
      Instruction start;
      start.op = Opcode::Mov;
      start.type = Type::U32;
      start.dst[0] = Operand::reg32(kStackPointer);
      start.src[0] = Operand::immediate(0);
      code_.push_back(start);
    }
    if (alloca_ != kNoAlloca) begin_alloca(is_root);
    for (const Instruction& inst : function.code) lower(inst);
    function.code = std::move(code_);
    function.local_bytes = frame_;
  }

 private:
  void free_stack_pointer() {
    const auto shift = [](Operand& operand) {
      if (operand.kind == Operand::Kind::Reg32) ++operand.reg;
    };
    for (Instruction& inst : function_.code) {
      for (Operand& operand : inst.dst) shift(operand);
      for (Operand& operand : inst.src) shift(operand);
    }
    ++function_.num_reg32;
  }

  /// Initialises the alloca top. It is a register. If other functions must find it, it is also the first word
  /// of the stack.
  void begin_alloca(bool is_root) {
    top_ = new_reg32(function_);
    if (!is_root) return;
    Instruction start;
    start.op = Opcode::Mov;
    start.type = Type::U32;
    start.dst[0] = top_;
    start.src[0] = Operand::immediate(stack_ ? alloca_ + 16 : alloca_);
    code_.push_back(start);
    if (!stack_) return;
    Instruction store;
    store.op = Opcode::St;
    store.type = Type::U32;
    store.space = Space::Local;
    store.src[0] = Operand::immediate(alloca_);
    store.src[1] = top_;
    code_.push_back(store);
  }

  static bool is_stack_top(const Operand& operand) {
    return operand.kind == Operand::Kind::Symbol && operand.reg == kStackTopSymbol;
  }

  void alloca_operands(Instruction& inst) {
    const bool is_access = inst.space == Space::Local && (inst.op == Opcode::Ld || inst.op == Opcode::St);
    if (is_access && is_stack_top(inst.src[0])) {
      if (stack_) {
        inst.src[0] = Operand::immediate(alloca_);
        return;
      }
      const bool loads = inst.op == Opcode::Ld;
      Instruction mov = make(Opcode::Mov, Type::U32, inst);
      mov.dst[0] = loads ? inst.dst[0] : top_;
      mov.src[0] = loads ? top_ : inst.src[1];
      inst = mov;
      return;
    }
    for (Operand& operand : inst.src)
      if (is_stack_top(operand)) operand = Operand::immediate(alloca_ + kAllocaBytes);
  }

  static bool is_slot_access(const Instruction& inst) {
    return inst.space == Space::Param && inst.src[0].kind == Operand::Kind::Imm &&
           (inst.op == Opcode::Ld || inst.op == Opcode::St);
  }
  static bool is_slot_address(const Instruction& inst) {
    return inst.op == Opcode::Mov && inst.space == Space::Param && inst.src[0].kind == Operand::Kind::Imm;
  }

  SlotUse& use_of(const Instruction& inst, std::uint64_t slot) {
    if (slot >= uses_.size()) {
      throw UserError({function_.where.file, inst.line, inst.column}, "no such parameter here");
    }
    return uses_[slot];
  }

  void collect() {
    for (const Instruction& inst : function_.code) {
      if (is_slot_address(inst)) use_of(inst, inst.src[0].imm).in_memory = true;
      if (is_slot_access(inst)) {
        SlotUse& use = use_of(inst, inst.src[0].imm);
        const unsigned bytes = isa::width_bytes(inst.type);
        for (unsigned i = 0; i < inst.vector; ++i) add_part(use, inst.offset + i * bytes, bytes);
      }
      if (inst.op == Opcode::Syscall) {
        const isa::CallSite& site = function_.calls[inst.call];
        for (const auto* list : {&site.arguments, &site.results}) {
          for (const std::uint32_t slot : *list) {
            const unsigned bytes = part_bytes(slot);
            for (std::uint32_t part = 0; part < parts_of(slot); ++part)
              add_part(uses_[slot], part * bytes, bytes);
          }
        }
      }
    }
    for (SlotUse& use : uses_) {  // parts that overlap
      std::int64_t end = -1;
      for (const auto& [offset, bytes] : use.parts) {
        if (offset < end) use.in_memory = true;
        end = offset + bytes;
      }
    }
  }

  /// Registers of a Syscall argument: three for a dim3, otherwise one.
  [[nodiscard]] std::uint32_t parts_of(std::uint32_t slot) const {
    return function_.slots[slot].bytes == kDim3Bytes ? 3 : 1;
  }
  [[nodiscard]] unsigned part_bytes(std::uint32_t slot) const {
    return parts_of(slot) == 3 ? 4 : std::min(8U, function_.slots[slot].bytes);
  }

  static void add_part(SlotUse& use, std::int64_t offset, unsigned bytes) {
    const auto [place, fresh] = use.parts.emplace(offset, bytes);
    if (!fresh && place->second != bytes) use.in_memory = true;
  }

  /// Places the arguments of a call. Arguments of open size come last, so that caller and callee agree about
  /// the others.
  void place_call(const std::vector<std::uint32_t>& arguments, const std::vector<std::uint32_t>& results,
                  std::uint32_t& bytes, bool outgoing) {
    place_area(arguments, bytes, outgoing, false);
    place_area(results, bytes, outgoing, false);
    place_area(arguments, bytes, outgoing, true);
  }

  void place_area(const std::vector<std::uint32_t>& slots, std::uint32_t& bytes, bool outgoing, bool open) {
    for (const std::uint32_t slot : slots) {
      const isa::ParamSlot& shape = function_.slots[slot];
      if (shape.open != open) continue;
      bytes = align_up(bytes, std::max(1U, std::min(16U, shape.align)));
      uses_[slot].in_memory = true;
      uses_[slot].outgoing = outgoing;
      uses_[slot].place = bytes;
      placed_.push_back(slot);
      bytes += shape.bytes;
    }
  }

  void place_slot(std::uint32_t slot) {
    SlotUse& use = uses_[slot];
    if (std::find(placed_.begin(), placed_.end(), slot) != placed_.end()) return;
    if (use.in_memory) {
      const isa::ParamSlot& shape = function_.slots[slot];
      frame_ = align_up(frame_, std::max(1U, std::min(16U, shape.align)));
      use.place = frame_;
      frame_ += shape.bytes;
      return;
    }
    for (const auto& [offset, bytes] : use.parts) {
      use.registers[offset] = bytes == 8 ? new_reg64(function_) : new_reg32(function_);
    }
  }

  /// Sets base and offset of a Ld, St or Atom to a frame address.
  void set_address(Instruction& inst, std::uint32_t place, bool outgoing) const {
    inst.space = Space::Local;
    inst.src[0] = stack_ ? Operand::reg32(kStackPointer) : Operand::immediate(0);
    inst.offset += place;
    if (outgoing) inst.target = kBehindFrame;
  }

  /// A frame address as a value in a register or an immediate.
  Operand materialize(const Instruction& like, std::uint64_t place, bool wide) {
    if (!stack_) return Operand::immediate(place);
    Instruction add = make(Opcode::Add, Type::U32, like);
    add.guard = {};
    add.dst[0] = new_reg32(function_);
    add.src[0] = Operand::reg32(kStackPointer);
    add.src[1] = Operand::immediate(place);
    code_.push_back(add);
    if (!wide) return add.dst[0];
    Instruction widen = make(Opcode::Cvt, Type::U64, like);
    widen.guard = {};
    widen.type2 = Type::U32;
    widen.dst[0] = new_reg64(function_);
    widen.src[0] = add.dst[0];
    code_.push_back(widen);
    return widen.dst[0];
  }

  void move(const Instruction& like, Type type, const Operand& to, const Operand& from) {
    Instruction mov;
    const unsigned width = isa::width_bits(type);
    if (width < 32) {
      mov = make(Opcode::And, Type::B32, like);
      mov.src[1] = Operand::immediate(width == 8 ? 0xff : 0xffff);
    } else {
      mov = make(Opcode::Mov, width == 64 ? Type::B64 : Type::B32, like);
    }
    mov.dst[0] = to;
    mov.src[0] = from;
    code_.push_back(mov);
    if (width < 32 && isa::is_signed(type)) {  // ld.s8 and ld.s16 extend the sign
      for (const Opcode op : {Opcode::Shl, Opcode::Shr}) {
        Instruction shift = make(op, op == Opcode::Shl ? Type::B32 : Type::S32, like);
        shift.dst[0] = to;
        shift.src[0] = to;
        shift.src[1] = Operand::immediate(32 - width);
        code_.push_back(shift);
      }
    }
  }

  void lower(const Instruction& original) {
    Instruction inst = original;
    if (is_slot_access(inst)) {
      SlotUse& use = uses_[inst.src[0].imm];
      frame_operands(inst, 1);
      if (use.in_memory) {
        set_address(inst, use.place, use.outgoing);
        code_.push_back(inst);
        return;
      }
      const unsigned bytes = isa::width_bytes(inst.type);
      for (unsigned i = 0; i < inst.vector; ++i) {
        const Operand& slot = use.registers[inst.offset + i * bytes];
        if (inst.op == Opcode::Ld) {
          if (inst.dst[i]) move(inst, inst.type, inst.dst[i], slot);
        } else {
          move(inst, narrow_unsigned(inst.type), slot, inst.src[1 + i]);
        }
      }
      return;
    }
    if (is_slot_address(inst)) {
      const SlotUse& use = uses_[inst.src[0].imm];
      inst.space = Space::Generic;
      inst.src[0] = materialize(inst, use.place, inst.dst[0].kind == Operand::Kind::Reg64);
      code_.push_back(inst);
      return;
    }
    if (inst.op == Opcode::Syscall) {
      lower_syscall(inst);
      return;
    }
    if (alloca_ != kNoAlloca) alloca_operands(inst);
    frame_operands(inst, 0);
    code_.push_back(inst);
  }

  static Type narrow_unsigned(Type type) {
    switch (isa::width_bits(type)) {
      case 8: return Type::U8;
      case 16: return Type::U16;
      case 32: return Type::B32;
      default: return Type::B64;
    }
  }

  /// Replaces kFrameSymbol in the sources from index `first` on.
  void frame_operands(Instruction& inst, std::size_t first) {
    for (std::size_t i = first; i < inst.src.size(); ++i) {
      Operand& operand = inst.src[i];
      if (operand.kind != Operand::Kind::Symbol || operand.reg != kFrameSymbol) continue;
      const std::uint32_t place = locals_ + static_cast<std::uint32_t>(operand.imm);
      const bool is_address = i == 0 && inst.space == Space::Local &&
                              (inst.op == Opcode::Ld || inst.op == Opcode::St || inst.op == Opcode::Atom ||
                               inst.op == Opcode::Red || inst.op == Opcode::Prefetch);
      if (is_address) {
        set_address(inst, place, false);
      } else {
        const bool narrow = inst.dst[0].kind == Operand::Kind::Reg32 && isa::width_bits(inst.type) == 32;
        operand = materialize(inst, place, !narrow);
      }
    }
  }

  void lower_syscall(Instruction inst) {
    const isa::CallSite& site = function_.calls[inst.call];
    inst.call = isa::kNoTarget;
    const auto slot_memory = [&](Opcode op, std::uint32_t slot, std::uint32_t offset = 0) {
      const bool wide = part_bytes(slot) >= 8;
      Instruction access = make(op, wide ? Type::B64 : Type::B32, inst);
      set_address(access, uses_[slot].place + offset, uses_[slot].outgoing);
      (op == Opcode::Ld ? access.dst[0] : access.src[1]) = wide ? new_reg64(function_) : new_reg32(function_);
      return access;
    };
    std::size_t sources = 0;
    for (const std::uint32_t slot : site.arguments) {
      const SlotUse& use = uses_[slot];
      for (std::uint32_t part = 0; part < parts_of(slot) && sources < inst.src.size(); ++part, ++sources) {
        const std::uint32_t offset = part * part_bytes(slot);
        if (use.in_memory) {
          code_.push_back(slot_memory(Opcode::Ld, slot, offset));
          inst.src[sources] = code_.back().dst[0];
        } else {
          inst.src[sources] = use.registers.at(offset);
        }
      }
    }
    if (site.results.empty()) {
      code_.push_back(inst);
      return;
    }
    const SlotUse& use = uses_[site.results[0]];
    if (use.in_memory) {
      const Instruction store = slot_memory(Opcode::St, site.results[0]);
      inst.dst[0] = store.src[1];
      code_.push_back(inst);
      code_.push_back(store);
    } else {
      inst.dst[0] = use.registers.at(0);
      code_.push_back(inst);
    }
  }

  Function& function_;
  bool stack_;
  std::uint32_t alloca_;
  Operand top_;
  std::vector<SlotUse> uses_;
  std::vector<std::uint32_t> placed_;
  std::vector<Instruction> code_;
  std::uint32_t locals_ = 0;  // offset of the .local variables in the frame
  std::uint32_t frame_ = 0;
};

}  // namespace

void lower_slots(Function& function, bool stack, bool is_root, std::uint32_t alloca) {
  const SlotLowering lowering(function, stack, is_root, alloca);
}

}  // namespace gpumux::ptx
