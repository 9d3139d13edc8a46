#include "trace/sass.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/matrix_opcode.hpp"

namespace gpumux::trace {
namespace {

using isa::LatencyClass;
using isa::Unit;

/// Opcodes of sm_60 to sm_121 by the unit that executes them. An opcode uses nearly the same units on all
/// architectures. Tensor and control instructions of single architectures are simply added. Conversions,
/// moves and shuffles use the integer pipe, as in the model that the v100 machine follows.
struct Group {
  SassClass what;
  std::string_view opcodes;
};

constexpr SassClass alu(LatencyClass latency) { return {Unit::Int, latency, 0, SassSpace::None}; }
/// A uniform instruction. Machines without uniform units execute it on the integer units.
constexpr SassClass uniform(LatencyClass latency) { return {Unit::Uniform, latency, 0, SassSpace::None}; }
constexpr SassClass control(unsigned flags = 0) {
  return {Unit::Control, LatencyClass::Control, static_cast<std::uint16_t>(flags), SassSpace::None};
}
constexpr SassClass memory(SassSpace space, unsigned flags) {
  return {Unit::Memory, LatencyClass::Memory, static_cast<std::uint16_t>(flags), space};
}

constexpr std::string_view kBulkCopies = "UTMALDG UTMAPF UTMAREDG UTMASTG UBLKCP UBLKPF UBLKRED";

constexpr Group kGroups[] = {
    {{Unit::Sp, LatencyClass::FpAdd, 0, SassSpace::None},
     "FADD FADD2 FADD32I FHADD FSWZ FSWZADD HADD2 HADD2_32I RRO FCHK FSEL"},
    {{Unit::Sp, LatencyClass::FpMul, 0, SassSpace::None}, "FMUL FMUL2 FMUL32I HMUL2 HMUL2_32I"},
    {{Unit::Sp, LatencyClass::FpMad, 0, SassSpace::None}, "FFMA FFMA2 FFMA32I FHFMA HFMA2 HFMA2_32I"},
    {{Unit::Sp, LatencyClass::FpMax, 0, SassSpace::None},
     "FMNMX FMNMX3 HMNMX2 VHMNMX FCMP FSET FSETP HSET2 HSETP2"},
    {{Unit::Dp, LatencyClass::DpAdd, 0, SassSpace::None}, "DADD"},
    {{Unit::Dp, LatencyClass::DpMul, 0, SassSpace::None}, "DMUL"},
    {{Unit::Dp, LatencyClass::DpMad, 0, SassSpace::None}, "DFMA"},
    {{Unit::Dp, LatencyClass::DpMax, 0, SassSpace::None}, "DMNMX DSET DSETP"},
    {{Unit::Sfu, LatencyClass::Sfu, 0, SassSpace::None}, "MUFU"},
    // Texture instructions, whose addresses are not in a trace.
    {{Unit::Sfu, LatencyClass::Sfu, 0, SassSpace::None},
     "TEX TEXS TLD TLDS TLD4 TLD4S TMML TXD TXQ SULD SUST SURED SUATOM SUQUERY"},
    {{Unit::Tensor, LatencyClass::Tensor, 0, SassSpace::None},
     "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA"},
    {alu(LatencyClass::IntAdd),
     "IADD IADD3 IADD32I IABS ISUB ISAD ISCADD ISCADD32I LEA LOP LOP3 LOP32I SHF SHL SHR BFE BFI BMSK BREV "
     "FLO "
     "POPC VABSDIFF VABSDIFF4 VADD VIADD SGXT MOV MOV32I MOVM SEL PRMT PLOP3 PSET PSETP P2R R2P B2R R2B S2R "
     "CS2R "
     "LEPC QSPC GETLMEMBASE SETLMEMBASE SETCTAID NOP CCTL CCTLL CCTLT CSET CSETP CSMTEST VOTE VOTE_VTG MATCH "
     "SHFL "
     "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP PMTRIG ELECT"},
    {alu(LatencyClass::IntMax), "IMNMX VIMNMX VIMNMX3 VIADDMNMX VMNMX ICMP ISET ISETP"},
    {alu(LatencyClass::IntMul), "IMUL IMUL32I"},
    {alu(LatencyClass::IntMad), "IMAD IMADSP XMAD IDP IDP4A"},
    {uniform(LatencyClass::IntAdd),
     "R2UR REDUX CREDUX S2UR CS2UR UBMSK UBREV UCLEA UF2FP UF2I UI2F UFLO UIADD3 UIABS ULDC ULEA ULEPC ULOP "
     "ULOP3 "
     "ULOP32I UMOV UP2UR UPLOP3 UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UVIADD VOTEU UVOTEU "
     "USETMAXREG "
     "UF2F UF2IP UFADD UFMUL UFFMA UFSEL UFSET UFSETP UFMNMX UFRND UI2FP UI2I UI2IP UMEMSETS UVIRTCOUNT "
     "UGETNEXTWORKID"},
    {uniform(LatencyClass::IntMax), "UISETP UIMNMX UVIMNMX"},
    {uniform(LatencyClass::IntMad), "UIMAD"},
    {control(isa::kBranch), "BRA BRX BRXU JMP JMX JMXU JCAL CAL CALL RET RTT BRK CONT SYNC BSYNC KILL BREAK"},
    {control(),
     "BMOV BPT BSSY RPCMOV NANOSLEEP WARPSYNC YIELD SSY PBK PCNT PEXIT PRET DEPBAR LDGDEPBAR ERRBAR "
     "CGAERRBAR "
     "ACQBULK ACQSHMINIT PREEXIT WARPGROUP WARPGROUPSET ENDCOLLECTIVE UCGABAR_ARV UCGABAR_WAIT UTMACMDFLUSH "
     "UTMACCTL SYNCS ARRIVES FENCE UTCATOMSWS UTCBAR UTCCP UTCSHIFT"},
    // Bulk copies. classify() makes them memory instructions if the trace has their addresses.
    {control(), kBulkCopies},
    {control(), "LDT LDTM STT STTM"},
    {control(isa::kExit), "EXIT"},
    {control(isa::kBarrier), "BAR"},
    {control(isa::kFence), "MEMBAR"},
    {memory(SassSpace::Global, isa::kLoad), "LDG LDGSTS LDGMC SULDGA"},
    {memory(SassSpace::Global, isa::kStore), "STG SUSTGA"},
    {memory(SassSpace::Global, isa::kAtomic), "ATOMG RED REDG REDAS"},
    {memory(SassSpace::Local, isa::kLoad), "LDL"},
    {memory(SassSpace::Local, isa::kStore), "STL"},
    {memory(SassSpace::Shared, isa::kLoad), "LDS LDSM"},
    {memory(SassSpace::Shared, isa::kStore), "STS STSM STAS"},
    {memory(SassSpace::Shared, isa::kAtomic), "ATOMS"},
    {memory(SassSpace::Generic, isa::kLoad), "LD"},
    {memory(SassSpace::Generic, isa::kStore), "ST"},
    {memory(SassSpace::Generic, isa::kAtomic), "ATOM"},
    {memory(SassSpace::Constant, isa::kLoad), "LDC LDCU"},
};

// Opcodes that are timed without their memory accesses.
constexpr std::string_view kTextures = "TEX TEXS TLD TLDS TLD4 TLD4S TXD SULD SUST SURED SUATOM";
constexpr std::string_view kTensorMemory = "LDT LDTM STT STTM UTCCP UTCSHIFT";

/// True if `name` is a word of `words`.
bool is_one_of(std::string_view name, std::string_view words) {
  for (std::size_t at = words.find(name); at != std::string_view::npos; at = words.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

using Table = std::unordered_map<std::string_view, SassClass>;

const Table& table() {
  static const Table built = [] {
    Table t;
    for (const Group& group : kGroups) {
      std::string_view rest = group.opcodes;
      while (!rest.empty()) {
        const std::size_t space = std::min(rest.find(' '), rest.size());
        GPUMUX_CHECK(t.emplace(rest.substr(0, space), group.what).second);
        rest.remove_prefix(std::min(space + 1, rest.size()));
      }
    }
    return t;
  }();
  return built;
}

std::string_view base_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

/// True if the opcode has the modifier: "LDG.E.64.SYS" has "64", "LDG.E.64K" does not.
bool has_modifier(std::string_view opcode, std::string_view modifier) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', dot + 1);
    if (opcode.substr(dot + 1, next - dot - 1) == modifier) return true;
    dot = next;
  }
  return false;
}

/// Number of 32-bit registers that each listed register stands for.
struct Widths {
  unsigned dst = 1;
  std::array<unsigned, kMaxRegisters> src = {1, 1, 1, 1, 1, 1};
};

Widths tensor_widths(std::string_view opcode, std::string_view base) {
  Widths w;
  const bool wide_result = has_modifier(opcode, "F32") || base != "HMMA";
  const auto set = [&w](unsigned d, unsigned a, unsigned b) {
    w.dst = d;
    w.src = {a, b, d, 1, 1, 1};
  };
  if (base == "DMMA") {
    set(4, 2, 2);
  } else if (base == "HMMA" && has_modifier(opcode, "884")) {
    set(wide_result ? 4 : 2, 2, 2);
  } else if (has_modifier(opcode, "1688") || has_modifier(opcode, "8816") || has_modifier(opcode, "8832")) {
    set(base == "HMMA" && wide_result ? 4 : 2, base == "HMMA" ? 2 : 1, 1);
  } else if (has_modifier(opcode, "16816") && base == "IMMA") {
    set(4, 2, 1);
  } else {
    set(wide_result ? 4 : 2, 4, 2);
  }
  return w;
}

Widths widths_of(const SassInst& inst, const SassClass& what) {
  Widths w;
  const std::string_view opcode = inst.opcode;
  const std::string_view base = base_of(opcode);
  switch (what.unit) {
    case Unit::Memory: {
      const unsigned data = std::max(1U, (inst.access_bytes + 3U) / 4U);
      w.dst = data;
      for (unsigned i = 1; i < kMaxRegisters; ++i) w.src[i] = (what.flags & isa::kLoad) != 0 ? 1 : data;
      // 64-bit addresses are in aligned pairs of registers.
      const bool pair = has_modifier(opcode, "E") && inst.num_src > 0 && inst.src[0] % 2 == 0;
      w.src[0] = pair ? 2 : 1;
      break;
    }
    case Unit::Dp:
      w.dst = 2;
      w.src = {2, 2, 2, 2, 2, 2};
      break;
    case Unit::Tensor: w = tensor_widths(opcode, base); break;
    case Unit::Sfu: break;
    default:
      if (base == "IMAD" && has_modifier(opcode, "WIDE")) {
        w.dst = 2;
        w.src[2] = 2;
      }
      break;
  }
  return w;
}

/// Fills the slot list: first written registers, then registers that are read and not also written.
class Slots {
 public:
  explicit Slots(isa::StaticInst& inst) : inst_(inst) {}
  void write(unsigned reg, unsigned width) {
    for (unsigned r = reg; r < reg + width && r < kZeroRegister; ++r) {
      if (!has(r)) push(r, inst_.num_dst);
    }
  }
  void read(unsigned reg, unsigned width) {
    for (unsigned r = reg; r < reg + width && r < kZeroRegister; ++r) {
      if (!read_[r]) {
        read_[r] = true;
        ++inst_.num_operands;
      }
      if (!has(r)) push(r, inst_.num_src);
    }
  }

 private:
  [[nodiscard]] bool has(unsigned reg) const {
    const auto end = inst_.slot.begin() + inst_.num_dst + inst_.num_src;
    return std::find(inst_.slot.begin(), end, reg) != end;
  }
  void push(unsigned reg, std::uint8_t& count) {
    const std::size_t index = std::size_t{inst_.num_dst} + inst_.num_src;
    if (index == inst_.slot.size()) return;  // no instruction has more
    inst_.slot[index] = static_cast<std::uint16_t>(reg);
    ++count;
  }
  isa::StaticInst& inst_;
  std::array<bool, kZeroRegister> read_{};
};

}  // namespace

std::optional<SassClass> classify_opcode(std::string_view opcode) {
  const auto found = table().find(base_of(opcode));
  if (found == table().end()) return std::nullopt;
  return found->second;
}

bool is_bulk_copy(std::string_view opcode) { return is_one_of(base_of(opcode), kBulkCopies); }

std::optional<SassClass> classify(const SassInst& inst) {
  const std::optional<SassClass> what = classify_opcode(inst.opcode);
  if (!what || inst.access_bytes == 0 || !is_bulk_copy(inst.opcode)) return what;
  const std::string_view base = base_of(inst.opcode);
  if (base == "UTMALDG" || base == "UTMAPF" || base == "UBLKPF") return memory(SassSpace::Global, isa::kLoad);
  if (base == "UTMASTG" || base == "UTMAREDG" || base == "UBLKRED")
    return memory(SassSpace::Global, isa::kStore);
  if (base != "UBLKCP") return what;
  // UBLKCP names the destination first.
  const std::string_view opcode = inst.opcode;
  if (opcode.find(".S.G") != std::string_view::npos) return memory(SassSpace::Global, isa::kLoad);
  if (opcode.find(".G.S") != std::string_view::npos) return memory(SassSpace::Global, isa::kStore);
  return what;
}

Untimed untimed(const SassInst& inst) {
  const std::string_view base = base_of(inst.opcode);
  const std::optional<SassClass> what = classify(inst);
  GPUMUX_CHECK(what.has_value());
  if (what->unit == Unit::Tensor) return matrix_multiply_adds(inst.opcode) ? Untimed::No : Untimed::Product;
  if (is_one_of(base, kTextures)) return Untimed::Texture;
  if (is_one_of(base, kTensorMemory)) return Untimed::TensorMemory;
  return is_bulk_copy(base) && inst.access_bytes == 0 ? Untimed::BulkCopy : Untimed::No;
}

const char* describe(Untimed why) {
  switch (why) {
    case Untimed::No: return "";
    case Untimed::BulkCopy: return "bulk copies without addresses in the trace move no bytes";
    case Untimed::Texture: return "texture and surface accesses, whose addresses no trace has, move no bytes";
    case Untimed::Product:
      return "matrix products without a shape in their opcode take one pass of a tensor unit";
    case Untimed::TensorMemory: return "accesses to tensor memory take an issue slot alone";
  }
  return "";
}

bool keeps_immediate(std::string_view opcode) {
  const std::string_view base = base_of(opcode);
  return base == "BAR" || base == "DEPBAR";
}

isa::StaticInst static_inst(const SassInst& inst, bool async_copies) {
  const std::optional<SassClass> what = classify(inst);
  GPUMUX_CHECK(what.has_value());
  const std::string_view opcode = inst.opcode;
  const std::string_view base = base_of(opcode);
  isa::StaticInst result;
  result.unit = what->unit;
  result.latency_class = what->latency;
  unsigned flags = what->flags;
  switch (what->space) {
    case SassSpace::Shared: flags |= isa::kShared; break;
    case SassSpace::Local: flags |= isa::kLocalSpace; break;
    case SassSpace::Constant: flags |= isa::kConstant; break;
    case SassSpace::Generic: flags |= isa::kGenericSpace; break;
    case SassSpace::None:
    case SassSpace::Global: break;
  }
  if ((flags & isa::kAtomic) != 0) flags |= inst.num_dst > 0 ? isa::kLoad : isa::kStore;
  if (what->unit == Unit::Memory) {
    result.access_bytes = inst.access_bytes;
    const bool coherent =
        has_modifier(opcode, "STRONG") && (has_modifier(opcode, "GPU") || has_modifier(opcode, "SYS"));
    if (coherent || has_modifier(opcode, "CG") || has_modifier(opcode, "CV") || is_bulk_copy(opcode))
      flags |= isa::kBypassL1;
  }
  if (what->unit == Unit::Tensor) result.multiply_adds = matrix_multiply_adds(opcode).value_or(0);
  if (base == "BAR") {
    if (has_modifier(opcode, "ARV")) flags |= isa::kArrive;
    const std::int64_t number = inst.immediate & 0xff;
    if (inst.immediate > 0 && number < 16) result.barrier = static_cast<std::uint8_t>(number);
    if (inst.immediate > 0)
      result.barrier_warps = static_cast<std::uint8_t>(((inst.immediate >> 8U) + kWarpSize - 1) / kWarpSize);
  }
  if (base == "MEMBAR" && has_modifier(opcode, "CTA")) flags &= ~unsigned{isa::kFence};
  // DEPBAR with a count lets this number of groups of copies remain pending. Without a count, or with 0, it
  // waits for all.
  if (base == "DEPBAR" && async_copies && inst.immediate <= 0) flags |= isa::kFence;
  result.flags = static_cast<std::uint16_t>(flags);

  const Widths widths = widths_of(inst, *what);
  Slots slots(result);
  for (unsigned i = 0; i < inst.num_dst; ++i) slots.write(inst.dst[i], widths.dst);
  for (unsigned i = 0; i < inst.num_src; ++i) slots.read(inst.src[i], widths.src[i]);
  return result;
}

std::string to_text(const SassInst& inst) {
  std::string text = inst.opcode;
  const auto reg = [](std::uint8_t r) {
    return r == kZeroRegister ? std::string("RZ") : fmt::format("R{}", r);
  };
  const char* separator = " ";
  for (unsigned i = 0; i < inst.num_dst; ++i, separator = ", ") text += separator + reg(inst.dst[i]);
  for (unsigned i = 0; i < inst.num_src; ++i, separator = ", ") text += separator + reg(inst.src[i]);
  return text;
}

}  // namespace gpumux::trace
