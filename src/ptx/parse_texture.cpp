// Textures: fetches, gathers and queries, and texture references.
#include <algorithm>

#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::TextureGeometry;
using isa::TextureQuery;

std::vector<Arg> Parser::parse_texture_args() {
  // Syntax: d, [a, c] and further arguments. The elements of the address are the texture and its coordinates.
  std::vector<Arg> args;
  if (peek().is(';')) return args;
  do {
    if (!peek().is('[')) {
      args.push_back(parse_arg());
      continue;
    }
    Arg place;
    place.kind = Arg::Kind::Address;
    place.at = next();
    do {
      place.elements.push_back(parse_arg());
    } while (accept(','));
    expect(']', "the coordinates");
    args.push_back(std::move(place));
  } while (accept(','));
  return args;
}

TextureGeometry Parser::take_geometry(Statement& s) {
  static constexpr std::pair<std::string_view, TextureGeometry> kTable[] = {
      {"1d", TextureGeometry::D1},      {"2d", TextureGeometry::D2},  {"3d", TextureGeometry::D3},
      {"a1d", TextureGeometry::A1},     {"a2d", TextureGeometry::A2}, {"cube", TextureGeometry::Cube},
      {"acube", TextureGeometry::ACube}};
  const TextureGeometry geometry = s.modifiers.take_from(kTable, TextureGeometry::None);
  if (geometry == TextureGeometry::None) {
    fail(s.opcode, fmt::format("'{}' needs .1d, .2d, .3d, .a1d{}", opcode_text(s),
                               s.opcode.text == "tex" ? ", .a2d, .cube or .acube" : " or .a2d"));
  }
  return geometry;
}

Operand Parser::opaque_operand(const Arg& arg, Opaque wanted) {
  const bool surface = wanted == Opaque::Surface;
  const char* const what = surface ? "surface" : "texture";
  const char* const reference = surface ? ".surfref" : ".texref";
  if (arg.kind != Arg::Kind::Name || arg.negated)
    fail(arg.at,
         fmt::format("expected a {0}: a 64-bit register that holds a {0} object, or a {1}", what, reference));
  const Variable* variable = find(arg.at.text);
  if (variable == nullptr || !arg.component.empty()) fail(arg.at, unknown_name(what, arg.at));
  if (arg.offset != 0) fail(arg.at, fmt::format("a {} has no offset", what));
  if (variable->kind == Variable::Kind::Symbol && module_.symbols[variable->index].texture) {
    if (surface_references_.contains(variable->index) != surface)
      fail(arg.at, fmt::format("'{}' is a {}; a {} is wanted here", arg.at.text,
                               surface ? ".texref" : ".surfref", reference));
    used_symbols_.insert(variable->index);
    return Operand::symbol(variable->index);
  }
  if (variable->kind == Variable::Kind::KernelParam && function_->params[variable->index].bytes == 8) {
    Instruction load;
    load.op = Opcode::Ld;
    load.type = Type::U64;
    load.space = Space::Param;
    load.dst[0] = Operand::reg64(new_register(Type::B64));
    load.src[0] = Operand::constant(function_->params[variable->index].offset);
    load.line = arg.at.line;
    load.column = arg.at.column;
    emit(load);
    return load.dst[0];
  }
  if (variable->kind != Variable::Kind::Register)
    fail(arg.at, fmt::format("'{}' is neither a 64-bit register nor a {}", arg.at.text, reference));
  return register_operand(arg, *variable, Type::U64, false);
}

void Parser::texture_coordinates(Statement& s, const Arg& arg, Type type) {
  Instruction& inst = s.inst;
  const std::size_t wanted = isa::coordinates(inst.geometry);
  const std::vector<Arg> given = arg.kind == Arg::Kind::Vector ? arg.elements : std::vector<Arg>{arg};
  // PTX has vectors of 1, 2 and 4 elements. Elements after the coordinates are unused.
  const bool padded = given.size() > wanted && (given.size() == 2 || given.size() == 4);
  if (given.size() != wanted && !padded) {
    fail(arg.at, fmt::format("'{}' takes {} coordinate{}, {} given", opcode_text(s), wanted,
                             wanted == 1 ? "" : "s", given.size()));
  }
  const bool layered = isa::is_layered(inst.geometry);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Operand operand = source(given[i], layered && i == 0 ? Type::U32 : type);
    if (i < wanted) inst.src[1 + i] = operand;
  }
}

void Parser::level_operands(Statement& s, Type type) {
  Instruction& inst = s.inst;
  std::size_t next = 1 + isa::coordinates(inst.geometry);
  if (inst.detail == isa::TextureDetail::Level) {
    inst.src[next] = source(s.args[2], type);
    return;
  }
  // One for each coordinate except the layer. The last of four in a vector is unused.
  const std::size_t axes = isa::coordinates(inst.geometry) - (isa::is_layered(inst.geometry) ? 1U : 0U);
  for (const std::size_t which : {std::size_t{2}, std::size_t{3}}) {
    const Arg& arg = s.args[which];
    const std::vector<Arg> parts = arg.kind == Arg::Kind::Vector ? arg.elements : std::vector<Arg>{arg};
    if (parts.size() != axes && !(axes == 3 && parts.size() == 4))
      fail(arg.at, fmt::format("'{}' takes gradients of {} coordinate{}, {} given", opcode_text(s), axes,
                               axes == 1 ? "" : "s", parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Operand part = source(parts[i], Type::F32);
      if (i < axes) inst.src[next++] = part;
    }
  }
}

void Parser::op_tex(Statement& s) {
  static constexpr std::pair<std::string_view, int> kComponents[] = {{"r", 0}, {"g", 1}, {"b", 2}, {"a", 3}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Tex;
  inst.space = Space::Global;
  inst.gather = s.opcode.text == "tld4";
  const bool level = !inst.gather && s.modifiers.take("level");
  const bool gradients = !inst.gather && !level && s.modifiers.take("grad");
  if (!inst.gather && !level && !gradients) s.modifiers.take("base");
  inst.detail = level       ? isa::TextureDetail::Level
                : gradients ? isa::TextureDetail::Gradients
                            : isa::TextureDetail::None;
  if (inst.gather) {
    const int component = s.modifiers.take_from(kComponents, -1);
    if (component < 0) fail(s.opcode, fmt::format("'{}' needs .r, .g, .b or .a", opcode_text(s)));
    inst.shift = static_cast<std::uint8_t>(component);
  }
  inst.geometry = take_geometry(s);
  if (inst.gather && inst.geometry != TextureGeometry::D2 && inst.geometry != TextureGeometry::A2)
    fail(s.opcode, fmt::format("'{}': tld4 reads .2d and .a2d", opcode_text(s)));
  if (!s.modifiers.take("v4")) {
    fail(s.opcode, fmt::format("'{}': results of other kinds than .v4 are not supported", opcode_text(s)));
  }
  inst.vector = 4;
  inst.type = want_type(s, {Type::U32, Type::S32, Type::F32});
  inst.type2 = want_type(s, inst.gather ? TypeSet{Type::F32} : TypeSet{Type::S32, Type::F32});
  const bool cube = inst.geometry == TextureGeometry::Cube || inst.geometry == TextureGeometry::ACube;
  if (cube && inst.type2 != Type::F32)
    fail(s.opcode, fmt::format("'{}': cube maps are read by coordinates of type .f32", opcode_text(s)));
  if (gradients && inst.type2 != Type::F32)
    fail(s.opcode, fmt::format("'{}': gradients go with coordinates of type .f32", opcode_text(s)));
  finish_modifiers(s);
  const std::size_t fixed = level ? 3 : gradients ? 4 : 2;
  if (s.args.size() > fixed) {
    fail(s.args[fixed].at,
         fmt::format("'{}': offsets and depth comparison are not supported", opcode_text(s)));
  }
  want_args(s, fixed, fixed);
  const Arg& results = s.args[0];
  no_pair(results);  // a second result would tell whether a texel is resident
  if (results.kind != Arg::Kind::Vector || results.elements.size() != 4)
    fail(results.at, fmt::format("'{}' has four results in {{ }}", opcode_text(s)));
  const Arg& place = s.args[1];
  if (place.kind != Arg::Kind::Address) fail(place.at, "expected a texture and its coordinates in [ ]");
  if (place.elements.size() == 3) fail(place.elements[1].at, "samplers of their own are not supported");
  if (place.elements.size() != 2) fail(place.at, "expected a texture and its coordinates in [ ]");
  inst.src[0] = opaque_operand(place.elements[0], Opaque::Texture);
  texture_coordinates(s, place.elements[1], inst.type2);
  if (level || gradients) level_operands(s, inst.type2);
  for (std::size_t i = 0; i < 4; ++i) inst.dst[i] = destination(results.elements[i], inst.type);
  emit(inst);
}

void Parser::op_txq(Statement& s) {
  static constexpr std::pair<std::string_view, TextureQuery> kTable[] = {
      {"width", TextureQuery::Width},
      {"height", TextureQuery::Height},
      {"depth", TextureQuery::Depth},
      {"array_size", TextureQuery::ArraySize},
      {"channel_data_type", TextureQuery::ChannelDataType},
      {"channel_order", TextureQuery::ChannelOrder},
      {"normalized_mode", TextureQuery::NormalizedMode},
      {"filter_mode", TextureQuery::FilterMode},
      {"addr_mode_0", TextureQuery::AddressMode0},
      {"addr_mode_1", TextureQuery::AddressMode1},
      {"addr_mode_2", TextureQuery::AddressMode2},
      {"num_mipmap_levels", TextureQuery::MipmapLevels}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Txq;
  const bool level = s.opcode.text == "txq" && s.modifiers.take("level");
  if (level) inst.detail = isa::TextureDetail::Level;
  inst.query = s.modifiers.take_from(kTable, TextureQuery::None);
  if (inst.query == TextureQuery::None)
    fail(s.opcode, fmt::format("'{}' does not say what it asks, such as .width", opcode_text(s)));
  if (level && inst.query > TextureQuery::Depth)
    fail(s.opcode, fmt::format("'{}': a level has .width, .height and .depth", opcode_text(s)));
  inst.type = want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, level ? 3 : 2, level ? 3 : 2);
  const Arg& place = s.args[1];
  if (place.kind != Arg::Kind::Address || place.elements.size() != 1)
    fail(place.at, "expected a texture in [ ]");
  inst.src[0] = opaque_operand(place.elements[0], s.opcode.text == "suq" ? Opaque::Surface : Opaque::Texture);
  if (level) inst.src[1] = source(s.args[2], Type::B32);
  inst.dst[0] = destination(s.args[0], inst.type);
  emit(inst);
}

void Parser::parse_opaque_references(Opaque kind) {
  do {
    const Token name = expect_name("the name of a texture or surface");
    if (peek().is('[')) fail(peek(), "arrays of .texref and .surfref are not supported");
    if (peek().is('='))
      fail(peek(), "initial values of a .texref or .surfref are not supported; the host binds it");
    if (kind == Opaque::Surface)
      surface_references_.insert(static_cast<std::uint32_t>(module_.symbols.size()));
    if (globals_.contains(name.text)) fail(name, fmt::format("'{}' is declared twice", name.text));
    isa::Symbol symbol;
    symbol.name = std::string(name.text);
    symbol.bytes = 8;
    symbol.align = 8;
    symbol.texture = true;
    globals_[name.text] =
        Variable{Variable::Kind::Symbol, Type::B64, static_cast<std::uint32_t>(module_.symbols.size())};
    module_.symbols.push_back(std::move(symbol));
  } while (accept(','));
  expect(';', "the declaration");
}

}  // namespace gpumux::ptx
