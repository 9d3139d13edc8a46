// Variables with their initial values, registers and parameters.
#include <algorithm>
#include <bit>
#include <limits>

#include "base/round_up.hpp"
#include "base/text.hpp"
#include "ptx/limits.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {
namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 40U;
constexpr std::uint64_t kMaxParamBytes = 32764;  // of a kernel, from PTX 8.1 on
constexpr unsigned kMaxNesting = 16;

void append_bytes(std::string& bytes, std::uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xffU);
}

}  // namespace

std::uint32_t Parser::parse_align() {
  if (!accept_dot("align")) return 0;
  const Token at = peek();
  const std::uint64_t align = expect_integer("a power of two after .align");
  if (align == 0 || align > 65536 || !std::has_single_bit(align)) {
    fail(at, fmt::format("alignment {} is not a power of two up to 65536", align));
  }
  return static_cast<std::uint32_t>(align);
}

ValueShape Parser::parse_variable_type() {
  ValueShape shape;
  if (accept_dot("v2")) {
    shape.elements = 2;
  } else if (accept_dot("v4")) {
    shape.elements = 4;
  }
  const Token token = next();
  if (token.kind == Token::Kind::Dot) {
    if (shape.elements == 1 && token.text == "b128") return {Type::B64, 2};
    if (token.text == "samplerref")
      fail(token, "samplers of their own (.samplerref) are not supported; a texture object has its sampler");
    if (token.text == "texref" || token.text == "surfref")
      fail(token,
           fmt::format("'.{}' is the type of .global variables and of kernels' parameters", token.text));
    shape.type = type_of(token.text);
    if (shape.elements > 1 && shape.elements * isa::width_bits(shape.type) > 128) {
      fail(token, fmt::format("vectors of type .v{} .{} do not exist; they have 128 bits at most",
                              shape.elements, token.text));
    }
    if (shape.type != Type::None && shape.type != Type::Pred) return shape;
  }
  fail(token, fmt::format("expected a type such as .b32, found '{}{}'",
                          token.kind == Token::Kind::Dot ? "." : "", token.text));
}

bool Parser::parse_attribute() {
  bool managed = false;
  while (accept_dot("attribute")) {
    expect('(', ".attribute");
    do {
      const Token token = next();
      if (token.is_dot("managed")) {
        managed = true;
      } else if (token.is_dot("unified")) {
        expect('(', ".unified");
        expect_integer("a number");
        expect(',', "a number");
        expect_integer("a number");
        expect(')', "a number");
      } else {
        fail(token, fmt::format("attribute '{}' is not supported; known: .managed, .unified", token.text));
      }
    } while (accept(','));
    expect(')', "the attributes");
  }
  return managed;
}

Parser::Shape Parser::parse_dimensions() {
  Shape shape;
  while (accept('[')) {
    if (accept(']')) {
      if (!shape.dimensions.empty()) fail(peek(), "only the first dimension of an array may be left open");
      shape.open = true;
      shape.dimensions.push_back(0);
      continue;
    }
    const Token at = peek();
    const std::uint64_t count = expect_integer("the number of elements");
    if (count != 0 && shape.elements > kMaxVariableBytes / count)
      fail(at, "array of more than 2^40 elements");
    shape.elements *= count;
    shape.dimensions.push_back(count);
    expect(']', "the number of elements");
  }
  return shape;
}

void Parser::place(isa::Symbol& symbol, const Token& at) {
  switch (symbol.kind) {
    case isa::Symbol::Kind::Const: {
      symbol.address = round_up(module_.const_bank.size(), symbol.align);
      if (symbol.bytes > kMaxConstBytes || symbol.address + symbol.bytes > kMaxConstBytes) {
        fail(at, fmt::format("the .const variables need more than {} bytes", kMaxConstBytes));
      }
      module_.const_bank.resize(symbol.address + symbol.bytes, '\0');
      std::copy(symbol.initial.begin(), symbol.initial.end(),
                module_.const_bank.begin() + static_cast<std::ptrdiff_t>(symbol.address));
      break;
    }
    case isa::Symbol::Kind::Local: {
      const std::uint64_t offset = round_up(function_->local_bytes, symbol.align);
      if (symbol.bytes > kMaxLocalBytes || offset + symbol.bytes > kMaxLocalBytes) {
        fail(at, fmt::format("the .local variables of a function need more than {} bytes", kMaxLocalBytes));
      }
      symbol.address = offset;
      function_->local_bytes = static_cast<std::uint32_t>(offset + symbol.bytes);
      break;
    }
    case isa::Symbol::Kind::Shared:
      if (symbol.bytes > kMaxSharedBytes) {
        fail(at, fmt::format(".shared variable '{}' is larger than {} bytes", symbol.name, kMaxSharedBytes));
      }
      break;
    default:
      if (symbol.bytes > kMaxVariableBytes) {
        fail(at, fmt::format("variable '{}' is larger than 2^40 bytes", symbol.name));
      }
      break;
  }
}

void Parser::parse_variable(Space space, const Linkage& linkage) {
  const bool in_function = function_ != nullptr;
  std::uint32_t align = 0;
  bool managed = false;
  while (peek().is_dot("align") || peek().is_dot("attribute")) {
    if (peek().is_dot("align")) align = parse_align();
    if (peek().is_dot("attribute")) managed = parse_attribute() || managed;
  }
  if (space == Space::Global && !in_function) {
    if (accept_dot("texref")) return parse_opaque_references(Opaque::Texture);
    if (accept_dot("surfref")) return parse_opaque_references(Opaque::Surface);
  }
  const ValueShape value = parse_variable_type();
  const Type type = value.type;
  const std::uint32_t element = isa::width_bytes(type) * value.elements;
  do {
    const Token name = expect_name("the variable's name");
    isa::Symbol symbol;
    symbol.name = std::string(name.text);
    symbol.align = align != 0 ? align : element;
    symbol.managed = managed;
    switch (space) {
      case Space::Global: symbol.kind = isa::Symbol::Kind::Global; break;
      case Space::Const: symbol.kind = isa::Symbol::Kind::Const; break;
      case Space::Local: symbol.kind = isa::Symbol::Kind::Local; break;
      default: symbol.kind = isa::Symbol::Kind::Shared; break;
    }
    if (in_function) {
      symbol.in_function = true;
      symbol.function = static_cast<std::uint32_t>(module_.functions.size() - 1);
    }
    const Shape shape = parse_dimensions();
    if (shape.elements > kMaxVariableBytes / element) fail(name, "variable larger than 2^40 bytes");
    symbol.bytes = shape.open ? 0 : shape.elements * element;
    if (accept('=')) {
      if (space != Space::Global && space != Space::Const) {
        fail(name, "only .global and .const variables have initial values");
      }
      if (peek().is('{')) {
        parse_initializer(symbol, type, 0);
      } else {
        if (!shape.dimensions.empty() || value.elements > 1)
          fail(peek(), "the initial value of an array or vector is a list in { }");
        parse_initial_value(symbol, type);
      }
      if (shape.open) symbol.bytes = symbol.initial.size();
      if (symbol.initial.size() > symbol.bytes) {
        fail(name, fmt::format("'{}' has {} bytes, its initial value {}", name.text, symbol.bytes,
                               symbol.initial.size()));
      }
    } else if (shape.open) {
      if (!linkage.is_extern) fail(name, "an array without a size is .extern or has an initial value");
      if (space == Space::Shared) symbol.kind = isa::Symbol::Kind::ExternShared;
    }
    const auto known = globals_.find(name.text);
    if (!in_function && known != globals_.end()) {
      const std::uint32_t index = known->second.index;
      const bool was_extern = known->second.kind == Variable::Kind::Symbol && extern_symbols_.contains(index);
      if (linkage.is_extern && known->second.kind == Variable::Kind::Symbol) continue;
      if (!was_extern || module_.symbols[index].kind != symbol.kind) {
        fail(name, fmt::format("'{}' is declared twice", name.text));
      }
      extern_symbols_.erase(index);
      place(symbol, name);
      module_.symbols[index] = std::move(symbol);
      continue;
    }
    const auto index = static_cast<std::uint32_t>(module_.symbols.size());
    const bool deferred = linkage.is_extern && symbol.kind != isa::Symbol::Kind::ExternShared;
    if (!deferred) place(symbol, name);
    module_.symbols.push_back(std::move(symbol));
    if (deferred) extern_symbols_[index] = name;
    const Variable variable{Variable::Kind::Symbol, type, index};
    if (in_function) {
      declare(name, variable);
    } else {
      globals_[name.text] = variable;
    }
  } while (accept(','));
  expect(';', "the declaration");
}

void Parser::parse_initializer(isa::Symbol& symbol, Type type, unsigned depth) {
  if (depth > kMaxNesting) fail(peek(), "initial value nested too deeply");
  expect('{', "'='");
  if (accept('}')) return;
  do {
    if (peek().is('{')) {
      parse_initializer(symbol, type, depth + 1);
    } else {
      parse_initial_value(symbol, type);
    }
  } while (accept(','));
  expect('}', "the initial values");
}

std::uint32_t Parser::function_symbol(const Token& name) {
  const std::string key(name.text);
  const auto found = function_symbols_.find(key);
  if (found != function_symbols_.end()) return found->second;
  isa::Symbol symbol;
  symbol.kind = isa::Symbol::Kind::Function;
  symbol.name = key;
  symbol.bytes = 8;
  symbol.align = 8;
  const auto index = static_cast<std::uint32_t>(module_.symbols.size());
  module_.symbols.push_back(std::move(symbol));
  function_symbols_[key] = index;
  function_uses_[key] = name;
  return index;
}

std::string Parser::unknown_name(std::string_view what, const Token& name) const {
  std::vector<std::string> known;
  for (const Scope& scope : scopes_) {
    for (const auto& [text, variable] : scope.names) known.emplace_back(text);
    for (const RegisterRange& range : scope.ranges) {
      known.emplace_back(fmt::format("{}{}", range.prefix, range.count - 1));
    }
  }
  for (const auto& [text, variable] : globals_) known.emplace_back(text);
  const std::string nearest = nearest_choice(name.text, known);
  return fmt::format("unknown {} '{}'{}", what, name.text,
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

std::uint32_t Parser::symbol_of_name(const Token& name) {
  const auto found = globals_.find(name.text);
  if (found == globals_.end()) fail(name, unknown_name("variable", name));
  if (found->second.kind == Variable::Kind::Function) return function_symbol(name);
  used_symbols_.insert(found->second.index);
  return found->second.index;
}

void Parser::parse_initial_value(isa::Symbol& symbol, Type type) {
  const unsigned bytes = isa::width_bytes(type);
  const bool computed = begins_expression();
  const bool minus = !computed && accept('-');
  if (!computed && !minus) accept('+');
  const Token token = computed ? parse_expression() : next();
  if (token.kind == Token::Kind::Integer && !peek().is('(')) {
    std::uint64_t bits = token.bits;
    if (type == Type::F32) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(token.bits));
    } else if (type == Type::F64) {
      bits = std::bit_cast<std::uint64_t>(static_cast<double>(token.bits));
    }
    if (minus) bits = isa::is_float(type) ? bits ^ (std::uint64_t{1} << (8 * bytes - 1)) : 0 - bits;
    append_bytes(symbol.initial, bits, bytes);
    return;
  }
  if (token.kind == Token::Kind::Float32 || token.kind == Token::Kind::Float64) {
    std::uint64_t bits = token.bits;
    if (isa::is_signed(type) || bytes < 4)
      fail(token, fmt::format("a float does not fit .{}", isa::name(type)));
    if (token.kind == Token::Kind::Float64 && bytes == 4) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    } else if (token.kind == Token::Kind::Float32 && bytes == 8) {
      bits = std::bit_cast<std::uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    }
    if (minus) bits ^= std::uint64_t{1} << (8 * bytes - 1);
    append_bytes(symbol.initial, bits, bytes);
    return;
  }
  // An address: sym, sym+4, generic(sym), generic(sym)+4. Or one of its bytes: 0xFF00(generic(sym)).
  unsigned byte = 0;
  const bool masked = token.kind == Token::Kind::Integer;
  Token name = token;
  if (masked) {
    const auto shift = static_cast<unsigned>(std::countr_zero(token.bits));
    if (bytes != 1 || shift % 8 != 0 || token.bits >> shift != 0xff) {
      fail(token, "a mask of an address picks one byte for an array of bytes, such as 0xFF00(generic(x))");
    }
    byte = shift / 8;
    expect('(', "the mask");
    name = next();
  }
  if (name.kind != Token::Kind::Name || minus) {
    fail(name, "expected a number, or the name of a variable or function, as initial value");
  }
  isa::Symbol::Relocation relocation{symbol.initial.size() - byte, 0, 0, false};
  if (name.text == "generic" && accept('(')) {
    relocation.generic = true;
    relocation.symbol = symbol_of_name(expect_name("the name of a variable"));
    relocation.addend = static_cast<std::uint64_t>(parse_offset());
    expect(')', "the name of a variable");
  } else {
    relocation.symbol = symbol_of_name(name);
  }
  relocation.addend += static_cast<std::uint64_t>(parse_offset());
  if (!masked) {
    if (bytes != 8) fail(name, fmt::format("an address needs 64 bits; .{} is too narrow", isa::name(type)));
    symbol.relocations.push_back(relocation);
    append_bytes(symbol.initial, 0, 8);
    return;
  }
  expect(')', "the masked address");
  if (byte == 0) {
    symbol.relocations.push_back(relocation);
  } else if (symbol.relocations.empty() || symbol.initial.size() < byte ||
             symbol.relocations.back().offset != relocation.offset ||
             symbol.relocations.back().symbol != relocation.symbol) {
    fail(token, "the bytes of an address are only supported all eight in order");
  }
  append_bytes(symbol.initial, 0, 1);
}

ValueShape Parser::parse_register_type() {
  ValueShape shape;
  parse_align();  // no meaning for registers
  if (accept_dot("v2")) {
    shape.elements = 2;
  } else if (accept_dot("v4")) {
    shape.elements = 4;
  }
  const Token token = next();
  const bool scalar = shape.elements == 1;
  if (scalar && token.is_dot("b128")) return {Type::B64, 2};
  shape.type = token.kind == Token::Kind::Dot ? type_of(token.text) : Type::None;
  if (shape.type == Type::None) {
    fail(token, fmt::format("register type '{}{}' is not supported; known: .pred, .b8 to .b128, .u8 to "
                            ".u64, .s8 to .s64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64",
                            token.kind == Token::Kind::Dot ? "." : "", token.text));
  }
  if (!scalar && (shape.type == Type::Pred || shape.elements * isa::width_bits(shape.type) > 128))
    fail(token, fmt::format("registers of type .v{} .{} do not exist; a vector has 128 bits at most and no "
                            "predicates",
                            shape.elements, token.text));
  return shape;
}

Variable Parser::new_registers(const ValueShape& shape) {
  Variable variable{Variable::Kind::Register, shape.type, new_register(shape.type)};
  if (shape.elements == 1) return variable;
  has_vectors_ = true;
  variable.kind = Variable::Kind::Vector;
  variable.elements = shape.elements;
  for (unsigned i = 1; i < shape.elements; ++i) new_register(shape.type);  // consecutive numbers
  return variable;
}

void Parser::parse_registers() {
  const ValueShape shape = parse_register_type();
  do {
    const Token name = expect_name("the register's name");
    if (accept('<')) {
      const std::uint64_t count = expect_integer("the number of registers");
      expect('>', "the number of registers");
      scopes_.back().ranges.push_back({name.text, count, shape});
      has_vectors_ = has_vectors_ || shape.elements > 1;
    } else {
      declare(name, new_registers(shape));
    }
  } while (accept(','));
  expect(';', "the declaration");
}

ParamShape Parser::parse_param() {
  ParamShape param;
  param.align = parse_align();
  // Parameters of texture, surface and sampler types are handles of objects.
  const bool opaque = accept_dot("texref") || accept_dot("surfref") || accept_dot("samplerref");
  const Token type_token = peek();
  const ValueShape value = opaque ? ValueShape{Type::U64} : parse_variable_type();
  param.type = value.type;
  if (value.elements > 1 && !type_token.is_dot("b128"))
    fail(type_token, fmt::format("parameters of vector type '.{}' do not exist; an array of .b8 with .align "
                                 "holds a vector",
                                 type_token.text));
  if (accept_dot("ptr")) {
    param.is_pointer = true;
    for (const char* space : {"const", "global", "local", "shared"}) {
      if (accept_dot(space)) break;
    }
    parse_align();  // alignment of the pointer's target
  }
  if (param.align == 0) param.align = parse_align();
  param.element_bytes = isa::width_bytes(param.type) * value.elements;
  if (param.align == 0) param.align = param.element_bytes;
  parse_param_name(param);
  return param;
}

void Parser::parse_param_name(ParamShape& param) {
  param.at = expect_name("the parameter's name");
  param.name = std::string(param.at.text);
  const Shape shape = parse_dimensions();
  const std::uint32_t element = param.element_bytes;
  param.is_array = !shape.dimensions.empty() || element > isa::width_bytes(param.type);
  param.is_open = shape.open;
  const std::uint64_t bytes = shape.open ? 0 : shape.elements * element;
  if (shape.elements > kMaxParamBytes || bytes > kMaxParamBytes) {
    fail(param.at, fmt::format("parameter '{}' is larger than {} bytes", param.name, kMaxParamBytes));
  }
  param.bytes = static_cast<std::uint32_t>(bytes);
}

ParamShape Parser::parse_register_param() {
  ParamShape param;
  param.in_register = parse_register_type();
  param.type = param.in_register.type == Type::Pred ? Type::U32 : param.in_register.type;
  param.at = expect_name("the parameter's name");
  param.name = std::string(param.at.text);
  param.bytes = param.in_register.elements * isa::width_bytes(param.type);
  param.align = param.bytes;
  return param;
}

std::vector<ParamShape> Parser::parse_param_list() {
  std::vector<ParamShape> params;
  expect('(', "the function's name");
  if (accept(')')) return params;
  do {
    if (accept_dot("reg")) {
      params.push_back(parse_register_param());
      continue;
    }
    if (!accept_dot("param")) fail(peek(), "expected .param or .reg in a parameter list");
    params.push_back(parse_param());
  } while (accept(','));
  expect(')', "the parameters");
  return params;
}

}  // namespace gpumux::ptx
