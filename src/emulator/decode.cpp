// Decoding of instructions to executable operations: selects handlers and converts operands to row offsets.
// Immediates and kernel parameters become rows that a launch fills in.
#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "emulator/block.hpp"
#include "emulator/lanes.hpp"
#include "emulator/launch.hpp"
#include "emulator/race_log.hpp"
#include "emulator/race_watch.hpp"
#include "emulator/unwritten.hpp"
#include "emulator/windows.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Special;
using isa::Symbol;
using isa::Type;

constexpr std::uint32_t kSinkBytes = 2 * kRowBytes;

/// True if source `index` is read as 64 bits.
bool reads_wide(const Instruction& inst, std::size_t index) {
  const bool wide = isa::width_bits(inst.type) == 64;
  switch (inst.op) {
    case Opcode::Cvt: return isa::width_bits(inst.type2) == 64;
    case Opcode::Set: return isa::width_bits(inst.type2) == 64;
    case Opcode::Slct: return index < 2 && wide;
    case Opcode::MulWide: return false;
    case Opcode::MadWide: return index == 2 && isa::width_bits(inst.type) == 32;
    case Opcode::Shl:
    case Opcode::Shr:
    case Opcode::Bfe: return index == 0 && wide;
    case Opcode::Bfi: return index < 2 && wide;
    case Opcode::Lea: return wide && (index == 0 || !inst.wide);
    case Opcode::Pack: return false;
    case Opcode::CvtPack2: return false;
    case Opcode::Cvta:
    case Opcode::CvtaTo:
    case Opcode::Isspacep:
    case Opcode::Call: return true;
    case Opcode::Ld:
    case Opcode::St:
    case Opcode::Atom:
    case Opcode::Red:
    case Opcode::Prefetch: return index == 0 || wide;
    case Opcode::LdMatrix:
    case Opcode::StMatrix: return index == 0;
    case Opcode::MovMatrix: return false;
    case Opcode::CpAsync: return index < 2;
    case Opcode::Mbarrier: {
      const bool waits =
          inst.mbarrier == isa::MbarrierMode::TestWait || inst.mbarrier == isa::MbarrierMode::TryWait;
      return index == 0 || (index == 1 && waits && (inst.shift & isa::kMbarrierParity) == 0);
    }
    case Opcode::MbarrierPending: return true;
    case Opcode::Match: return index == 0 && wide;
    case Opcode::Tex:
    case Opcode::Txq: return index == 0;
    case Opcode::SurfLd:
    case Opcode::SurfSt:
    case Opcode::SurfRed: return index == 0 || (wide && index > isa::coordinates(inst.geometry));
    case Opcode::Syscall: return isa::reads_wide(inst.service, index);
    case Opcode::Shfl:
    case Opcode::Vote:
    case Opcode::Redux:
    case Opcode::Bar:
    case Opcode::BarWarp:
    case Opcode::BrxIdx:
    case Opcode::Nanosleep:
    case Opcode::Notify:
    case Opcode::Prmt:
    case Opcode::Lop3:
    case Opcode::Dp4a:
    case Opcode::Dp2a:
    case Opcode::Shf: return false;
    default: return wide;
  }
}

/// True if an immediate in this place stands for a predicate.
bool is_pred_immediate(const Instruction& inst, std::size_t index) {
  if (inst.src[index].kind != Operand::Kind::Imm) return false;
  switch (inst.op) {
    case Opcode::Mov:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Not: return inst.type == Type::Pred;
    case Opcode::Selp:
    case Opcode::Setp:
    case Opcode::Set: return index == 2;
    case Opcode::Vote: return index == 0;
    case Opcode::Bar: return index == 2 && inst.bar >= isa::BarMode::RedPopc;
    case Opcode::CpAsync: return index == 3;
    default: return false;
  }
}

/// True for an instruction by which warps may learn or show their progress, so that one warp may wait for
/// another without a barrier.
bool reaches_others(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Ld:
    case Opcode::St:
      return inst.is_volatile || inst.acquire_release || inst.relaxed || inst.cache == isa::CacheOp::CG ||
             inst.cache == isa::CacheOp::CV;
    case Opcode::Red: return inst.acquire_release;
    case Opcode::Mbarrier: return true;
    case Opcode::Atom:  // by its result
    case Opcode::Membar: return true;
    case Opcode::Syscall: return inst.service != isa::Service::AssertFail;
    default: return false;
  }
}

class Decoder {
 public:
  Decoder(const ModuleData& module, const KernelInfo& kernel) : module_(module), function_(kernel.code) {
    program_.kernel = &kernel;
  }

  Program run() {
    if (!function_.final) throw InternalError("kernel " + function_.name + " is not in final form");
    lay_out();
    program_.ops.reserve(function_.code.size());
    for (std::size_t pc = 0; pc < function_.code.size(); ++pc) {
      program_.ops.push_back(decode_one(function_.code[pc], program_.kernel->table[pc]));
    }
    if (module_.races != nullptr) watch_races(program_, module_.races->mode());
    program_.constant_bytes = constant_bytes_;
    program_.warps_apart = std::none_of(function_.code.begin(), function_.code.end(), reaches_others);
    program_.enqueues = std::any_of(function_.code.begin(), function_.code.end(),
                                    [](const Instruction& inst) { return isa::enqueues(inst.service); });
    program_.has_streams =
        std::any_of(function_.code.begin(), function_.code.end(),
                    [](const Instruction& inst) { return isa::concerns_streams(inst.service); });
    return std::move(program_);
  }

 private:
  void lay_out() {
    for (const Instruction& inst : function_.code) {
      for (std::size_t i = 0; i < inst.src.size(); ++i) {
        if (inst.src[i].kind != Operand::Kind::Special) continue;
        const auto special = static_cast<Special>(inst.src[i].reg);
        if (is_clock(special)) {
          if (inst.op != Opcode::Mov) unsupported(inst, "a clock register outside mov");
          continue;
        }
        if (special_row(special, reads_wide(inst, i)) == nullptr) {
          const std::uint32_t base = differs_by_block(special) ? kBlockRows : kWarpRows;
          std::uint32_t& bytes = base == kBlockRows ? program_.block_row_bytes : program_.warp_row_bytes;
          program_.specials.push_back({special, reads_wide(inst, i), {bytes, base}});
          bytes += 2 * kRowBytes;
        }
      }
    }
    registers_ = kSinkBytes;
    program_.registers_from = registers_;
    const std::uint32_t narrow_rows = (function_.num_reg32 + 1) / 2 * 2;
    wide_registers_ = registers_ + narrow_rows * kRowBytes;
    program_.register_bytes = registers_ + narrow_rows * kRowBytes;
    program_.register_bytes += (function_.physical ? narrow_rows : function_.num_reg64 * 2) * kRowBytes;
    program_.num_preds = function_.num_pred + 2;
    const ptx::RegisterSpace space = register_rows(function_);
    registers_read_unwritten(function_).for_each([&](std::uint32_t index) {
      if (space.is_pred(index)) return;
      const std::uint32_t from = destination(space.operand(index));
      const std::uint32_t bytes =
          std::min((space.is_wide(index) ? 2 : 1) * kRowBytes, program_.register_bytes - from);
      auto& zeroed = program_.zeroed;
      if (!zeroed.empty() && zeroed.back().first + zeroed.back().second >= from) {
        zeroed.back().second = std::max(zeroed.back().second, from + bytes - zeroed.back().first);
      } else {
        zeroed.emplace_back(from, bytes);
      }
    });

    std::uint64_t align = 1;
    for (const Symbol& symbol : module_.compiled->module.symbols) {
      if (symbol.kind == Symbol::Kind::ExternShared) align = std::max<std::uint64_t>(align, symbol.align);
    }
    program_.dynamic_shared_base =
        static_cast<std::uint32_t>((function_.shared_bytes + align - 1) / align * align);
  }

  const SpecialRow* special_row(Special special, bool wide) const {
    for (const SpecialRow& row : program_.specials) {
      if (row.special == special && row.wide == wide) return &row;
    }
    return nullptr;
  }

  [[noreturn]] void unsupported(const Instruction& inst, const std::string& what) const {
    throw UserError(SourceLocation{module_.compiled->module.file, inst.line, inst.column},
                    fmt::format("not supported by the emulator: {} ({})", what,
                                isa::to_text(module_.compiled->module, function_, inst)));
  }

  Source constant(ConstantRow::From from, std::uint64_t value, bool wide) {
    for (const ConstantRow& row : program_.constants) {
      if (row.from == from && row.value == value && row.wide == wide) return {row.offset, kConstantRows};
    }
    program_.constants.push_back({from, wide, value, constant_bytes_});
    constant_bytes_ += wide ? 2 * kRowBytes : kRowBytes;
    return {program_.constants.back().offset, kConstantRows};
  }

  std::uint64_t symbol_value(const Operand& operand) const {
    const Symbol& symbol = module_.compiled->module.symbols[operand.reg];
    if (symbol.kind == Symbol::Kind::ExternShared) return program_.dynamic_shared_base + operand.imm;
    if (symbol.kind == Symbol::Kind::Function) return function_address(symbol.function);
    return module_.symbol_address[operand.reg] + operand.imm;
  }

  Source source(const Instruction& inst, std::size_t index) {
    const Operand& operand = inst.src[index];
    const bool wide = reads_wide(inst, index);
    switch (operand.kind) {
      case Operand::Kind::None: return constant(ConstantRow::From::Immediate, 0, true);
      case Operand::Kind::Reg32: {
        const bool address =
            index == 0 &&
            (inst.op == Opcode::Ld || inst.op == Opcode::St || inst.op == Opcode::Atom ||
             inst.op == Opcode::Red || inst.op == Opcode::Prefetch || inst.op == Opcode::LdMatrix ||
             inst.op == Opcode::StMatrix || inst.op == Opcode::CpAsync || inst.op == Opcode::Mbarrier);
        if (wide && !address && inst.op != Opcode::Cvta)
          unsupported(inst, "a 32-bit register where 64 bits are read");
        return {registers_ + operand.reg * kRowBytes, kRegisterRows};
      }
      case Operand::Kind::Reg64: return {wide_row(operand.reg), kRegisterRows};
      case Operand::Kind::Imm: return constant(ConstantRow::From::Immediate, operand.imm, wide);
      case Operand::Kind::Special: {
        const SpecialRow* row = special_row(static_cast<Special>(operand.reg), wide);
        return row == nullptr ? Source{} : row->place;  // clocks have no row
      }
      case Operand::Kind::Symbol: return constant(ConstantRow::From::Immediate, symbol_value(operand), wide);
      case Operand::Kind::Const:
        if (inst.op == Opcode::Ld && inst.space == isa::Space::Param) {  // an address in the bank
          return constant(ConstantRow::From::Immediate, operand.imm, true);
        }
        return constant(ConstantRow::From::Parameter, operand.imm, wide);
      case Operand::Kind::Pred: break;
    }
    return {};
  }

  /// The row of a register pair, which is separate from the rows of its halves. On the two sides of a branch,
  /// a register may be half of a pair for some lanes and a single register for others. Lanes have different
  /// byte positions in wide and narrow rows. Code never accesses halves of a pair.
  std::uint32_t wide_row(std::uint32_t reg) const {
    return wide_registers_ + reg * (function_.physical ? 1 : 2) * kRowBytes;
  }

  std::uint32_t destination(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::Reg32: return registers_ + operand.reg * kRowBytes;
      case Operand::Kind::Reg64: return wide_row(operand.reg);
      default: return 0;  // the sink
    }
  }

  static PredSource pred_source(const Operand& operand) {
    if (operand.kind == Operand::Kind::Pred) return {operand.reg + 1, operand.negate ? kAllLanes : 0};
    const bool holds = (operand.imm != 0) != operand.negate;
    return {0, holds ? 0 : kAllLanes};
  }

  Op decode_one(const Instruction& inst, const isa::StaticInst& fixed) {
    Op op;
    op.inst = &inst;
    op.target = inst.target;
    op.reconverge = inst.reconverge;
    op.offset = inst.offset;
    op.param = inst.shift;
    if (inst.guard) op.guard = pred_source(inst.guard);
    const std::uint32_t sink_pred = program_.num_preds - 1;
    op.pred_dst = {sink_pred, sink_pred};
    std::size_t preds = 0;
    for (std::size_t i = 0; i < inst.dst.size(); ++i) {
      op.dst[i] = destination(inst.dst[i]);
      if (inst.dst[i].kind == Operand::Kind::Pred && preds < 2) {
        if (inst.op == Opcode::Setp) preds = i;
        op.pred_dst[preds++] = inst.dst[i].reg + 1;
      }
    }
    preds = 0;
    if (inst.op == Opcode::Mma || inst.geometry != isa::TextureGeometry::None ||
        inst.service == isa::Service::ParameterBuffer) {
      op.offset = static_cast<std::int64_t>(program_.operands.size());
      ManyOperands& operands = program_.operands.emplace_back();
      for (std::size_t i = 0; i < inst.src.size(); ++i) operands[i] = source(inst, i);
    }
    for (std::size_t i = 0; i < std::min(inst.src.size(), op.src.size()); ++i) {
      const bool is_pred = inst.src[i].kind == Operand::Kind::Pred || is_pred_immediate(inst, i);
      if (is_pred && preds < 2) {
        op.pred_src[preds++] = pred_source(inst.src[i]);
      } else if (inst.src[i] || i == 0) {
        op.src[i] = source(inst, i);
      }
    }
    if (inst.op == Opcode::Pack || inst.op == Opcode::Unpack) {
      if (inst.vector != 2 && inst.vector != 4) unsupported(inst, fmt::format("{} parts", inst.vector));
      op.elements = inst.vector;
      op.param = static_cast<std::uint8_t>(isa::width_bits(inst.type) / inst.vector);
    }
    op.kind = fixed.unit == isa::Unit::Memory ? OpKind::Memory : OpKind::Plain;
    using Select = Handler (*)(const Instruction&);
    constexpr Select kPlain[] = {
        &select_integer,  &select_bits,    &select_float,   &select_half,    &select_special_function,
        &select_compare,  &select_convert, &select_move,    &select_warp_op, &select_memory,
        &select_atomic,   &select_service, &select_texture, &select_surface, &select_async_copy,
        &select_mbarrier, &select_matrix};
    op.run = select_control(inst);
    if (op.run != nullptr) {
      op.kind = OpKind::Control;
      return op;
    }
    for (const Select select : kPlain) {
      op.run = select(inst);
      if (op.run != nullptr) return op;
    }
    unsupported(inst, fmt::format("{} of type {}", isa::name(inst.op), isa::name(inst.type)));
  }

  const ModuleData& module_;
  const isa::Function& function_;
  Program program_;
  std::uint32_t registers_ = 0;
  std::uint32_t wide_registers_ = 0;
  std::uint32_t constant_bytes_ = 0;
};

}  // namespace

Program decode(const ModuleData& module, const KernelInfo& kernel) { return Decoder(module, kernel).run(); }

}  // namespace gpumux::emulator
