// Surfaces: loads, stores, reductions and queries.
#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::AtomicOp;
using isa::CacheOp;
using isa::SurfaceBounds;
using isa::TextureGeometry;

void Parser::surface_modifiers(Statement& s) {
  static constexpr std::pair<std::string_view, SurfaceBounds> kBounds[] = {
      {"trap", SurfaceBounds::Trap}, {"clamp", SurfaceBounds::Clamp}, {"zero", SurfaceBounds::Zero}};
  Instruction& inst = s.inst;
  inst.space = Space::Global;
  inst.geometry = take_geometry(s);
  if (inst.geometry == TextureGeometry::Cube || inst.geometry == TextureGeometry::ACube)
    fail(s.opcode,
         fmt::format("'{}': surfaces of cube maps are read as .a2d, with six layers each", opcode_text(s)));
  inst.bounds = s.modifiers.take_from(kBounds, SurfaceBounds::None);
  if (inst.bounds == SurfaceBounds::None)
    fail(s.opcode, fmt::format("'{}' needs .trap, .clamp or .zero", opcode_text(s)));
}

void Parser::surface_place(Statement& s, const Arg& place) {
  if (place.kind != Arg::Kind::Address || place.elements.size() != 2)
    fail(place.at, "expected a surface and its coordinates in [ ]");
  s.inst.src[0] = opaque_operand(place.elements[0], Opaque::Surface);
  texture_coordinates(s, place.elements[1], Type::S32);
}

void Parser::op_surface_move(Statement& s) {
  static constexpr std::pair<std::string_view, int> kVectors[] = {{"v2", 2}, {"v4", 4}};
  static constexpr std::pair<std::string_view, CacheOp> kLoads[] = {
      {"ca", CacheOp::CA}, {"cg", CacheOp::CG}, {"cs", CacheOp::CS}, {"cv", CacheOp::CV}};
  static constexpr std::pair<std::string_view, CacheOp> kStores[] = {
      {"wb", CacheOp::WB}, {"cg", CacheOp::CG}, {"cs", CacheOp::CS}, {"wt", CacheOp::WT}};
  Instruction& inst = s.inst;
  const bool load = s.opcode.text == "suld";
  inst.op = load ? Opcode::SurfLd : Opcode::SurfSt;
  inst.formatted = !load && s.modifiers.take("p");
  if (!inst.formatted && !s.modifiers.take("b"))
    fail(s.opcode, fmt::format("'{}' needs {}", opcode_text(s), load ? ".b" : ".b or .p"));
  surface_modifiers(s);
  inst.cache = s.modifiers.take_from(load ? kLoads : kStores, CacheOp::None);
  inst.vector = static_cast<std::uint8_t>(s.modifiers.take_from(kVectors, 1));
  inst.type =
      want_type(s, inst.formatted ? TypeSet{Type::B32} : TypeSet{Type::B8, Type::B16, Type::B32, Type::B64});
  if (inst.vector * isa::width_bits(inst.type) > 128)
    fail(s.opcode, fmt::format("'{}' moves a vector that does not exist", opcode_text(s)));
  finish_modifiers(s);
  want_args(s, 2, 2);
  surface_place(s, s.args[load ? 1 : 0]);
  const std::vector<Arg> values = surface_values(s, s.args[load ? 0 : 1]);
  const std::size_t first = 1 + isa::coordinates(inst.geometry);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (load) {
      inst.dst[i] = destination(values[i], inst.type, true);
    } else {
      if (values[i].kind == Arg::Kind::Sink) fail(values[i].at, "a value that is stored is not '_'");
      inst.src[first + i] = source(values[i], inst.type, true);
    }
  }
  emit(inst);
}

/// The values of a surface access. nvcc also encloses a single value in { }.
std::vector<Arg> Parser::surface_values(Statement& s, const Arg& arg) {
  if (s.inst.vector == 1 && arg.kind == Arg::Kind::Vector && arg.elements.size() == 1) return arg.elements;
  return vector_elements(s, arg);
}

void Parser::op_surface_reduction(Statement& s) {
  static constexpr std::pair<std::string_view, AtomicOp> kOps[] = {{"add", AtomicOp::Add},
                                                                   {"min", AtomicOp::Min},
                                                                   {"max", AtomicOp::Max},
                                                                   {"and", AtomicOp::And},
                                                                   {"or", AtomicOp::Or}};
  Instruction& inst = s.inst;
  inst.op = Opcode::SurfRed;
  if (!s.modifiers.take("b"))
    fail(s.opcode, fmt::format("'{}': reductions of other kinds than .b are not supported", opcode_text(s)));
  inst.atomic = s.modifiers.take_from(kOps, AtomicOp::None);
  if (inst.atomic == AtomicOp::None)
    fail(s.opcode, fmt::format("'{}' needs .add, .min, .max, .and or .or", opcode_text(s)));
  surface_modifiers(s);
  const bool bits = inst.atomic == AtomicOp::And || inst.atomic == AtomicOp::Or;
  inst.type = want_type(s, bits                           ? TypeSet{Type::B32}
                           : inst.atomic == AtomicOp::Add ? TypeSet{Type::U32, Type::S32, Type::U64}
                                                          : TypeSet{Type::U32, Type::S32});
  finish_modifiers(s);
  want_args(s, 2, 2);
  surface_place(s, s.args[0]);
  const std::vector<Arg> values = surface_values(s, s.args[1]);
  inst.src[1 + isa::coordinates(inst.geometry)] = source(values[0], inst.type);
  emit(inst);
}

}  // namespace gpumux::ptx
