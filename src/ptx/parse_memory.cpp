// Loads, stores, atomics, prefetches and their addresses.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::AtomicOp;
using isa::CacheOp;

Space Parser::take_space(Statement& s) {
  static constexpr std::pair<std::string_view, Space> kTable[] = {
      {"global", Space::Global},      {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},      {"param", Space::Param},
      {"param::entry", Space::Param}, {"param::func", Space::Param}};
  for (const Modifiers::Item& item : s.modifiers.items()) {
    if (item.token.text == "shared::cluster") {
      fail(item.token, "thread block clusters (.shared::cluster) are not supported");
    }
  }
  return s.modifiers.take_from(kTable, Space::Generic);
}

bool Parser::take_scope(Statement& s) {
  if (s.modifiers.take("cta")) return false;
  return s.modifiers.take("cluster") || s.modifiers.take("gpu") || s.modifiers.take("sys") ||
         s.modifiers.take("gl");
}

void Parser::take_order(Statement& s) {
  Instruction& inst = s.inst;
  if (s.modifiers.take("volatile") || s.modifiers.take("mmio")) inst.is_volatile = true;
  const bool ordered = s.modifiers.take("acquire") || s.modifiers.take("release");
  const bool relaxed = !ordered && s.modifiers.take("relaxed");
  if (!ordered && !relaxed && !inst.is_volatile) s.modifiers.take("weak");
  inst.acquire_release = ordered;
  inst.relaxed = relaxed;
  // Data that other blocks may write concurrently must not be read from the L1.
  if (take_scope(s) && relaxed && inst.cache == CacheOp::None) inst.cache = CacheOp::CG;
}

void Parser::take_cache_hints(Statement& s) {
  static constexpr std::pair<std::string_view, CacheOp> kTable[] = {
      {"ca", CacheOp::CA}, {"cg", CacheOp::CG}, {"cs", CacheOp::CS}, {"lu", CacheOp::LU},
      {"cv", CacheOp::CV}, {"wb", CacheOp::WB}, {"wt", CacheOp::WT}};
  s.inst.cache = s.modifiers.take_from(kTable, CacheOp::None);
  const bool load = s.inst.op == Opcode::Ld;
  const bool of_store = s.inst.cache == CacheOp::WB || s.inst.cache == CacheOp::WT;
  const bool of_load =
      s.inst.cache == CacheOp::CA || s.inst.cache == CacheOp::LU || s.inst.cache == CacheOp::CV;
  if ((load && of_store) || (!load && of_load)) {
    fail(s.opcode, fmt::format("the cache operator is not possible in '{}'", opcode_text(s)));
  }
  if (load && s.modifiers.take("nc")) s.inst.cache = CacheOp::NC;
  // Eviction priorities and prefetch sizes are hints, which the caches of this machine ignore.
  for (const char* hint : {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
                           "L1::no_allocate", "L2::evict_normal", "L2::evict_first", "L2::evict_last",
                           "L2::64B", "L2::128B", "L2::256B", "unified"}) {
    s.modifiers.take(hint);
  }
  take_cache_policy(s);
}

/// Handles an access beyond the end of a function's parameter, which compilers emit (LLVM for vectors of
/// bits). The access goes to a slot that is never passed.
void Parser::behind_slot(Instruction& inst, std::uint32_t slot, std::uint64_t access) {
  const auto [found, fresh] =
      behind_slots_.try_emplace(slot, static_cast<std::uint32_t>(function_->slots.size()));
  if (fresh) function_->slots.push_back({function_->slots[slot].name, 0, function_->slots[slot].align});
  inst.offset -= function_->slots[slot].bytes;
  isa::ParamSlot& behind = function_->slots[found->second];
  behind.bytes =
      std::max(behind.bytes, static_cast<std::uint32_t>(static_cast<std::uint64_t>(inst.offset) + access));
  inst.src[0] = Operand::immediate(found->second);
}

void Parser::param_address(Statement& s, const Arg& arg, const Arg& base) {
  Instruction& inst = s.inst;
  const Variable& variable = *find(base.at.text);
  const bool of_kernel = variable.kind == Variable::Kind::KernelParam;
  if (inst.space != Space::Param) {
    fail(base.at,
         fmt::format("'{}' is a parameter; '{}' does not access .param", base.at.text, opcode_text(s)));
  }
  std::uint64_t bytes = 0;
  if (of_kernel) {
    const isa::Param& param = function_->params[variable.index];
    bytes = param.bytes;
    inst.src[0] = Operand::constant(param.offset);
    if (inst.op != Opcode::Ld) fail(s.opcode, "a kernel's parameters cannot be written");
  } else {
    bytes = function_->slots[variable.index].bytes;
    inst.src[0] = Operand::immediate(variable.index);
  }
  const std::uint64_t access = std::uint64_t{inst.vector} * isa::width_bytes(inst.type);
  if (!of_kernel) {
    if (function_->slots[variable.index].open && arg.offset >= 0) return;
    constexpr std::int64_t kFarthest = 4096;
    if (arg.offset >= static_cast<std::int64_t>(bytes) && arg.offset < kFarthest)
      return behind_slot(inst, variable.index, access);
  }
  if (arg.offset < 0 || static_cast<std::uint64_t>(arg.offset) + access > bytes) {
    fail(base.at, fmt::format("access to bytes {} to {} of parameter '{}', which has {}", arg.offset,
                              arg.offset + static_cast<std::int64_t>(access) - 1, base.at.text, bytes));
  }
}

void Parser::address(Statement& s, const Arg& arg) {
  if (arg.kind != Arg::Kind::Address) fail(arg.at, "expected an address in [ ]");
  Instruction& inst = s.inst;
  inst.offset = arg.offset;
  if (arg.elements.empty()) return;  // an absolute address
  const Arg& base = arg.elements[0];
  const Variable* variable = base.kind == Arg::Kind::Name ? find(base.at.text) : nullptr;
  if (variable == nullptr || !base.component.empty())
    fail(base.at, unknown_name("register or variable", base.at));
  switch (variable->kind) {
    case Variable::Kind::Register: {
      const bool narrow = inst.space == Space::Shared || inst.space == Space::Local ||
                          inst.space == Space::Const || inst.space == Space::Param;
      // Parameters of functions whose address is taken are in local memory.
      if (inst.space == Space::Param && !function_->is_kernel) inst.space = Space::Local;
      Arg plain = base;
      plain.offset = 0;
      const Type type = narrow && isa::width_bits(variable->type) == 32 ? Type::U32 : Type::U64;
      inst.src[0] = register_operand(plain, *variable, type, false);
      return;
    }
    case Variable::Kind::Symbol: {
      using Kind = isa::Symbol::Kind;
      const Kind kind = module_.symbols[variable->index].kind;
      const Space space = kind == Kind::Global  ? Space::Global
                          : kind == Kind::Const ? Space::Const
                          : kind == Kind::Local ? Space::Local
                                                : Space::Shared;
      // Without a space, the name determines it. A global variable's generic address is its address.
      const bool by_name = inst.op == Opcode::Ld || inst.op == Opcode::St ||
                           ((inst.op == Opcode::Atom || inst.op == Opcode::Red) && space == Space::Shared);
      if (inst.space == Space::Generic && by_name && (space == Space::Shared || space == Space::Local))
        inst.space = space;
      if (inst.space != space && !(inst.space == Space::Generic && space == Space::Global)) {
        fail(base.at, fmt::format("'{}' lies in .{}, but '{}' accesses .{}", base.at.text, isa::name(space),
                                  opcode_text(s), isa::name(inst.space)));
      }
      used_symbols_.insert(variable->index);
      inst.src[0] = Operand::symbol(variable->index);
      return;
    }
    case Variable::Kind::KernelParam:
    case Variable::Kind::Slot: return param_address(s, arg, base);
    default: fail(base.at, fmt::format("'{}' has no address", base.at.text));
  }
}

std::vector<Arg> Parser::vector_elements(Statement& s, const Arg& arg) {
  if (s.inst.vector == 1 && arg.kind != Arg::Kind::Vector) return {arg};
  if (arg.kind != Arg::Kind::Vector) {
    fail(arg.at, fmt::format("'{}' moves {} values; expected them in {{ }}", opcode_text(s), s.inst.vector));
  }
  if (arg.elements.size() != s.inst.vector) {
    fail(arg.at, fmt::format("'{}' moves {} value{}, {} given", opcode_text(s), s.inst.vector,
                             s.inst.vector == 1 ? "" : "s", arg.elements.size()));
  }
  return arg.elements;
}

namespace {

constexpr TypeSet kMemoryTypes = TypeSet{Type::B8} | kBits | kInt8 | kIntegers | kSingles | kDoubles;
constexpr unsigned kMostAtOnce = 16;  // bytes per access of a thread
constexpr std::pair<std::string_view, int> kVectors[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}};

}  // namespace

bool Parser::is_wide_vector(const Instruction& inst) {
  return inst.vector * isa::width_bytes(inst.type) > kMostAtOnce;
}

void Parser::check_vector(const Statement& s, int vector) {
  const Instruction& inst = s.inst;
  const unsigned bits = static_cast<unsigned>(vector) * isa::width_bits(inst.type);
  const bool eight = vector == 8 && isa::width_bits(inst.type) != 32;
  if (bits <= 128 && !eight) return;
  if (bits != 256 || eight)
    fail(s.opcode, fmt::format("'{}' moves a vector that does not exist", opcode_text(s)));
  if (inst.space != Space::Global)
    fail(s.opcode, fmt::format("'{}': vectors of 256 bits go with .global", opcode_text(s)));
}

void Parser::take_memory_type(Statement& s) {
  Instruction& inst = s.inst;
  if (s.modifiers.take("b128")) {  // a 128-bit register is two of 64 bits
    inst.type = Type::B64;
    inst.vector = 2;
    return;
  }
  const int vector = s.modifiers.take_from(kVectors, 1);
  inst.type = want_type(s, kMemoryTypes);
  check_vector(s, vector);
  inst.vector = static_cast<std::uint8_t>(vector);
}

/// A 256-bit load is split into two halves. The half that overwrites the address is loaded last.
void Parser::load_wide(Statement& s) {
  const std::vector<Arg> results = vector_elements(s, s.args[0]);
  const std::size_t half = results.size() / 2;
  Instruction parts[2] = {s.inst, s.inst};
  bool replaces_address = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Operand result = destination(results[i], s.inst.type, true);
    parts[i / half].dst[i % half] = result;
    replaces_address = replaces_address || (i < half && result && result == s.inst.src[0]);
  }
  for (Instruction& part : parts) part.vector = static_cast<std::uint8_t>(half);
  parts[1].offset += kMostAtOnce;
  emit(parts[replaces_address ? 1 : 0]);
  emit(parts[replaces_address ? 0 : 1]);
}

void Parser::op_ld(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Ld;
  inst.space = take_space(s);
  take_cache_hints(s);
  if (s.opcode.text == "ldu") inst.cache = CacheOp::NC;
  take_order(s);
  take_memory_type(s);
  finish_modifiers(s);
  want_args(s, 2, 2);
  address(s, s.args[1]);
  if (is_wide_vector(inst)) return load_wide(s);
  const std::vector<Arg> results = vector_elements(s, s.args[0]);
  for (std::size_t i = 0; i < results.size(); ++i) inst.dst[i] = destination(results[i], inst.type, true);
  emit(inst);
}

void Parser::op_st(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::St;
  inst.space = take_space(s);
  if (inst.space == Space::Const) fail(s.opcode, "constant memory cannot be written");
  take_cache_hints(s);
  take_order(s);
  take_memory_type(s);
  finish_modifiers(s);
  want_args(s, 2, 2);
  address(s, s.args[0]);
  const std::vector<Arg> values = vector_elements(s, s.args[1]);
  // A 256-bit store is split into two halves, since emulator and machine access at most 128 bits.
  const std::size_t at_once = is_wide_vector(inst) ? values.size() / 2 : values.size();
  inst.vector = static_cast<std::uint8_t>(at_once);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind == Arg::Kind::Sink) fail(values[i].at, "a value that is stored is not '_'");
    inst.src[i % at_once + 1] = source(values[i], inst.type, true);
    if ((i + 1) % at_once != 0) continue;
    emit(inst);
    inst.offset += kMostAtOnce;
  }
}

void Parser::op_atom(Statement& s) {
  static constexpr std::pair<std::string_view, AtomicOp> kOps[] = {
      {"add", AtomicOp::Add}, {"min", AtomicOp::Min},   {"max", AtomicOp::Max}, {"inc", AtomicOp::Inc},
      {"dec", AtomicOp::Dec}, {"exch", AtomicOp::Exch}, {"cas", AtomicOp::Cas}, {"and", AtomicOp::And},
      {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor}};
  Instruction& inst = s.inst;
  const bool reduction = s.opcode.text == "red";
  inst.op = reduction ? Opcode::Red : Opcode::Atom;
  inst.space = take_space(s);
  if (inst.space != Space::Generic && inst.space != Space::Global && inst.space != Space::Shared) {
    fail(s.opcode,
         fmt::format("'{}': atomics work on .global, .shared and generic addresses", opcode_text(s)));
  }
  inst.atomic = s.modifiers.take_from(kOps, AtomicOp::None);
  if (inst.atomic == AtomicOp::None) {
    fail(s.opcode, fmt::format("'{}' needs .add, .min, .max, .inc, .dec, .exch, .cas, .and, .or or .xor",
                               opcode_text(s)));
  }
  if (reduction && (inst.atomic == AtomicOp::Exch || inst.atomic == AtomicOp::Cas)) {
    fail(s.opcode, fmt::format("'{}': red has no .exch and no .cas", opcode_text(s)));
  }
  inst.acquire_release =
      s.modifiers.take("acquire") || s.modifiers.take("release") || s.modifiers.take("acq_rel");
  if (!inst.acquire_release) s.modifiers.take("relaxed");
  take_scope(s);
  s.modifiers.take("noftz");
  take_cache_policy(s);
  constexpr TypeSet kWordsAndLongs{Type::U32, Type::S32, Type::U64, Type::S64};
  TypeSet types{Type::B32, Type::B64};
  switch (inst.atomic) {
    case AtomicOp::Add: types = TypeSet{Type::U32, Type::S32, Type::U64, Type::S64} | kFloats; break;
    case AtomicOp::Min:
    case AtomicOp::Max: types = kWordsAndLongs | kHalves; break;
    case AtomicOp::Inc:
    case AtomicOp::Dec: types = {Type::U32}; break;
    case AtomicOp::Cas:
      types = {Type::B16, Type::B32, Type::B64, Type::U32, Type::S32, Type::U64, Type::S64};
      break;
    case AtomicOp::Exch: types = {Type::B32, Type::B64, Type::U32, Type::S32, Type::U64, Type::S64}; break;
    default: types = {Type::B32, Type::B64, Type::U32, Type::S32, Type::U64, Type::S64}; break;
  }
  const int vector = s.modifiers.take_from(kVectors, 1);
  inst.type = want_type(s, vector == 1 ? types : kHalves | kSingles);
  finish_modifiers(s);
  if (vector != 1) return atom_vector(s, static_cast<unsigned>(vector));
  const std::size_t values = inst.atomic == AtomicOp::Cas ? 2 : 1;
  const std::size_t first = reduction ? 0 : 1;
  want_args(s, first + 1 + values, first + 1 + values);
  if (!reduction) inst.dst[0] = destination(s.args[0], inst.type);
  address(s, s.args[first]);
  for (std::size_t i = 0; i < values; ++i) inst.src[1 + i] = source(s.args[first + 1 + i], inst.type);
  emit(inst);
}

void Parser::atom_vector(Statement& s, unsigned elements) {
  // Each element is a separate atomic operation, so one operation per element is equivalent.
  Instruction& inst = s.inst;
  if (inst.space == Space::Shared || inst.atomic == AtomicOp::Cas || inst.atomic == AtomicOp::Exch) {
    fail(s.opcode, fmt::format("'{}': vectors go with .global and .add, .min or .max", opcode_text(s)));
  }
  const bool reduction = inst.op == Opcode::Red;
  const std::size_t first = reduction ? 0 : 1;
  want_args(s, first + 2, first + 2);
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const Arg& arg = s.args[i];
    if (i != first && (arg.kind != Arg::Kind::Vector || arg.elements.size() != elements)) {
      fail(arg.at, fmt::format("'{}' takes {} values in {{ }}", opcode_text(s), elements));
    }
  }
  address(s, s.args[first]);
  std::vector<Instruction> moves;
  for (unsigned i = 0; i < elements; ++i) {
    Instruction one = inst;
    one.offset += i * isa::width_bytes(inst.type);
    one.src[1] = source(s.args[first + 1].elements[i], inst.type);
    if (!reduction) {
      // All results are written after all values have been read.
      const Operand result = destination(s.args[0].elements[i], inst.type);
      if (result) {
        Instruction move;
        move.op = Opcode::Mov;
        move.type = inst.type;
        move.guard = inst.guard;
        move.line = inst.line;
        move.column = inst.column;
        move.dst[0] = result;
        move.src[0] = one.dst[0] = Operand::reg32(new_register(Type::B32));
        moves.push_back(move);
      }
    }
    emit(one);
  }
  for (const Instruction& move : moves) emit(move);
}

void Parser::op_prefetch(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Prefetch;
  inst.space = take_space(s);
  const bool allowed =
      inst.space == Space::Generic || inst.space == Space::Global || inst.space == Space::Local;
  const bool level1 = s.modifiers.take("L1");
  const bool level2 = !level1 && (s.modifiers.take("L2") || s.modifiers.take("L2::evict_last") ||
                                  s.modifiers.take("L2::evict_normal"));
  if (!allowed || (!level1 && !level2)) {
    fail(s.opcode, fmt::format("'{}': prefetch takes .global or .local and .L1 or .L2", opcode_text(s)));
  }
  inst.cache = level1 ? CacheOp::CA : CacheOp::CG;
  finish_modifiers(s);
  want_args(s, 1, 1);
  address(s, s.args[0]);
  emit(inst);
}

// Hints for lines that are no longer needed. Caches here have no priorities, and a discarded line may keep
// its content.
void Parser::op_line_hint(Statement& s) {
  const bool priority = s.opcode.text == "applypriority";
  Instruction& inst = s.inst;
  const Space space = take_space(s);
  if ((space != Space::Generic && space != Space::Global) ||
      !s.modifiers.take(priority ? "L2::evict_normal" : "L2")) {
    fail(s.opcode, fmt::format("'{}': {} takes .global and {}", opcode_text(s), s.opcode.text,
                               priority ? ".L2::evict_normal" : ".L2"));
  }
  finish_modifiers(s);
  want_args(s, 2, 2);
  address(s, s.args[0]);
  if (s.args[1].kind != Arg::Kind::Number || s.args[1].at.bits != 128)
    fail(s.args[1].at, fmt::format("{} takes 128 bytes", s.opcode.text));
  inst.src[0] = {};
  inst.offset = 0;
  inst.op = Opcode::Nop;
  emit(inst);
}

}  // namespace gpumux::ptx
