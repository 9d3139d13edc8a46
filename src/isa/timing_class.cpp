// Classification of instructions: pipeline, latency row and scoreboard slots.
//
// Units follow the CUDA programming guide's table of arithmetic throughput and published microbenchmarks of
// Maxwell to Turing:
// - conversions between integers and floats, between f16 and f32, and rounding to an integral float run at
//   the rate of the special function unit; conversions from and to f64 run at the rate of the double unit;
//   integer to integer conversions are plain ALU work;
// - approximate reciprocal, roots, sine, cosine, logarithm, exponential and tanh use the special function
//   unit; exact divisions and roots that are not expanded use that unit with the row of division;
// - shuffles, matches, warp reductions and transposed matrices share a crossbar whose rate and latency are
//   nearest to those of the special function unit; votes are ALU work.
//
// A matrix product occupies the tensor unit for its number of multiply-adds, weighted by type. The weights
// are the same on all parts that support the types (NVIDIA's white papers on Turing, A100 and H100). 8-bit
// types are twice as fast as f16, 4-bit types four times, single bits sixteen times. tf32 is half as fast as
// f16, and f64 a sixteenth.
#include <algorithm>

#include "isa/timing_class.hpp"

namespace gpumux::isa {
namespace {

struct Pipe {
  Unit unit;
  LatencyClass row;
};

enum class Work : std::uint8_t { Add, Max, Mul, Mad, Div };

Pipe arithmetic(Type type, Work work) {
  const auto row = [work](LatencyClass first) {
    return static_cast<LatencyClass>(static_cast<unsigned>(first) + static_cast<unsigned>(work));
  };
  if (type == Type::F64) return {Unit::Dp, row(LatencyClass::DpAdd)};
  if (is_float(type)) {
    return {work == Work::Div ? Unit::Sfu : Unit::Sp, row(LatencyClass::FpAdd)};
  }
  return {Unit::Int, row(LatencyClass::IntAdd)};
}

Pipe conversion(const Instruction& inst) {
  if (inst.type == Type::F64 || inst.type2 == Type::F64) return {Unit::Dp, LatencyClass::DpAdd};
  const bool to_float = is_float(inst.type);
  const bool from_float = is_float(inst.type2);
  if (!to_float && !from_float) return {Unit::Int, LatencyClass::IntAdd};
  const bool integral = inst.rounding >= Rounding::RNI && inst.rounding <= Rounding::RPI;
  if (to_float && from_float && inst.type == inst.type2 && !integral) return {Unit::Sp, LatencyClass::FpAdd};
  return {Unit::Sfu, LatencyClass::Sfu};
}

Pipe pipe_of(const Instruction& inst) {
  constexpr Pipe kSfu{Unit::Sfu, LatencyClass::Sfu};
  constexpr Pipe kInt{Unit::Int, LatencyClass::IntAdd};
  constexpr Pipe kControl{Unit::Control, LatencyClass::Control};
  constexpr Pipe kMemory{Unit::Memory, LatencyClass::Memory};
  switch (inst.op) {
    case Opcode::Mov:
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Abs:
    case Opcode::Neg:
    case Opcode::Testp:
    case Opcode::Selp: return arithmetic(inst.type, Work::Add);
    case Opcode::Set: return arithmetic(inst.type2 != Type::None ? inst.type2 : inst.type, Work::Add);
    case Opcode::Setp: return arithmetic(inst.type, Work::Add);
    case Opcode::Slct: return arithmetic(inst.type2, Work::Add);
    case Opcode::Min:
    case Opcode::Max: return arithmetic(inst.type, Work::Max);
    case Opcode::MulLo:
    case Opcode::MulHi:
    case Opcode::MulWide:
    case Opcode::Mul24:
    case Opcode::Mul: return arithmetic(inst.type, Work::Mul);
    case Opcode::MadLo:
    case Opcode::MadHi:
    case Opcode::MadWide:
    case Opcode::Mad24:
    case Opcode::Dp4a:
    case Opcode::Dp2a:
    case Opcode::Fma: return arithmetic(inst.type, Work::Mad);
    case Opcode::Div:
    case Opcode::Rem: return arithmetic(inst.type, Work::Div);
    case Opcode::Rcp:
    case Opcode::Sqrt:
    case Opcode::Rsqrt: return inst.approx ? kSfu : arithmetic(inst.type, Work::Div);
    case Opcode::Sin:
    case Opcode::Cos:
    case Opcode::Lg2:
    case Opcode::Ex2:
    case Opcode::Tanh: return kSfu;
    case Opcode::Cvt: return conversion(inst);
    case Opcode::CvtPack2: return kSfu;
    case Opcode::Shfl:
    case Opcode::Match:
    case Opcode::MovMatrix:
    case Opcode::Redux: return kSfu;
    case Opcode::Mma: return {Unit::Tensor, LatencyClass::Tensor};
    case Opcode::Pack:
    case Opcode::Unpack:
    case Opcode::CvtaTo:
    case Opcode::Cvta:
    case Opcode::Isspacep:
    case Opcode::Sad:
    case Opcode::Copysign:
    case Opcode::Lea:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Not:
    case Opcode::Cnot:
    case Opcode::Lop3:
    case Opcode::Shl:
    case Opcode::Shr:
    case Opcode::Shf:
    case Opcode::Prmt:
    case Opcode::Popc:
    case Opcode::Clz:
    case Opcode::Bfind:
    case Opcode::Brev:
    case Opcode::Bfe:
    case Opcode::Bfi:
    case Opcode::MbarrierPending:
    case Opcode::Vote:
    case Opcode::Txq:  // the answer is stored beside the launch's parameters
    case Opcode::Activemask: return kInt;
    case Opcode::Ld:
    case Opcode::St:
    case Opcode::Atom:
    case Opcode::Red:
    case Opcode::Notify:
    case Opcode::Tex:
    case Opcode::SurfLd:
    case Opcode::SurfSt:
    case Opcode::SurfRed:
    case Opcode::LdMatrix:
    case Opcode::StMatrix:
    case Opcode::CpAsync:
    case Opcode::Mbarrier:
    case Opcode::Prefetch: return kMemory;
    case Opcode::Bar:
    case Opcode::BarWarp:
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::CpAsyncCommit:
    case Opcode::CpAsyncWait:
    case Opcode::Label:
    case Opcode::Bra:
    case Opcode::BrxIdx:
    case Opcode::Call:
    case Opcode::Ret:
    case Opcode::Exit:
    case Opcode::Trap:
    case Opcode::Nop:
    case Opcode::Syscall: return kControl;
  }
  return kControl;
}

unsigned memory_flags(const Instruction& inst) {
  unsigned flags = 0;
  switch (inst.op) {
    case Opcode::Ld:
    case Opcode::Tex:
    case Opcode::SurfLd:
    case Opcode::LdMatrix:
    case Opcode::Prefetch: flags |= kLoad; break;
    case Opcode::StMatrix:
    case Opcode::SurfSt:
    case Opcode::St: flags |= kStore; break;
    case Opcode::Notify: return kStore | kBypassL1 | kNotice;
    // cp.async accesses global and shared memory. It counts as a global load, because other instructions wait
    // for the load.
    case Opcode::CpAsync: return kLoad | kAsync | (inst.cache == CacheOp::CG ? unsigned{kBypassL1} : 0U);
    case Opcode::Mbarrier: {
      const bool waits = inst.mbarrier == MbarrierMode::TestWait || inst.mbarrier == MbarrierMode::TryWait;
      const unsigned arrives = kAtomic | (inst.dst[0] ? kLoad : kStore);
      return kShared | kAsync | (waits ? unsigned{kLoad} : arrives);
    }
    case Opcode::Atom: flags |= kAtomic | (inst.dst[0] ? kLoad : kStore); break;
    case Opcode::SurfRed:
    case Opcode::Red: flags |= kAtomic | kStore; break;
    default: return 0;
  }
  switch (inst.space) {
    case Space::Generic: flags |= kGenericSpace; break;
    case Space::Global: break;
    case Space::Shared: flags |= kShared; break;
    case Space::Local: flags |= kLocalSpace; break;
    // A kernel's parameters are in the constant bank. Final code has no slots of calls.
    case Space::Const:
    case Space::Param: flags |= kConstant; break;
  }
  const bool bypasses =
      inst.cache == CacheOp::CG || inst.cache == CacheOp::CV || inst.is_volatile || inst.acquire_release;
  if (bypasses) flags |= kBypassL1;
  return flags;
}

unsigned multiply_adds(const MatrixShape& m) {
  return m.a == MatrixType::None ? 0
                                 : multiply_adds_of(m.a, m.quads ? 8U * 8 * 4 * 4 : m.rows * 8U * m.depth);
}

unsigned control_flags(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Bar: return inst.bar == BarMode::Arrive ? kBarrier | kArrive : kBarrier;
    // A fence for the block alone costs nothing: the warps of a block see each other's accesses in issue
    // order.
    case Opcode::Membar: return inst.shift == 0 ? 0U : unsigned{kFence};
    case Opcode::CpAsyncCommit: return kAsync;
    case Opcode::CpAsyncWait: return kAsync | kFence;
    case Opcode::Bra:
    case Opcode::BrxIdx:
    case Opcode::Call:
    case Opcode::Ret: return kBranch;
    case Opcode::Exit:
    case Opcode::Trap: return kExit;
    default: return 0;
  }
}

/// The scoreboard slots of a register. Physical registers keep their numbers, virtual numbers are folded into
/// the range.
struct Slots {
  std::array<std::uint16_t, 2> slot{};
  unsigned count = 0;
};

Slots slots_of(const Operand& operand) {
  constexpr std::uint32_t kRegisters = 255;
  constexpr std::uint32_t kPredicates = kScoreboardSlots - kPredicateSlot;
  switch (operand.kind) {
    case Operand::Kind::Reg32: return {{static_cast<std::uint16_t>(operand.reg % kRegisters), 0}, 1};
    case Operand::Kind::Reg64:
      return {{static_cast<std::uint16_t>(operand.reg % kRegisters),
               static_cast<std::uint16_t>((operand.reg + 1) % kRegisters)},
              2};
    case Operand::Kind::Pred:
      return {{static_cast<std::uint16_t>(kPredicateSlot + operand.reg % kPredicates), 0}, 1};
    default: return {};
  }
}

/// Fills the slot list: first written registers, then registers that are read and not also written.
class SlotList {
 public:
  explicit SlotList(StaticInst& inst) : inst_(inst) {}

  void write(const Operand& operand) {
    const Slots slots = slots_of(operand);
    for (unsigned i = 0; i < slots.count; ++i) {
      if (!has(slots.slot[i])) push(slots.slot[i], inst_.num_dst);
    }
  }
  void read(const Operand& operand) {
    const Slots slots = slots_of(operand);
    for (unsigned i = 0; i < slots.count; ++i) {
      const std::uint16_t slot = slots.slot[i];
      if (slot < kPredicateSlot && !read_[slot]) {
        read_[slot] = true;
        ++inst_.num_operands;
      }
      if (!has(slot)) push(slot, inst_.num_src);
    }
  }

 private:
  [[nodiscard]] bool has(std::uint16_t slot) const {
    const auto end = inst_.slot.begin() + inst_.num_dst + inst_.num_src;
    return std::find(inst_.slot.begin(), end, slot) != end;
  }
  void push(std::uint16_t slot, std::uint8_t& count) {
    const std::size_t index = inst_.num_dst + inst_.num_src;
    GPUMUX_CHECK(index < inst_.slot.size());
    inst_.slot[index] = slot;
    ++count;
  }

  StaticInst& inst_;
  std::array<bool, kPredicateSlot> read_{};
};

}  // namespace

const char* name(Unit unit) {
  switch (unit) {
    case Unit::Sp: return "sp";
    case Unit::Int: return "int";
    case Unit::Dp: return "dp";
    case Unit::Sfu: return "sfu";
    case Unit::Tensor: return "tensor";
    case Unit::Memory: return "memory";
    case Unit::Control: return "control";
    case Unit::Uniform: return "uniform";
  }
  return "?";
}

const char* name(LatencyClass latency_class) {
  constexpr std::array<const char*, kLatencyClasses> kNames = {
      "int_add", "int_max", "int_mul", "int_mad", "int_div", "fp_add", "fp_max",
      "fp_mul",  "fp_mad",  "fp_div",  "dp_add",  "dp_max",  "dp_mul", "dp_mad",
      "dp_div",  "sfu",     "tensor",  "control", "memory",  "uniform"};
  return kNames[static_cast<std::size_t>(latency_class)];
}

std::uint32_t multiply_adds_of(MatrixType type, std::uint32_t products) {
  switch (type) {
    case MatrixType::None:
    case MatrixType::F16:
    case MatrixType::BF16: return products;
    case MatrixType::TF32: return products * 2;
    case MatrixType::F64: return products * 16;
    case MatrixType::S8:
    case MatrixType::U8:
    case MatrixType::E4M3:
    case MatrixType::E5M2: return products / 2;
    case MatrixType::S4:
    case MatrixType::U4: return products / 4;
    case MatrixType::B1: return products / 16;
  }
  return products;
}

StaticInst classify(const Instruction& inst) {
  StaticInst result;
  const Pipe pipe = pipe_of(inst);
  result.unit = pipe.unit;
  result.latency_class = pipe.row;
  result.flags = static_cast<std::uint16_t>(memory_flags(inst) | control_flags(inst));
  if (pipe.unit == Unit::Memory && inst.op != Opcode::Prefetch) {
    result.access_bytes = static_cast<std::uint8_t>(inst.vector * width_bytes(inst.type));
  }
  if (inst.op == Opcode::Bar && inst.src[0].kind == Operand::Kind::Imm) {
    result.barrier = static_cast<std::uint8_t>(inst.src[0].imm);
  }
  if (inst.op == Opcode::CpAsyncWait)
    result.barrier = static_cast<std::uint8_t>(std::min<std::int64_t>(255, inst.offset));
  if (inst.op == Opcode::Bar && inst.src[1].kind == Operand::Kind::Imm) {
    // Counts are in threads, but warps arrive as a whole.
    result.barrier_warps = static_cast<std::uint8_t>(
        std::min<std::uint64_t>(255, (inst.src[1].imm + kWarpSize - 1) / kWarpSize));
  }
  if (inst.op == Opcode::Mma) {
    const unsigned halves = inst.matrix.quads && inst.type == Type::F32 ? 2 : 1;
    result.multiply_adds = multiply_adds(inst.matrix) / halves;
    GPUMUX_CHECK(result.multiply_adds <= kMostMultiplyAdds);
  }
  SlotList slots(result);
  for (const Operand& operand : inst.dst) slots.write(operand);
  for (const Operand& operand : inst.src) slots.read(operand);
  slots.read(inst.guard);
  return result;
}

std::vector<StaticInst> make_static_table(const Function& function) {
  std::vector<StaticInst> table;
  table.reserve(function.code.size());
  for (const Instruction& inst : function.code) table.push_back(classify(inst));
  const auto leads_to = [&](std::uint32_t pc) {
    if (pc < table.size()) table[pc].flags |= kLeader;
  };
  for (const Instruction& inst : function.code) leads_to(inst.target);
  for (const std::vector<std::uint32_t>& targets : function.branch_tables)
    for (const std::uint32_t pc : targets) leads_to(pc);
  return table;
}

}  // namespace gpumux::isa
