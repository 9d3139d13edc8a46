// Text of one instruction, in PTX's spelling where PTX has one.
#include <fmt/core.h>

#include <algorithm>

#include "isa/instruction.hpp"

namespace gpumux::isa {
namespace {

const char* suffix(Rounding rounding) {
  switch (rounding) {
    case Rounding::None: return "";
    case Rounding::RN: return ".rn";
    case Rounding::RZ: return ".rz";
    case Rounding::RM: return ".rm";
    case Rounding::RP: return ".rp";
    case Rounding::RNI: return ".rni";
    case Rounding::RZI: return ".rzi";
    case Rounding::RMI: return ".rmi";
    case Rounding::RPI: return ".rpi";
    case Rounding::RNA: return ".rna";
  }
  return "";
}

const char* suffix(Compare compare) {
  switch (compare) {
    case Compare::None: return "";
    case Compare::EQ: return ".eq";
    case Compare::NE: return ".ne";
    case Compare::LT: return ".lt";
    case Compare::LE: return ".le";
    case Compare::GT: return ".gt";
    case Compare::GE: return ".ge";
    case Compare::LO: return ".lo";
    case Compare::LS: return ".ls";
    case Compare::HI: return ".hi";
    case Compare::HS: return ".hs";
    case Compare::EQU: return ".equ";
    case Compare::NEU: return ".neu";
    case Compare::LTU: return ".ltu";
    case Compare::LEU: return ".leu";
    case Compare::GTU: return ".gtu";
    case Compare::GEU: return ".geu";
    case Compare::NUM: return ".num";
    case Compare::NAN_: return ".nan";
  }
  return "";
}

const char* suffix(BoolOp op) {
  switch (op) {
    case BoolOp::None: return "";
    case BoolOp::And: return ".and";
    case BoolOp::Or: return ".or";
    case BoolOp::Xor: return ".xor";
  }
  return "";
}

const char* suffix(AtomicOp op) {
  switch (op) {
    case AtomicOp::None: return "";
    case AtomicOp::Add: return ".add";
    case AtomicOp::Min: return ".min";
    case AtomicOp::Max: return ".max";
    case AtomicOp::Inc: return ".inc";
    case AtomicOp::Dec: return ".dec";
    case AtomicOp::Exch: return ".exch";
    case AtomicOp::Cas: return ".cas";
    case AtomicOp::And: return ".and";
    case AtomicOp::Or: return ".or";
    case AtomicOp::Xor: return ".xor";
  }
  return "";
}

const char* suffix(ShflMode mode) {
  switch (mode) {
    case ShflMode::None: return "";
    case ShflMode::Up: return ".up";
    case ShflMode::Down: return ".down";
    case ShflMode::Bfly: return ".bfly";
    case ShflMode::Idx: return ".idx";
  }
  return "";
}

const char* suffix(VoteMode mode) {
  switch (mode) {
    case VoteMode::None: return "";
    case VoteMode::All: return ".all";
    case VoteMode::Any: return ".any";
    case VoteMode::Uni: return ".uni";
    case VoteMode::Ballot: return ".ballot";
  }
  return "";
}

const char* suffix(MatchMode mode) {
  switch (mode) {
    case MatchMode::None: return "";
    case MatchMode::Any: return ".any.sync";
    case MatchMode::All: return ".all.sync";
  }
  return "";
}

const char* suffix(BarMode mode) {
  switch (mode) {
    case BarMode::None: return "";
    case BarMode::Sync: return ".sync";
    case BarMode::Arrive: return ".arrive";
    case BarMode::RedPopc: return ".red.popc";
    case BarMode::RedAnd: return ".red.and";
    case BarMode::RedOr: return ".red.or";
  }
  return "";
}

const char* suffix(MbarrierMode mode) {
  switch (mode) {
    case MbarrierMode::None: return "";
    case MbarrierMode::Init: return ".init";
    case MbarrierMode::Inval: return ".inval";
    case MbarrierMode::Arrive: return ".arrive";
    case MbarrierMode::ArriveDrop: return ".arrive_drop";
    case MbarrierMode::ArriveCopies: return ".arrive_copies";
    case MbarrierMode::ExpectTx: return ".expect_tx";
    case MbarrierMode::CompleteTx: return ".complete_tx";
    case MbarrierMode::TestWait: return ".test_wait";
    case MbarrierMode::TryWait: return ".try_wait";
  }
  return "";
}

const char* suffix(TestpMode mode) {
  switch (mode) {
    case TestpMode::None: return "";
    case TestpMode::Finite: return ".finite";
    case TestpMode::Infinite: return ".infinite";
    case TestpMode::Number: return ".number";
    case TestpMode::NotANumber: return ".notanumber";
    case TestpMode::Normal: return ".normal";
    case TestpMode::Subnormal: return ".subnormal";
  }
  return "";
}

const char* suffix(CacheOp cache) {
  switch (cache) {
    case CacheOp::None: return "";
    case CacheOp::CA: return ".ca";
    case CacheOp::CG: return ".cg";
    case CacheOp::CS: return ".cs";
    case CacheOp::LU: return ".lu";
    case CacheOp::CV: return ".cv";
    case CacheOp::WB: return ".wb";
    case CacheOp::WT: return ".wt";
    case CacheOp::NC: return ".nc";
  }
  return "";
}

bool is_memory(Opcode op) {
  return op == Opcode::Ld || op == Opcode::St || op == Opcode::Atom || op == Opcode::Red ||
         op == Opcode::Prefetch || op == Opcode::LdMatrix || op == Opcode::StMatrix ||
         op == Opcode::CpAsync || op == Opcode::Mbarrier;
}

/// The shape of a matrix product, such as "m16n8k16.row.col", with its types in PTX's order.
std::string matrix_text(const Instruction& inst) {
  const MatrixShape& m = inst.matrix;
  std::string text =
      fmt::format(".m{}n8k{}.{}.{}.{}.{}.{}.{}", m.rows, m.depth, m.a_columns ? "col" : "row",
                  m.b_rows ? "row" : "col", name(inst.type), name(m.a), name(m.b), name(inst.type2));
  if (m.a == MatrixType::B1) text += ".popc";
  if (m.quads && inst.type == Type::F32) text += m.half != 0 ? ".upper" : ".lower";
  return text;
}

std::string operand_text(const Module& module, const Function& function, const Operand& operand, Type type) {
  const char* bang = operand.negate ? "!" : "";
  switch (operand.kind) {
    case Operand::Kind::None: return "_";
    case Operand::Kind::Reg32: return fmt::format("{}{}", function.physical ? "R" : "%r", operand.reg);
    case Operand::Kind::Reg64: return fmt::format("{}{}", function.physical ? "RD" : "%rd", operand.reg);
    case Operand::Kind::Pred: return fmt::format("{}{}{}", bang, function.physical ? "P" : "%p", operand.reg);
    case Operand::Kind::Imm:
      if (type == Type::F32) return fmt::format("0f{:08x}", operand.imm & 0xffff'ffffU);
      if (type == Type::F64) return fmt::format("0d{:016x}", operand.imm);
      if (operand.imm < 0x1'0000U) return fmt::format("{}", operand.imm);
      return fmt::format("{:#x}", operand.imm);
    case Operand::Kind::Special: return isa::name(static_cast<Special>(operand.reg));
    case Operand::Kind::Symbol: {
      const std::string symbol = operand.reg < module.symbols.size() ? module.symbols[operand.reg].name
                                                                     : fmt::format("symbol{}", operand.reg);
      return operand.imm == 0 ? symbol
                              : fmt::format("{}{:+}", symbol, static_cast<std::int64_t>(operand.imm));
    }
    case Operand::Kind::Const: return fmt::format("c[{:#x}]", operand.imm);
  }
  return "?";
}

std::string opcode_text(const Instruction& inst) {
  std::string text = name(inst.op);
  if (inst.op == Opcode::Ld || inst.op == Opcode::St) {
    if (inst.is_volatile) text += ".volatile";
    if (inst.acquire_release) text += inst.op == Opcode::Ld ? ".acquire" : ".release";
  }
  if (inst.op == Opcode::Syscall) text += fmt::format(".{}", name(inst.service));
  const bool has_space = is_memory(inst.op) || inst.op == Opcode::Cvta || inst.op == Opcode::CvtaTo ||
                         inst.op == Opcode::Isspacep;
  if (has_space && inst.space != Space::Generic) text += fmt::format(".{}", name(inst.space));
  if (inst.op == Opcode::Atom && inst.acquire_release) text += ".acq_rel";
  if (inst.gather) text = fmt::format("tld4.{}", "rgba"[inst.shift & 3U]);
  if (inst.op == Opcode::SurfLd || inst.op == Opcode::SurfSt || inst.op == Opcode::SurfRed)
    text += inst.formatted ? ".p" : ".b";
  if (inst.detail != TextureDetail::None) text += inst.detail == TextureDetail::Level ? ".level" : ".grad";
  if (inst.geometry != TextureGeometry::None) text += fmt::format(".{}", name(inst.geometry));
  if (inst.query != TextureQuery::None) text += fmt::format(".{}", name(inst.query));
  if (inst.op == Opcode::Mma) text += matrix_text(inst);
  if (inst.op == Opcode::LdMatrix || inst.op == Opcode::StMatrix)
    return text + fmt::format(".x{}{}.b16", inst.vector, inst.transpose ? ".trans" : "");
  text += suffix(inst.atomic);
  const bool names_members =
      (inst.op == Opcode::Shfl && inst.src[3]) || (inst.op == Opcode::Vote && inst.src[1]);
  if (names_members) text += ".sync";
  text += suffix(inst.shfl);
  text += suffix(inst.vote);
  text += suffix(inst.match);
  text += suffix(inst.bar);
  text += suffix(inst.mbarrier);
  if (inst.op == Opcode::Mbarrier) {
    if ((inst.shift & kMbarrierExpectTx) != 0) text += ".expect_tx";
    if ((inst.shift & kMbarrierNoComplete) != 0) text += ".noComplete";
    if ((inst.shift & kMbarrierNoinc) != 0) text += ".noinc";
    if ((inst.shift & kMbarrierParity) != 0) text += ".parity";
  }
  text += suffix(inst.testp);
  text += suffix(inst.cache);
  text += suffix(inst.compare);
  text += suffix(inst.bool_op);
  if (inst.op == Opcode::Shf) {
    text += (inst.shift & 1U) != 0 ? ".r" : ".l";
    text += (inst.shift & 2U) != 0 ? ".clamp" : ".wrap";
  }
  if (inst.op == Opcode::Bfind && (inst.shift & 1U) != 0) text += ".shiftamt";
  if (inst.op == Opcode::Dp2a) text += (inst.shift & 1U) != 0 ? ".hi" : ".lo";
  if (inst.approx) text += ".approx";
  if (inst.full) text += ".full";
  text += suffix(inst.rounding);
  if (inst.ftz) text += ".ftz";
  if (inst.nan) text += ".NaN";
  if (inst.sat) text += ".sat";
  if (inst.carry_in) text += ".cin";
  if (inst.carry_out) text += ".cc";
  if (inst.uniform) text += ".uni";
  if (inst.wide) text += ".wide";
  if (inst.relu) text += ".relu";
  if (inst.op == Opcode::Mma) return text;
  if (inst.vector > 1) text += fmt::format(".v{}", inst.vector);
  if (inst.type != Type::None && inst.op != Opcode::Bra) text += fmt::format(".{}", name(inst.type));
  if (inst.type2 != Type::None) text += fmt::format(".{}", name(inst.type2));
  if (inst.bounds != SurfaceBounds::None) text += fmt::format(".{}", name(inst.bounds));
  return text;
}

std::string target_text(const Function& function, std::uint32_t target) {
  if (target == kNoTarget) return "?";
  if (function.final) return fmt::format("{}", target);
  return target < function.labels.size() ? function.labels[target] : fmt::format("L{}", target);
}

/// The sign of operand i of an fma that contraction made of a subtraction: "-" or nothing.
std::string sign_text(const Instruction& inst, std::size_t i) {
  if (inst.op != Opcode::Fma) return {};
  const unsigned bit = i == 0 ? kFmaMinusProduct : i == 2 ? kFmaMinusAddend : 0U;
  return (inst.shift & bit) != 0 ? "-" : "";
}

}  // namespace

std::string to_text(const Module& module, const Function& function, const Instruction& inst) {
  if (inst.op == Opcode::Label) return target_text(function, inst.target) + ":";
  std::string text;
  if (inst.guard) {
    text += fmt::format("@{} ", operand_text(module, function, inst.guard, Type::Pred));
  }
  text += opcode_text(inst);
  std::string separator = " ";
  const auto add = [&](const std::string& part) {
    text += separator + part;
    separator = ", ";
  };
  std::size_t last_dst = 0;
  for (std::size_t i = 0; i < inst.dst.size(); ++i) {
    if (inst.dst[i]) last_dst = i + 1;
  }
  std::size_t last_src = 0;
  for (std::size_t i = 0; i < inst.src.size(); ++i) {
    if (inst.src[i]) last_src = i + 1;
  }
  if (inst.op == Opcode::Mma) {
    const auto group = [&](const auto& operands, std::size_t first, std::size_t count) {
      std::string parts;
      for (std::size_t i = first; i < first + count; ++i)
        parts += (parts.empty() ? "" : ", ") + operand_text(module, function, operands[i], Type::B32);
      add("{" + parts + "}");
    };
    const std::size_t a = a_registers(inst.matrix);
    const std::size_t b = b_registers(inst.matrix);
    group(inst.dst, 0, c_registers(inst.matrix, inst.type));
    group(inst.src, 0, a);
    group(inst.src, a, b);
    group(inst.src, a + b, c_registers(inst.matrix, inst.type2));
    return text;
  }
  for (std::size_t i = 0; i < last_dst; ++i) add(operand_text(module, function, inst.dst[i], inst.type));
  const Type source_type = inst.type2 != Type::None && inst.op == Opcode::Cvt ? inst.type2 : inst.type;
  if (is_memory(inst.op)) {
    const bool slot = inst.space == Space::Param && inst.src[0].kind == Operand::Kind::Imm &&
                      inst.src[0].imm < function.slots.size();
    std::string address =
        slot ? function.slots[inst.src[0].imm].name : operand_text(module, function, inst.src[0], Type::B64);
    if (inst.offset != 0) address += fmt::format("{:+}", inst.offset);
    add("[" + address + "]");
    for (std::size_t i = 1; i < last_src; ++i) add(operand_text(module, function, inst.src[i], source_type));
  } else if (inst.op == Opcode::Txq || inst.geometry != TextureGeometry::None) {
    std::string place = operand_text(module, function, inst.src[0], Type::B64);
    const std::size_t behind = 1 + coordinates(inst.geometry);
    const Type type = inst.type2 != Type::None ? inst.type2 : Type::S32;
    for (std::size_t i = 1; i < std::min(behind, last_src); ++i) {
      const bool layer = i == 1 && is_layered(inst.geometry);
      place += ", " + operand_text(module, function, inst.src[i], layer ? Type::U32 : type);
    }
    add("[" + place + "]");
    for (std::size_t i = behind; i < last_src; ++i)
      add(operand_text(module, function, inst.src[i], inst.op == Opcode::Tex ? type : inst.type));
  } else {
    for (std::size_t i = 0; i < last_src; ++i)
      add(sign_text(inst, i) + operand_text(module, function, inst.src[i], source_type));
  }
  if (inst.op == Opcode::CpAsyncWait) add(fmt::format("{}", inst.offset));
  if (inst.op == Opcode::Lop3 || inst.op == Opcode::Lea) add(fmt::format("{:#x}", inst.shift));
  if (inst.op == Opcode::Prmt && inst.shift != 0) add(fmt::format("mode {}", inst.shift));
  if (inst.op == Opcode::Bra) add(target_text(function, inst.target));
  if (inst.op == Opcode::BrxIdx && inst.call < function.branch_tables.size()) {
    std::string table;
    for (const std::uint32_t target : function.branch_tables[inst.call]) {
      table += (table.empty() ? "" : ", ") + target_text(function, target);
    }
    add("{" + table + "}");
  }
  if (inst.op == Opcode::Call) {
    if (inst.call < function.calls.size()) {
      const CallSite& site = function.calls[inst.call];
      add(site.callee.empty() ? operand_text(module, function, site.pointer, Type::B64) : site.callee);
    } else if (inst.target != kNoTarget) {
      add(target_text(function, inst.target));
    }
  }
  return text;
}

}  // namespace gpumux::isa
