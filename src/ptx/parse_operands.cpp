// Operands: first their syntax, then their meaning for the type that an instruction needs.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {

Type type_of(std::string_view modifier) {
  static const std::map<std::string_view, Type> kTypes = {
      {"pred", Type::Pred},     {"b8", Type::B8},   {"b16", Type::B16},     {"b32", Type::B32},
      {"b64", Type::B64},       {"u8", Type::U8},   {"u16", Type::U16},     {"u32", Type::U32},
      {"u64", Type::U64},       {"s8", Type::S8},   {"s16", Type::S16},     {"s32", Type::S32},
      {"s64", Type::S64},       {"f16", Type::F16}, {"f16x2", Type::F16x2}, {"bf16", Type::BF16},
      {"bf16x2", Type::BF16x2}, {"f32", Type::F32}, {"f64", Type::F64}};
  const auto found = kTypes.find(modifier);
  return found == kTypes.end() ? Type::None : found->second;
}

namespace {

constexpr unsigned kMultiplicative = 10;  // level of '*' and '/' in constant expressions

bool is_bits(Type type) { return type >= Type::B8 && type <= Type::B64; }

/// Number 0 to 3 of a component: x, y, z, w or r, g, b, a.
std::optional<unsigned> component_number(std::string_view name) {
  const std::size_t at = std::string_view("xyzwrgba").find(name);
  if (name.size() != 1 || at == std::string_view::npos) return {};
  return static_cast<unsigned>(at % 4);
}

}  // namespace

bool same_kind(Type register_type, Type wanted) {
  if (register_type == Type::Pred || wanted == Type::Pred) return register_type == wanted;
  if (isa::width_bits(register_type) != isa::width_bits(wanted)) return false;
  return is_bits(register_type) || is_bits(wanted) || isa::is_float(register_type) == isa::is_float(wanted);
}

bool wide_enough(Type register_type, Type wanted) {
  if (same_kind(register_type, wanted)) return true;
  if (register_type == Type::Pred || wanted == Type::Pred) return false;
  if (isa::width_bits(register_type) <= isa::width_bits(wanted)) return false;
  return is_bits(register_type) || (!isa::is_float(wanted) && !isa::is_float(register_type));
}

bool Modifiers::take(std::string_view text) {
  for (Item& item : items_) {
    if (!item.used && item.token.text == text) {
      item.used = true;
      return true;
    }
  }
  return false;
}

Type Modifiers::take_type() {
  for (Item& item : items_) {
    if (item.used) continue;
    const Type type = type_of(item.token.text);
    if (type == Type::None) continue;
    item.used = true;
    return type;
  }
  return Type::None;
}

std::vector<Arg> Parser::parse_args() {
  std::vector<Arg> args;
  if (peek().is(';')) return args;
  do {
    args.push_back(parse_arg());
  } while (accept(','));
  return args;
}

std::int64_t Parser::parse_offset() {
  std::int64_t offset = 0;
  while (peek().is('+') || peek().is('-')) {
    bool minus = next().is('-');
    if (accept('-')) minus = !minus;  // nvcc writes [%rd1+-4]
    const Token at = peek();
    if (begins_expression()) {
      const Token sum = parse_expression(kMultiplicative);
      if (sum.kind != Token::Kind::Integer) fail(at, "an offset is an integer");
      offset += minus ? -static_cast<std::int64_t>(sum.bits) : static_cast<std::int64_t>(sum.bits);
      continue;
    }
    const std::uint64_t value = expect_integer("an offset");
    if (value > std::uint64_t{1} << 62U) fail(at, "offset that does not fit");
    offset += minus ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }
  return offset;
}

Arg Parser::parse_simple_arg() {
  Arg arg;
  arg.at = peek();
  if (begins_expression()) {
    arg.kind = Arg::Kind::Number;
    arg.at = parse_expression();
    return arg;
  }
  arg.negated = accept('!');
  arg.minus = accept('-');
  if (!arg.minus && peek().is('+')) next();
  const Token token = next();
  switch (token.kind) {
    case Token::Kind::Name:
      if (arg.minus && !negates_names_) fail(token, "'-' goes with a number");
      arg.kind = token.text == "_" ? Arg::Kind::Sink : Arg::Kind::Name;
      arg.at = token;
      if (peek().kind == Token::Kind::Dot) arg.component = next().text;
      arg.offset = parse_offset();
      return arg;
    case Token::Kind::Integer:
    case Token::Kind::Float32:
    case Token::Kind::Float64:
      arg.kind = Arg::Kind::Number;
      arg.at = token;
      return arg;
    case Token::Kind::End: fail(token, "the file ends inside an instruction");
    default: fail(token, fmt::format("expected an operand, found '{}'", token.text));
  }
}

Arg Parser::parse_arg() {
  Arg arg;
  arg.at = peek();
  if (accept('{')) {
    arg.kind = Arg::Kind::Vector;
    do {
      arg.elements.push_back(parse_simple_arg());
    } while (accept(','));
    expect('}', "the elements of a vector");
    return arg;
  }
  if (accept('[')) {
    arg.kind = Arg::Kind::Address;
    Arg base = parse_simple_arg();
    if (base.negated) fail(base.at, "'!' goes with a predicate");
    if (base.kind == Arg::Kind::Number) {
      if (base.at.kind != Token::Kind::Integer) fail(base.at, "an address is an integer");
      const auto value = static_cast<std::int64_t>(base.at.bits);
      arg.offset = (base.minus ? -value : value) + parse_offset();
    } else {
      arg.offset = base.offset;
      arg.elements.push_back(std::move(base));
    }
    expect(']', "the address");
    return arg;
  }
  arg = parse_simple_arg();
  if (accept('|')) arg.pair.push_back(parse_simple_arg());
  if (!has_vectors_ || arg.kind != Arg::Kind::Name || !arg.component.empty()) return arg;
  const Variable* variable = find(arg.at.text);
  if (variable == nullptr || variable->kind != Variable::Kind::Vector) return arg;
  if (arg.negated || arg.offset != 0)
    fail(arg.at, fmt::format("'{0}' is a vector; its elements are {0}.x, {0}.y", arg.at.text));
  Arg vector;
  vector.kind = Arg::Kind::Vector;
  vector.at = arg.at;
  vector.elements = components(arg, variable->elements);
  vector.pair = std::move(arg.pair);
  return vector;
}

std::vector<Arg> Parser::components(const Arg& arg, std::size_t count) const {
  static constexpr std::array<std::string_view, 4> kNames{"x", "y", "z", "w"};
  std::vector<Arg> elements(count, arg);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i].component = kNames[i];
    elements[i].pair.clear();
  }
  return elements;
}

std::optional<Variable> Parser::register_of(const Arg& arg) {
  const Variable* variable = find(arg.at.text);
  if (variable == nullptr) return {};
  if (variable->kind == Variable::Kind::Register && arg.component.empty()) return *variable;
  if (variable->kind != Variable::Kind::Vector) return {};
  const std::optional<unsigned> number = component_number(arg.component);
  if (!number || *number >= variable->elements)
    fail(arg.at, fmt::format("'{}' is a vector of {} registers; {}", arg.at.text, variable->elements,
                             arg.component.empty() ? fmt::format("one of them is '{}.x'", arg.at.text)
                                                   : fmt::format("it has no '.{}'", arg.component)));
  return Variable{Variable::Kind::Register, variable->type, variable->index + *number};
}

void Parser::want_args(const Statement& s, std::size_t least, std::size_t most) {
  if (s.args.size() >= least && s.args.size() <= most) return;
  const std::string wanted = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  fail(s.opcode, fmt::format("'{}' takes {} operand{}, {} given", opcode_text(s), wanted,
                             least == most && least == 1 ? "" : "s", s.args.size()));
}

void Parser::no_pair(const Arg& arg) const {
  if (!arg.pair.empty()) fail(arg.at, "a pair (a|b) is not possible here");
}

Operand Parser::register_operand(const Arg& arg, const Variable& variable, Type type, bool wider) {
  const bool fits = wider ? wide_enough(variable.type, type) : same_kind(variable.type, type);
  if (!fits) {
    fail(arg.at, fmt::format("register '{}' is .{}, but .{}{} is wanted here", arg.at.text,
                             isa::name(variable.type), isa::name(type), wider ? " or wider" : ""));
  }
  if (arg.offset != 0) return plus_number(arg, variable, type);
  if (arg.negated && type != Type::Pred) fail(arg.at, "'!' goes with a predicate");
  if (type == Type::Pred) return Operand::pred(variable.index, arg.negated);
  return isa::width_bits(variable.type) == 64 ? Operand::reg64(variable.index)
                                              : Operand::reg32(variable.index);
}

Operand Parser::plus_number(const Arg& arg, const Variable& variable, Type type) {
  if (arg.negated || type == Type::Pred || isa::is_float(variable.type) || isa::width_bits(type) < 16)
    fail(arg.at, "a number is added to a register of integers");
  Instruction add;
  add.op = Opcode::Add;
  const unsigned width = isa::width_bits(variable.type);
  add.type = width == 64 ? Type::U64 : width == 32 ? Type::U32 : Type::U16;
  add.dst[0] =
      width == 64 ? Operand::reg64(new_register(Type::B64)) : Operand::reg32(new_register(Type::B32));
  add.src[0] = width == 64 ? Operand::reg64(variable.index) : Operand::reg32(variable.index);
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  add.src[1] = Operand::immediate(static_cast<std::uint64_t>(arg.offset) & mask);
  add.line = arg.at.line;
  add.column = arg.at.column;
  emit(add);
  return add.dst[0];
}

Operand Parser::destination(const Arg& arg, Type type, bool wider) {
  no_pair(arg);
  if (arg.kind == Arg::Kind::Sink) return {};
  if (arg.kind != Arg::Kind::Name) fail(arg.at, "a result goes to a register");
  const std::optional<Variable> variable = register_of(arg);
  if (!variable) {
    const Variable* other = find(arg.at.text);
    if (other == nullptr || !arg.component.empty()) fail(arg.at, unknown_name("register", arg.at));
    fail(arg.at, fmt::format("'{}' is not a register; a result goes to one", arg.at.text));
  }
  if (arg.negated) fail(arg.at, "'!' goes with a predicate that is read");
  if (arg.offset != 0) fail(arg.at, "a result goes to a register, without a number added");
  return register_operand(arg, *variable, type, wider);
}

Operand Parser::immediate(const Arg& arg, Type type) {
  const unsigned width = isa::width_bits(type);
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const bool real = arg.at.kind != Token::Kind::Integer;
  std::uint64_t bits = arg.at.bits;
  if (arg.negated) {
    if (real || arg.minus) fail(arg.at, "'!' goes with a predicate");
    bits = bits == 0 ? 1 : 0;
  }
  if (type == Type::Pred) {
    if (real) fail(arg.at, "a predicate is 0 or 1");
    return Operand::immediate(bits != 0 ? 1 : 0);  // nvcc writes -1 for true
  }
  if (!real) {
    if (type == Type::F32 || type == Type::F64) {
      fail(arg.at, fmt::format("expected a float for .{}, such as 0f3F800000 or 1.0", isa::name(type)));
    }
    return Operand::immediate((arg.minus ? 0 - bits : bits) & mask);
  }
  if (isa::is_signed(type) || width < 32 ||
      (type != Type::F32 && type != Type::F64 && type != Type::B32 && type != Type::B64)) {
    fail(arg.at, fmt::format("expected an integer for .{}", isa::name(type)));
  }
  if (arg.at.kind == Token::Kind::Float64 && width == 32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  } else if (arg.at.kind == Token::Kind::Float32 && width == 64) {
    bits = std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
  if (arg.minus) bits ^= std::uint64_t{1} << (width - 1);
  return Operand::immediate(bits);
}

Operand Parser::source(const Arg& arg, Type type, bool wider) {
  no_pair(arg);
  if (arg.kind == Arg::Kind::Number) return immediate(arg, type);
  if (arg.kind != Arg::Kind::Name) fail(arg.at, "expected a register or a number");
  if (arg.at.text == "WARP_SZ" && !arg.negated) return Operand::immediate(kWarpSize);
  const std::optional<Variable> variable = register_of(arg);
  if (!variable) {
    const Variable* other = find(arg.at.text);
    if (other == nullptr && arg.at.text[0] == '%' && !arg.negated) return special_register(arg, type);
    if (other == nullptr || !arg.component.empty()) fail(arg.at, unknown_name("register", arg.at));
    fail(arg.at, fmt::format("'{}' is not a register; mov reads its address into one", arg.at.text));
  }
  return register_operand(arg, *variable, type, wider);
}

Operand Parser::predicate(const Arg& arg) { return source(arg, Type::Pred); }

namespace {

struct SpecialName {
  std::string_view name;
  isa::Special special;
  unsigned bits;
};

using isa::Special;
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::TidX, 32},
    {"%tid.y", Special::TidY, 32},
    {"%tid.z", Special::TidZ, 32},
    {"%ntid.x", Special::NtidX, 32},
    {"%ntid.y", Special::NtidY, 32},
    {"%ntid.z", Special::NtidZ, 32},
    {"%ctaid.x", Special::CtaidX, 32},
    {"%ctaid.y", Special::CtaidY, 32},
    {"%ctaid.z", Special::CtaidZ, 32},
    {"%nctaid.x", Special::NctaidX, 32},
    {"%nctaid.y", Special::NctaidY, 32},
    {"%nctaid.z", Special::NctaidZ, 32},
    {"%laneid", Special::LaneId, 32},
    {"%warpid", Special::WarpId, 32},
    {"%nwarpid", Special::NwarpId, 32},
    {"%smid", Special::SmId, 32},
    {"%nsmid", Special::NsmId, 32},
    {"%gridid", Special::GridId, 64},
    {"%lanemask_eq", Special::LanemaskEq, 32},
    {"%lanemask_le", Special::LanemaskLe, 32},
    {"%lanemask_lt", Special::LanemaskLt, 32},
    {"%lanemask_ge", Special::LanemaskGe, 32},
    {"%lanemask_gt", Special::LanemaskGt, 32},
    {"%clock", Special::Clock, 32},
    {"%clock_hi", Special::ClockHi, 32},
    {"%clock64", Special::Clock64, 64},
    {"%globaltimer", Special::GlobalTimer, 64},
    {"%globaltimer_lo", Special::GlobalTimerLo, 32},
    {"%globaltimer_hi", Special::GlobalTimerHi, 32},
    {"%dynamic_smem_size", Special::DynamicSmemSize, 32},
    {"%total_smem_size", Special::TotalSmemSize, 32},
    {"%envreg1", Special::EnvReg1, 32},
    {"%envreg2", Special::EnvReg2, 32},
};

/// True for special registers that always read as 0: the unused fourth elements of %tid and similar, %envreg0
/// to 31 except those of cooperative launches, and performance counters.
bool is_unset(std::string_view name, Type type) {
  const bool whole = !isa::is_float(type) && type != Type::Pred;
  const unsigned width = isa::width_bits(type);
  if (name == "%tid.w" || name == "%ntid.w" || name == "%ctaid.w" || name == "%nctaid.w")
    return whole && (width == 32 || width == 16);
  const auto numbered = [&](std::string_view prefix, std::string_view suffix, std::uint64_t count) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
    name.remove_prefix(prefix.size());
    name.remove_suffix(std::min(name.size(), suffix.size()));
    const auto number = parse_uint(name);
    return number && *number < count;
  };
  if (width == 64) return whole && numbered("%pm", "_64", 8);
  return whole && width == 32 && (numbered("%envreg", "", 32) || numbered("%pm", "", 8));
}

}  // namespace

Operand Parser::special_register(const Arg& arg, Type type) {
  std::string full(arg.at.text);
  if (const std::optional<unsigned> number = component_number(arg.component)) {
    full += fmt::format(".{}", "xyzw"[*number]);
  } else if (!arg.component.empty()) {
    full += fmt::format(".{}", arg.component);
  }
  if (arg.offset != 0) fail(arg.at, fmt::format("a number is not added to special register '{}'", full));
  for (const SpecialName& entry : kSpecials) {
    if (entry.name != full) continue;
    const unsigned width = isa::width_bits(type);
    const bool grid_id = entry.special == Special::GridId && width == 32;  // 32 bits before PTX 3.0
    const bool of_shape = entry.special >= Special::TidX && entry.special <= Special::NctaidZ;
    if (of_shape && width == 16 && !isa::is_float(type))
      return low_half(arg, Operand::special(entry.special));
    if (isa::is_float(type) || (width != entry.bits && !grid_id)) {
      fail(arg.at, fmt::format("special register '{}' has {} bits, but .{} is wanted here", full, entry.bits,
                               isa::name(type)));
    }
    return Operand::special(entry.special);
  }
  if (is_unset(full, type)) return Operand::immediate(0);
  if (full.starts_with("%reserved_smem_offset_")) return reserved_shared(arg, full, type);
  struct Feature {
    std::string_view prefix;
    std::string_view name;
  };
  static constexpr Feature kFeatures[] = {
      {"%cluster", "thread block clusters"},
      {"%nclusterid", "thread block clusters"},
      {"%is_explicit_cluster", "thread block clusters"},
      {"%aggr_smem_size", "the aggregate size of shared memory"},
      {"%current_graph_exec", "launching graphs from the device"},
  };
  for (const Feature& feature : kFeatures) {
    if (!full.starts_with(feature.prefix)) continue;
    fail(arg.at, fmt::format("'{}': {} {} not supported", full, feature.name,
                             feature.name.ends_with('s') ? "are" : "is"));
  }
  std::vector<std::string> known;
  for (const SpecialName& entry : kSpecials) known.emplace_back(entry.name);
  const std::string nearest = nearest_choice(full, known);
  if (!nearest.empty() && arg.component.empty() == (nearest.find('.') == std::string::npos)) {
    const std::string other = unknown_name("register", arg.at);
    if (other.find(';') == std::string::npos) {
      fail(arg.at, fmt::format("unknown register '{}'; did you mean '{}'?", full, nearest));
    }
    fail(arg.at, other);
  }
  fail(arg.at, unknown_name("register", arg.at));
}

/// %tid and similar once had 16 bits and may still be read so.
Operand Parser::low_half(const Arg& arg, const Operand& whole) {
  Instruction half;
  half.op = Opcode::Cvt;
  half.type = Type::U16;
  half.type2 = Type::U32;
  half.dst[0] = Operand::reg32(new_register(Type::B32));
  half.src[0] = whole;
  half.line = arg.at.line;
  half.column = arg.at.column;
  emit(half);
  return half.dst[0];
}

Operand Parser::reserved_shared(const Arg& arg, const std::string& name, Type type) {
  // From sm_80 on, the first KiB of a block's shared memory is reserved for CUDA's libraries, such as the
  // barriers of cooperative groups. Here it is a variable of the kernels that use it.
  constexpr std::uint32_t kReservedBytes = 1024;
  const std::string_view which =
      std::string_view(name).substr(std::string_view("%reserved_smem_offset_").size());
  if (isa::width_bits(type) != 32 || isa::is_float(type) ||
      (which != "begin" && which != "end" && which != "cap" && which != "1")) {
    fail(arg.at, fmt::format("special register '{}' is not supported as .{}", name, isa::name(type)));
  }
  static constexpr std::string_view kName = "%reserved_smem";
  const auto [found, fresh] = globals_.try_emplace(
      kName, Variable{Variable::Kind::Symbol, Type::B8, static_cast<std::uint32_t>(module_.symbols.size())});
  if (fresh) {
    isa::Symbol symbol;
    symbol.kind = isa::Symbol::Kind::Shared;
    symbol.name = kName;
    symbol.bytes = kReservedBytes;
    symbol.align = 128;
    module_.symbols.push_back(std::move(symbol));
  }
  const bool at_end = which == "end" || which == "cap";
  return Operand::symbol(found->second.index, at_end ? kReservedBytes : 0);
}

/// The address of a function's parameter, in local memory.
Operand Parser::slot_address(const Arg& arg, const Variable& variable, unsigned width) {
  const bool wide = width == 64;
  Instruction move;
  move.op = Opcode::Mov;
  move.type = wide ? Type::U64 : Type::U32;
  move.space = Space::Param;
  move.dst[0] = wide ? Operand::reg64(new_register(Type::B64)) : Operand::reg32(new_register(Type::B32));
  move.src[0] = Operand::immediate(variable.index);
  move.line = arg.at.line;
  move.column = arg.at.column;
  emit(move);
  if (arg.offset == 0) return move.dst[0];
  return plus_number(arg, {Variable::Kind::Register, move.type, move.dst[0].reg}, move.type);
}

/// The value of a .texref or .surfref: the object that the host has bound to it.
Operand Parser::reference_object(const Arg& arg, const Variable& variable, unsigned width) {
  if (width != 64 || arg.offset != 0)
    fail(arg.at, fmt::format("'{}' is a texture or surface, whose object has 64 bits", arg.at.text));
  used_symbols_.insert(variable.index);
  Instruction load;
  load.op = Opcode::Ld;
  load.type = Type::U64;
  load.space = Space::Global;
  load.dst[0] = Operand::reg64(new_register(Type::B64));
  load.src[0] = Operand::symbol(variable.index);
  load.line = arg.at.line;
  load.column = arg.at.column;
  emit(load);
  return load.dst[0];
}

Operand Parser::mov_source(const Arg& arg, Type type) {
  if (arg.kind != Arg::Kind::Name || arg.negated) return source(arg, type);
  const Variable* variable = find(arg.at.text);
  if (variable == nullptr || variable->kind == Variable::Kind::Register ||
      variable->kind == Variable::Kind::Vector)
    return source(arg, type);
  const unsigned width = isa::width_bits(type);
  if (isa::is_float(type) || (width != 64 && width != 32)) {
    fail(arg.at, fmt::format("the address of '{}' does not fit .{}", arg.at.text, isa::name(type)));
  }
  const auto offset = static_cast<std::uint64_t>(arg.offset);
  switch (variable->kind) {
    case Variable::Kind::Symbol: {
      const isa::Symbol::Kind kind = module_.symbols[variable->index].kind;
      if (module_.symbols[variable->index].texture) {
        return reference_object(arg, *variable, width);
      }
      if (width == 32 && (kind == isa::Symbol::Kind::Global || kind == isa::Symbol::Kind::Function)) {
        fail(arg.at, fmt::format("the address of '{}' has 64 bits, but .{} is wanted here", arg.at.text,
                                 isa::name(type)));
      }
      used_symbols_.insert(variable->index);
      return Operand::symbol(variable->index, offset);
    }
    case Variable::Kind::Function: return Operand::symbol(function_symbol(arg.at), offset);
    case Variable::Kind::KernelParam:
      // An address in the parameter space is an offset in the constant bank.
      return Operand::immediate(function_->params[variable->index].offset + offset);
    case Variable::Kind::Slot: return slot_address(arg, *variable, width);
    default: fail(arg.at, fmt::format("'{}' has no address", arg.at.text));
  }
}

}  // namespace gpumux::ptx
