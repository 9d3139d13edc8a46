// Matrix instructions: mma, wmma, ldmatrix, stmatrix, movmatrix, and conversions to number types that only
// matrix products use.
//
// The machine has one product, Mma (isa::MatrixShape): 8 or 16 rows by 8 columns, with at most 14 registers
// of operands. Larger PTX instructions become several of them, as on hardware:
// - wmma.mma multiplies its tile of 256 elements in two halves; the tile of 8 x 32 as the transposed product
//   B^T A^T;
// - m8n8k4 of f16 with f32 sums in two halves of the columns;
// - f64 in pieces of m8n8k4, each of which continues the sums of the previous one, which is the order of
//   summation anyway.
//
// wmma.load and wmma.store become loads and stores of each lane. PTX does not define which elements a lane
// holds. Here it holds the elements that an mma of the same size would have. If PTX has more registers than
// needed (A and B of f16), the last ones repeat the first.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <span>

#include "ptx/parser.hpp"
#include "ptx/sequence.hpp"

namespace gpumux::ptx {

using isa::MatrixShape;
using isa::MatrixType;
using isa::Rounding;

namespace {

struct Size {
  unsigned m = 0;
  unsigned n = 0;
  unsigned k = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

/// The size m16n8k16 in a modifier; all 0 if it names no size.
Size size_of(std::string_view text) {
  Size size;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const auto& [letter, value] : {std::pair{'m', &size.m}, {'n', &size.n}, {'k', &size.k}}) {
    if (at == end || *at != letter) return {};
    const auto parsed = std::from_chars(at + 1, end, *value);
    if (parsed.ec != std::errc() || parsed.ptr == at + 1) return {};
    at = parsed.ptr;
  }
  return at == end ? size : Size{};
}

Size take_size(Modifiers& modifiers) {
  for (Modifiers::Item& item : modifiers.items()) {
    if (item.used) continue;
    const Size size = size_of(item.token.text);
    if (size.m == 0) continue;
    item.used = true;
    return size;
  }
  return {};
}

/// Takes the next of .row and .col. The result is true for .col.
std::optional<bool> take_layout(Modifiers& modifiers) {
  for (Modifiers::Item& item : modifiers.items()) {
    if (item.used || (item.token.text != "row" && item.token.text != "col")) continue;
    item.used = true;
    return item.token.text == "col";
  }
  return std::nullopt;
}

struct ElementName {
  std::string_view text;
  MatrixType type;
};
constexpr ElementName kElements[] = {
    {"f16", MatrixType::F16},   {"bf16", MatrixType::BF16}, {"tf32", MatrixType::TF32},
    {"f64", MatrixType::F64},   {"s8", MatrixType::S8},     {"u8", MatrixType::U8},
    {"s4", MatrixType::S4},     {"u4", MatrixType::U4},     {"b1", MatrixType::B1},
    {"e4m3", MatrixType::E4M3}, {"e5m2", MatrixType::E5M2}};

MatrixType element_of(std::string_view text) {
  for (const ElementName& entry : kElements)
    if (entry.text == text) return entry.type;
  return MatrixType::None;
}

/// Families of types that can be multiplied with each other, with their types of sums.
enum class Family : std::uint8_t { None, Half, Bfloat, Tensor, Double, Bytes, Nibbles, Bits, Fp8 };

Family family_of(MatrixType type) {
  switch (type) {
    case MatrixType::None: return Family::None;
    case MatrixType::F16: return Family::Half;
    case MatrixType::BF16: return Family::Bfloat;
    case MatrixType::TF32: return Family::Tensor;
    case MatrixType::F64: return Family::Double;
    case MatrixType::S8:
    case MatrixType::U8: return Family::Bytes;
    case MatrixType::S4:
    case MatrixType::U4: return Family::Nibbles;
    case MatrixType::B1: return Family::Bits;
    case MatrixType::E4M3:
    case MatrixType::E5M2: return Family::Fp8;
  }
  return Family::None;
}

/// The type of C and D that a modifier names.
Type sum_type(std::string_view text, Family family) {
  switch (family) {
    case Family::Half:
    case Family::Fp8: return text == "f16" ? Type::F16 : text == "f32" ? Type::F32 : Type::None;
    case Family::Bfloat:
    case Family::Tensor: return text == "f32" ? Type::F32 : Type::None;
    case Family::Double: return text == "f64" ? Type::F64 : Type::None;
    case Family::Bytes:
    case Family::Nibbles:
    case Family::Bits: return text == "s32" ? Type::S32 : Type::None;
    case Family::None: break;
  }
  return Type::None;
}

/// The type of registers for sums: pairs of f16 are .b32.
Type register_type(Type sum) { return sum == Type::F16 ? Type::B32 : sum; }

struct MmaSize {
  Family family;
  Size size;
};
// PTX ISA 9.0, "Warp-level Matrix Multiply-and-Accumulate Instruction: mma", without the sizes of sm_100 and
// later.
constexpr MmaSize kMmaSizes[] = {
    {Family::Half, {8, 8, 4}},      {Family::Half, {16, 8, 8}},     {Family::Half, {16, 8, 16}},
    {Family::Bfloat, {16, 8, 8}},   {Family::Bfloat, {16, 8, 16}},  {Family::Tensor, {16, 8, 4}},
    {Family::Tensor, {16, 8, 8}},   {Family::Double, {8, 8, 4}},    {Family::Double, {16, 8, 4}},
    {Family::Double, {16, 8, 8}},   {Family::Double, {16, 8, 16}},  {Family::Bytes, {8, 8, 16}},
    {Family::Bytes, {16, 8, 16}},   {Family::Bytes, {16, 8, 32}},   {Family::Nibbles, {8, 8, 32}},
    {Family::Nibbles, {16, 8, 32}}, {Family::Nibbles, {16, 8, 64}}, {Family::Bits, {8, 8, 128}},
    {Family::Bits, {16, 8, 128}},   {Family::Bits, {16, 8, 256}},   {Family::Fp8, {16, 8, 16}},
    {Family::Fp8, {16, 8, 32}},
};
constexpr MmaSize kWmmaSizes[] = {
    {Family::Half, {16, 16, 16}},   {Family::Half, {32, 8, 16}},   {Family::Half, {8, 32, 16}},
    {Family::Bfloat, {16, 16, 16}}, {Family::Bfloat, {32, 8, 16}}, {Family::Bfloat, {8, 32, 16}},
    {Family::Bytes, {16, 16, 16}},  {Family::Bytes, {32, 8, 16}},  {Family::Bytes, {8, 32, 16}},
    {Family::Tensor, {16, 16, 8}},  {Family::Double, {8, 8, 4}},   {Family::Nibbles, {8, 8, 32}},
    {Family::Bits, {8, 8, 128}},
};

template <std::size_t N>
bool has_size(const MmaSize (&sizes)[N], Family family, Size size) {
  return std::any_of(std::begin(sizes), std::end(sizes),
                     [&](const MmaSize& entry) { return entry.family == family && entry.size == size; });
}

/// The products of a wmma tile: `parts` products of `shape`, each with a part of the registers.
struct Tile {
  MatrixShape shape;
  unsigned parts = 1;
  bool transposed = false;  // B^T A^T: A and B are exchanged
  bool split_a = false;     // parts are rows of the (transposed) product, else columns
};

Tile tile_of(Size size, MatrixType element) {
  Tile tile;
  tile.transposed = size.n == 32;
  tile.split_a = size.m == 32 || size.n == 32;
  tile.parts = size.m * size.n == 256 ? 2 : 1;
  tile.shape.rows = tile.parts == 2 ? 16 : 8;
  tile.shape.depth = static_cast<std::uint16_t>(size.k);
  tile.shape.a = tile.shape.b = element;
  return tile;
}

/// Number of used registers of a wmma fragment. PTX has 8 for A and B of f16, whatever the tile.
unsigned used_registers(const Tile& tile, char which, Type sum) {
  const bool is_a = (which == 'a') != tile.transposed;  // takes the role of A
  switch (which) {
    case 'a':
    case 'b':
      return is_a ? isa::a_registers(tile.shape) * (tile.split_a ? tile.parts : 1)
                  : isa::b_registers(tile.shape) * (tile.split_a ? 1 : tile.parts);
    default: return isa::c_registers(tile.shape, sum) * tile.parts;
  }
}

unsigned declared_registers(const Tile& tile, char which, Type sum) {
  const bool factor = which == 'a' || which == 'b';
  return factor && tile.shape.a == MatrixType::F16 ? 8 : used_registers(tile, which, sum);
}

}  // namespace

void Parser::aligned(Statement& s) {
  if (!s.modifiers.take("sync")) fail(s.opcode, fmt::format("'{}' lacks .sync", opcode_text(s)));
  // In PTX 6.0 to 6.2, wmma is implicitly aligned.
  const bool implied = s.opcode.text == "wmma" && module_.version_major == 6 && module_.version_minor < 3;
  if (!s.modifiers.take("aligned") && !implied)
    fail(s.opcode, fmt::format("'{}' lacks .aligned", opcode_text(s)));
}

/// Takes the modifiers for types of elements and sums, in order.
std::vector<std::string_view> Parser::take_matrix_types(Statement& s) {
  std::vector<std::string_view> types;
  for (Modifiers::Item& item : s.modifiers.items()) {
    const std::string_view text = item.token.text;
    if (item.used || (element_of(text) == MatrixType::None && text != "f32" && text != "s32")) continue;
    item.used = true;
    types.push_back(text);
  }
  return types;
}

std::vector<Operand> Parser::fragment(const Statement& s, const Arg& arg, Type type, std::size_t registers,
                                      bool result) {
  // PTX allows a single register without braces.
  const std::vector<Arg> elements = arg.kind == Arg::Kind::Vector ? arg.elements : std::vector<Arg>{arg};
  if (elements.size() != registers) {
    fail(arg.at, fmt::format("'{}' has {} register{} here, {} given", opcode_text(s), registers,
                             registers == 1 ? "" : "s", elements.size()));
  }
  std::vector<Operand> operands;
  for (const Arg& element : elements) {
    if (!result && element.kind != Arg::Kind::Name) fail(element.at, "a matrix is held by registers");
    operands.push_back(result ? destination(element, type) : source(element, type));
    if (!result && !operands.back().is_register()) fail(element.at, "a matrix is held by registers");
  }
  return operands;
}

/// Emits the products of one PTX instruction. No product may write a source of a later one, except for
/// registers that are created here.
void Parser::emit_products(const Statement& s, std::vector<MatrixProduct>& products) {
  std::vector<std::pair<Operand, Operand>> moves;  // from, to
  for (std::size_t i = 0; i < products.size(); ++i) {
    for (Operand& dst : products[i].inst.dst) {
      if (!dst || products[i].partial) continue;
      bool read_later = false;
      for (std::size_t later = i + 1; later < products.size(); ++later) {
        for (const Operand& src : products[later].inst.src)
          read_later = read_later || (src.kind == dst.kind && src.reg == dst.reg);
      }
      if (!read_later) continue;
      const bool wide = dst.kind == Operand::Kind::Reg64;
      const Operand fresh =
          wide ? Operand::reg64(new_register(Type::B64)) : Operand::reg32(new_register(Type::B32));
      moves.emplace_back(fresh, dst);
      dst = fresh;
    }
  }
  for (MatrixProduct& product : products) {
    product.inst.op = Opcode::Mma;
    emit(product.inst);
  }
  Sequence seq(*this, s);
  for (const auto& [from, to] : moves)
    seq.emit(Opcode::Mov, to.kind == Operand::Kind::Reg64 ? Type::B64 : Type::B32, to, {from});
}

namespace {

/// Sets the sources of an Mma.
void set_sources(Instruction& product, std::span<const Operand> a, std::span<const Operand> b,
                 std::span<const Operand> c) {
  auto at = product.src.begin();
  for (const auto& part : {a, b, c}) at = std::copy(part.begin(), part.end(), at);
}

}  // namespace

void Parser::op_mma(Statement& s) {
  aligned(s);
  const Size size = take_size(s.modifiers);
  if (size.m == 0) fail(s.opcode, fmt::format("'{}' lacks a size such as .m16n8k16", opcode_text(s)));
  const auto a_layout = take_layout(s.modifiers);
  const auto b_layout = take_layout(s.modifiers);
  if (!a_layout || !b_layout) fail(s.opcode, fmt::format("'{}' lacks the layouts .row.col", opcode_text(s)));
  const std::vector<std::string_view> types = take_matrix_types(s);
  if (types.size() != 4)
    fail(s.opcode,
         fmt::format("'{}' has the types of D, A, B and C: 4, {} given", opcode_text(s), types.size()));
  Instruction& inst = s.inst;
  MatrixShape& shape = inst.matrix;
  shape.a = element_of(types[1]);
  shape.b = element_of(types[2]);
  const Family family = family_of(shape.a);
  if (family == Family::None || family != family_of(shape.b) ||
      (family != Family::Bytes && family != Family::Nibbles && family != Family::Fp8 && shape.a != shape.b))
    fail(s.opcode, fmt::format("'{}': .{} and .{} are not multiplied with each other", opcode_text(s),
                               types[1], types[2]));
  inst.type = sum_type(types[0], family);
  inst.type2 = sum_type(types[3], family);
  // In PTX, C and D have the same type, except that m8n8k4 may widen.
  const bool quads = family == Family::Half && size == Size{8, 8, 4};
  const bool widens = quads && inst.type == Type::F32 && inst.type2 == Type::F16;
  if (inst.type == Type::None || inst.type2 == Type::None || (inst.type != inst.type2 && !widens))
    fail(s.opcode, fmt::format("'{}': .{} is not summed onto .{} as .{}", opcode_text(s), types[1], types[3],
                               types[0]));
  if (!has_size(kMmaSizes, family, size))
    fail(s.opcode,
         fmt::format("'{}': there is no m{}n{}k{} of .{}", opcode_text(s), size.m, size.n, size.k, types[1]));
  if (!quads && (*a_layout || !*b_layout))
    fail(s.opcode,
         fmt::format("'{}': the layouts are .row.col; others go with m8n8k4 of .f16", opcode_text(s)));
  if (family == Family::Bytes || family == Family::Nibbles) inst.sat = s.modifiers.take("satfinite");
  if (family == Family::Double) inst.rounding = take_rounding(s);
  if (family == Family::Bits) {
    if (!s.modifiers.take("popc"))
      fail(s.opcode, fmt::format("'{}' lacks .xor.popc or .and.popc", opcode_text(s)));
    inst.atomic = s.modifiers.take("xor")   ? isa::AtomicOp::Xor
                  : s.modifiers.take("and") ? isa::AtomicOp::And
                                            : isa::AtomicOp::None;
    if (inst.atomic == isa::AtomicOp::None)
      fail(s.opcode, fmt::format("'{}' lacks .xor or .and in front of .popc", opcode_text(s)));
  }
  finish_modifiers(s);
  want_args(s, 4, 4);
  const bool wide = family == Family::Double;
  const unsigned elements = wide ? 1 : 32 / isa::width_bits(shape.a);  // per register
  const unsigned a_count = quads ? 2 : size.m * size.k / 32 / elements;
  const unsigned b_count = quads ? 2 : size.n * size.k / 32 / elements;
  const auto sums = [&](Type type) {
    const unsigned each = quads ? 8 : size.m * size.n / 32;
    return type == Type::F16 ? each / 2 : each;
  };
  const Type factor = wide ? Type::F64 : Type::B32;
  const std::vector<Operand> d = fragment(s, s.args[0], register_type(inst.type), sums(inst.type), true);
  const std::vector<Operand> a = fragment(s, s.args[1], factor, a_count, false);
  const std::vector<Operand> b = fragment(s, s.args[2], factor, b_count, false);
  const std::vector<Operand> c = fragment(s, s.args[3], register_type(inst.type2), sums(inst.type2), false);
  shape.rows = static_cast<std::uint8_t>(size.m);
  shape.depth = static_cast<std::uint16_t>(size.k);
  std::vector<MatrixProduct> products;
  if (quads) {
    shape.quads = true;
    shape.a_columns = *a_layout;
    shape.b_rows = !*b_layout;
    for (unsigned half = 0; half < (inst.type == Type::F32 ? 2U : 1U); ++half) {
      Instruction& product = products.emplace_back(MatrixProduct{inst}).inst;
      product.matrix.half = static_cast<std::uint8_t>(half);
      std::copy_n(d.begin() + 4 * half, 4, product.dst.begin());
      const std::size_t first = inst.type2 == Type::F32 ? 4 * half : 0;
      set_sources(product, a, b, std::span(c).subspan(first, 4));
    }
  } else if (wide) {
    shape.rows = 8;
    shape.depth = 4;
    for (unsigned half = 0; half < size.m / 8; ++half) {
      std::array<Operand, 2> sum{c[2 * half], c[2 * half + 1]};
      for (unsigned step = 0; step < size.k / 4; ++step) {
        Instruction& product = products.emplace_back(MatrixProduct{inst}).inst;
        set_sources(product, std::span(a).subspan(size.m / 8 * step + half, 1), std::span(b).subspan(step, 1),
                    sum);
        const bool last = step + 1 == size.k / 4;
        for (unsigned i = 0; i < 2; ++i)
          sum[i] = product.dst[i] = last ? d[2 * half + i] : Operand::reg64(new_register(Type::F64));
        products.back().partial = !last;
      }
    }
  } else {
    Instruction& product = products.emplace_back(MatrixProduct{inst}).inst;
    std::copy(d.begin(), d.end(), product.dst.begin());
    set_sources(product, a, b, c);
  }
  emit_products(s, products);
}

void Parser::op_wmma(Statement& s) {
  if (s.modifiers.take("mma")) return wmma_product(s);
  if (s.modifiers.take("load")) {
    for (const std::string_view which : {"a", "b", "c"})
      if (s.modifiers.take(which)) return wmma_move(s, which);
    fail(s.opcode, fmt::format("'{}' lacks .a, .b or .c", opcode_text(s)));
  }
  if (s.modifiers.take("store")) {
    if (s.modifiers.take("d")) return wmma_move(s, "d");
    fail(s.opcode, fmt::format("'{}' lacks .d", opcode_text(s)));
  }
  fail(s.opcode, fmt::format("'{}' is neither .load, .mma nor .store", opcode_text(s)));
}

void Parser::wmma_product(Statement& s) {
  aligned(s);
  const Size size = take_size(s.modifiers);
  const auto a_layout = take_layout(s.modifiers);
  const auto b_layout = take_layout(s.modifiers);
  if (size.m == 0 || !a_layout || !b_layout)
    fail(s.opcode, fmt::format("'{}' lacks layouts or a size: .row.col.m16n16k16", opcode_text(s)));
  std::vector<std::string_view> types = take_matrix_types(s);
  // A and B of f16 are not named.
  if (types.size() == 2) {
    types = {types[0], "f16", "f16", types[1]};
  } else if (types.size() == 4 && types[1] == "f16") {
    types.clear();
  }
  const MatrixType element = types.size() == 4 ? element_of(types[1]) : MatrixType::None;
  const Family family = family_of(element);
  if (types.size() != 4 || element != element_of(types[2]) || !has_size(kWmmaSizes, family, size))
    fail(s.opcode, fmt::format("'{}': there is no such size of these types", opcode_text(s)));
  Instruction& inst = s.inst;
  inst.type = sum_type(types[0], family);
  inst.type2 = sum_type(types[3], family);
  if (inst.type == Type::None || inst.type2 == Type::None)
    fail(s.opcode, fmt::format("'{}': .{} is not summed onto .{} as .{}", opcode_text(s), types[1], types[3],
                               types[0]));
  if ((family == Family::Nibbles || family == Family::Bits) && (*a_layout || !*b_layout))
    fail(s.opcode, fmt::format("'{}': the layouts are .row.col", opcode_text(s)));
  if (family == Family::Bytes || family == Family::Nibbles) inst.sat = s.modifiers.take("satfinite");
  const bool to_finite = element == MatrixType::F16 && s.modifiers.take("satfinite");
  if (family == Family::Double) inst.rounding = take_rounding(s);
  if (family == Family::Bits) {
    const bool popc = s.modifiers.take("popc");
    inst.atomic = s.modifiers.take("and") ? isa::AtomicOp::And : isa::AtomicOp::Xor;
    if (inst.atomic == isa::AtomicOp::Xor && !s.modifiers.take("xor"))
      fail(s.opcode, fmt::format("'{}' lacks .xor.popc or .and.popc", opcode_text(s)));
    if (!popc) fail(s.opcode, fmt::format("'{}' lacks .popc", opcode_text(s)));
  }
  finish_modifiers(s);
  want_args(s, 4, 4);
  const Tile tile = tile_of(size, element);
  const Type factor = family == Family::Double ? Type::F64 : Type::B32;
  const auto read = [&](std::size_t index, char which, Type type, Type sum) {
    std::vector<Operand> registers =
        fragment(s, s.args[index], type, declared_registers(tile, which, sum), which == 'd');
    registers.resize(used_registers(tile, which, sum));
    return registers;
  };
  const std::vector<Operand> d = read(0, 'd', register_type(inst.type), inst.type);
  std::vector<Operand> a = read(1, 'a', factor, inst.type);
  std::vector<Operand> b = read(2, 'b', factor, inst.type);
  const std::vector<Operand> c = read(3, 'c', register_type(inst.type2), inst.type2);
  if (tile.transposed) std::swap(a, b);
  const unsigned a_each = isa::a_registers(tile.shape);
  const unsigned b_each = isa::b_registers(tile.shape);
  std::vector<MatrixProduct> products;
  for (unsigned part = 0; part < tile.parts; ++part) {
    Instruction& product = products.emplace_back(MatrixProduct{inst}).inst;
    product.matrix = tile.shape;
    const unsigned d_each = isa::c_registers(tile.shape, inst.type);
    const unsigned c_each = isa::c_registers(tile.shape, inst.type2);
    std::copy_n(d.begin() + part * d_each, d_each, product.dst.begin());
    set_sources(product, std::span(a).subspan(tile.split_a ? part * a_each : 0, a_each),
                std::span(b).subspan(tile.split_a ? 0 : part * b_each, b_each),
                std::span(c).subspan(part * c_each, c_each));
  }
  emit_products(s, products);
  if (to_finite) sums_to_finite(s, d);
}

/// Infinities become the largest finite number with their sign, NaN becomes +0.
void Parser::sums_to_finite(const Statement& s, const std::vector<Operand>& sums) {
  const bool halves = s.inst.type == Type::F16;
  const Type type = halves ? Type::F16x2 : Type::F32;
  const Operand largest = Operand::immediate(halves ? 0x7bff'7bffU : 0x7f7f'ffffU);
  const Operand lowest = Operand::immediate(halves ? 0xfbff'fbffU : 0xff7f'ffffU);
  Sequence seq(*this, s);
  for (const Operand& sum : sums) {
    if (!sum) continue;
    Operand numbers;
    if (halves) {
      numbers = seq.op(Opcode::Set, Type::U32, sum, sum);  // all ones in the half of a number that is not NaN
      function_->code.back().type2 = Type::F16x2;
      function_->code.back().compare = Compare::NUM;
    } else {
      numbers = seq.compare(Compare::NUM, Type::F32, sum, sum);
    }
    const Operand finite = seq.op(Opcode::Max, type, seq.op(Opcode::Min, type, sum, largest), lowest);
    if (halves) {
      seq.emit(Opcode::And, Type::B32, sum, {finite, numbers});
    } else {
      seq.emit(Opcode::Selp, Type::B32, sum, {finite, Operand::immediate(0), numbers});
    }
  }
}

namespace {

/// Position of a fragment register for lane 4 g + t. `outer`: the row of A or C, or the column of B. `inner`:
/// the position along k, or along the columns of C. The register starts with element (outer + g, inner + t *
/// elements) and continues along `inner`.
struct Part {
  unsigned outer = 0;
  unsigned inner = 0;
};

}  // namespace

/// wmma.load and wmma.store. Registers whose elements are adjacent in memory are moved at once. For 16-bit
/// elements that are adjacent in the other direction, each lane moves an adjacent pair, and lanes exchange
/// elements by movmatrix.
void Parser::wmma_move(Statement& s, std::string_view which) {
  aligned(s);
  const bool store = which == "d";
  const bool sums = which == "c" || store;
  const Size size = take_size(s.modifiers);
  const auto layout = take_layout(s.modifiers);
  if (size.m == 0 || !layout)
    fail(s.opcode, fmt::format("'{}' lacks a layout or a size: .row.m16n16k16", opcode_text(s)));
  s.inst.space = take_space(s);
  if (s.inst.space != Space::Generic && s.inst.space != Space::Global && s.inst.space != Space::Shared)
    fail(s.opcode, fmt::format("'{}' moves matrices of .global and .shared", opcode_text(s)));
  const std::vector<std::string_view> types = take_matrix_types(s);
  if (types.size() != 1) fail(s.opcode, fmt::format("'{}' has one type", opcode_text(s)));
  finish_modifiers(s);

  // The tile, for any of the types with these sums for C and D.
  MatrixType element = MatrixType::None;
  Type sum = Type::None;
  for (const ElementName& entry : kElements) {
    const Family family = family_of(entry.type);
    if (!has_size(kWmmaSizes, family, size)) continue;
    sum = sums ? sum_type(types[0], family) : Type::None;
    if (sums ? sum == Type::None : entry.text != types[0]) continue;
    element = entry.type;
    break;
  }
  if (element == MatrixType::None)
    fail(s.opcode, fmt::format("'{}': there is no such size of .{}", opcode_text(s), types[0]));
  const Family family = family_of(element);
  const bool whole_words = family == Family::Nibbles || family == Family::Bits;
  if (!sums && whole_words && *layout != (which == "b"))
    fail(s.opcode, fmt::format("'{}': .a is .row here, .b is .col", opcode_text(s)));
  want_args(s, 2, 3);
  const Tile tile = tile_of(size, element);
  const unsigned width = sums ? (sum == Type::F16 ? 16 : isa::width_bits(sum)) : isa::width_bits(element);
  const bool wide = width == 64;
  const Type held = sums ? register_type(sum) : wide ? Type::F64 : Type::B32;
  const Arg& registers = s.args[store ? 1 : 0];
  const std::vector<Operand> all =
      fragment(s, registers, held, declared_registers(tile, which[0], sum), !store);
  const unsigned used = used_registers(tile, which[0], sum);
  address(s, s.args[store ? 0 : 1]);

  // Distance between rows, or columns, in memory: a register or a number.
  const unsigned rows = which == "b" ? size.k : size.m;
  const unsigned columns = which == "a" ? size.k : size.n;
  const Operand stride =
      s.args.size() == 3 ? source(s.args[2], Type::U32) : Operand::immediate(*layout ? rows : columns);
  Sequence seq(*this, s);
  const auto number = [](std::uint64_t value) { return Operand::immediate(value & 0xffff'ffffU); };
  const bool known = stride.kind == Operand::Kind::Imm;
  Operand pitch = known ? number(stride.imm * width / 8) : stride;
  if (!known) {  // copied, since loads of the fragment may overwrite the register
    const unsigned times = std::bit_width(width > 8 ? width / 8 : 8 / width) - 1U;
    pitch = seq.op(width > 8 ? Opcode::Shl : Opcode::Shr, width > 8 ? Type::B32 : Type::U32, stride,
                   number(times));
  }

  // If inner elements are adjacent in memory, `outer` counts rows in memory.
  const bool b_like = !sums && (which == "b") != tile.transposed;  // takes the role of B
  const bool outer_is_row = sums ? !tile.transposed : which == "a";
  const bool side_by_side = outer_is_row != *layout;
  const unsigned elements = sums ? (width == 16 ? 2 : 1) : wide ? 1 : 32 / width;
  std::vector<Part> parts;
  for (unsigned reg = 0; reg < used; ++reg) {
    if (sums) {
      const unsigned each = used / tile.parts;
      const unsigned i = reg % each * elements;  // the lane's first element in this half
      const unsigned half = reg / each;
      const unsigned outer = 8 * (i / 2) + (tile.split_a ? 16 * half : 0);
      parts.push_back({outer, i % 2 + (tile.split_a ? 0 : 8 * half)});
    } else if (b_like) {
      const unsigned each = isa::b_registers(tile.shape);
      parts.push_back({8 * (reg / each), 4 * elements * (reg % each)});
    } else {
      const unsigned each = isa::a_registers(tile.shape);
      const unsigned high = tile.shape.rows == 16 ? 2 : 1;  // adjacent registers along k
      parts.push_back({16 * (reg / each) + 8 * (reg % each % high), 4 * elements * (reg % each / high)});
    }
  }

  // The lane's offset: g * `by_group` + t * `by_thread` bytes.
  const Operand lane = seq.op(Opcode::Mov, Type::U32, Operand::special(isa::Special::LaneId));
  const Operand group = seq.op(Opcode::Shr, Type::U32, lane, number(2));
  const Operand thread = seq.op(Opcode::And, Type::B32, lane, number(3));
  const unsigned inner_step = sums ? 2 : elements;  // from a lane's elements to the next lane's
  const bool across = !side_by_side && width == 16;
  const bool group_is_row = side_by_side || across;  // g counts rows in memory
  const unsigned along = group_is_row ? (across ? 4 : inner_step * width / 8) : width / 8;
  Operand row = group_is_row ? group : thread;
  if (!group_is_row && inner_step > 1)
    row = seq.op(Opcode::Shl, Type::B32, row, number(std::bit_width(inner_step) - 1U));
  const Operand column =
      seq.op(Opcode::Shl, Type::B32, group_is_row ? thread : group, number(std::bit_width(along) - 1U));
  const Operand place = seq.op(Opcode::MadLo, Type::U32, row, pitch, column);
  const std::int64_t offset = s.inst.offset;
  Operand base = s.inst.src[0];
  if (!base) base = number(0);
  if (base.kind == Operand::Kind::Symbol && s.inst.space != Space::Shared)
    base = seq.emit(Opcode::Mov, Type::U64, seq.wide_word(), {base});
  if (base.kind == Operand::Kind::Symbol) base = seq.op(Opcode::Mov, Type::U32, base);
  const bool long_address = base.kind == Operand::Kind::Reg64 || s.inst.space != Space::Shared;
  const auto plus = [&](Operand to, Operand factor, std::uint64_t times) {
    if (!long_address) return seq.op(Opcode::MadLo, Type::U32, factor, number(times), to);
    return seq.emit(Opcode::MadWide, Type::U32, seq.wide_word(), {factor, number(times), to});
  };
  const Operand first = plus(base, place, 1);

  // The address of the element `down` rows and `right` elements after the lane's first element.
  std::vector<std::pair<unsigned, Operand>> row_addresses{{0, first}};
  const auto address_of = [&](unsigned down, unsigned right) {
    const std::int64_t beside = offset + static_cast<std::int64_t>(right) * width / 8;
    if (known) return std::pair{first, beside + static_cast<std::int64_t>(down * pitch.imm)};
    auto found = std::find_if(row_addresses.begin(), row_addresses.end(),
                              [&](const auto& entry) { return entry.first == down; });
    if (found == row_addresses.end()) found = row_addresses.insert(found, {down, plus(first, pitch, down)});
    return std::pair{found->second, beside};
  };
  const auto access = [&](Type type, unsigned count, unsigned down, unsigned right) -> Instruction& {
    const auto [address, at] = address_of(down, right);
    Instruction& inst = seq.add(store ? Opcode::St : Opcode::Ld, type);
    inst.space = s.inst.space;
    inst.vector = static_cast<std::uint8_t>(count);
    inst.src[0] = address;
    inst.offset = at;
    return inst;
  };
  const auto move_one = [&](Operand reg, unsigned down, unsigned right) {
    Instruction& inst = access(wide ? Type::B64 : Type::B32, 1, down, right);
    (store ? inst.src[1] : inst.dst[0]) = reg;
  };
  for (unsigned reg = 0; reg < used; ++reg) {
    const Part& part = parts[reg];
    const unsigned down = side_by_side || across ? part.outer : part.inner;
    const unsigned right = side_by_side || across ? part.inner : part.outer;
    if (side_by_side && sums && width >= 32) {  // two registers
      if (reg % 2 != 0) continue;
      Instruction& inst = access(wide ? Type::B64 : Type::B32, 2, down, right);
      for (unsigned i = 0; i < 2; ++i) (store ? inst.src[1 + i] : inst.dst[i]) = all[reg + i];
    } else if (side_by_side) {
      move_one(all[reg], down, right);
    } else if (across) {
      const Operand moved = seq.word();
      if (store) seq.emit(Opcode::MovMatrix, Type::B16, moved, {all[reg]});
      move_one(moved, part.inner, part.outer);
      if (!store) seq.emit(Opcode::MovMatrix, Type::B16, all[reg], {moved});
    } else if (width == 8) {
      Operand bytes[4];
      for (unsigned i = 0; i < 4; ++i) {
        bytes[i] = seq.word();
        access(Type::U8, 1, down + i, right).dst[0] = bytes[i];
      }
      Instruction& pack = seq.add(Opcode::Pack, Type::B32);
      pack.vector = 4;
      pack.dst[0] = all[reg];
      std::copy(std::begin(bytes), std::end(bytes), pack.src.begin());
    } else {
      move_one(all[reg], down, right);
    }
  }
  for (std::size_t reg = used; reg < all.size(); ++reg)
    if (!store && all[reg] && all[reg % used]) seq.emit(Opcode::Mov, Type::B32, all[reg], {all[reg % used]});
}

void Parser::op_move_matrix(Statement& s) {
  aligned(s);
  if (!s.modifiers.take("m8n8") || !s.modifiers.take("trans") || !s.modifiers.take("b16"))
    fail(s.opcode, fmt::format("'{}': expected movmatrix.sync.aligned.m8n8.trans.b16", opcode_text(s)));
  finish_modifiers(s);
  want_args(s, 2, 2);
  Instruction& inst = s.inst;
  inst.op = Opcode::MovMatrix;
  inst.type = Type::B16;
  inst.dst[0] = destination(s.args[0], Type::B32);
  inst.src[0] = fragment(s, s.args[1], Type::B32, 1, false)[0];
  emit(inst);
}

void Parser::op_ldmatrix(Statement& s) {
  static constexpr std::pair<std::string_view, unsigned> kCounts[] = {{"x1", 1}, {"x2", 2}, {"x4", 4}};
  const bool store = s.opcode.text == "stmatrix";
  aligned(s);
  Instruction& inst = s.inst;
  inst.op = store ? Opcode::StMatrix : Opcode::LdMatrix;
  const unsigned count = s.modifiers.take_from(kCounts, 0U);
  if (!s.modifiers.take("m8n8") || count == 0 || !s.modifiers.take("b16"))
    fail(s.opcode, fmt::format("'{}': expected .m8n8, .x1, .x2 or .x4, and .b16", opcode_text(s)));
  inst.transpose = s.modifiers.take("trans");
  inst.space = take_space(s);
  if (inst.space != Space::Generic && inst.space != Space::Shared)
    fail(s.opcode, fmt::format("'{}' accesses .shared alone", opcode_text(s)));
  finish_modifiers(s);
  want_args(s, 2, 2);
  inst.vector = static_cast<std::uint8_t>(count);
  inst.type = Type::B32;
  const std::vector<Operand> matrices = fragment(s, s.args[store ? 1 : 0], Type::B32, count, !store);
  address(s, s.args[store ? 0 : 1]);
  if (!inst.src[0]) inst.src[0] = Operand::immediate(0);
  if (store) {
    std::copy(matrices.begin(), matrices.end(), inst.src.begin() + 1);
  } else {
    std::copy(matrices.begin(), matrices.end(), inst.dst.begin());
  }
  emit(inst);
}

void Parser::op_stmatrix(Statement& s) { op_ldmatrix(s); }

void Parser::op_cvt_narrow(Statement& s) {
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {
      {"rn", Rounding::RN}, {"rz", Rounding::RZ}, {"rna", Rounding::RNA}};
  static constexpr std::pair<std::string_view, Type> kNarrow[] = {
      {"tf32", Type::TF32}, {"e4m3x2", Type::E4M3x2}, {"e5m2x2", Type::E5M2x2}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Cvt;
  inst.rounding = s.modifiers.take_from(kRoundings, Rounding::None);
  const bool finite = s.modifiers.take("satfinite");
  inst.relu = s.modifiers.take("relu");
  inst.sat = finite;
  const auto& items = s.modifiers.items();
  const auto first = std::find_if(items.begin(), items.end(), [](const auto& item) { return !item.used; });
  const bool from_pair = first != items.end() && first->token.text == "f16x2";
  if (from_pair) s.modifiers.take("f16x2");
  const Type narrow = s.modifiers.take_from(kNarrow, Type::None);
  if (narrow == Type::TF32) {
    if (from_pair) fail(s.opcode, fmt::format("'{}' is no conversion that PTX has", opcode_text(s)));
    inst.type = narrow;
    inst.type2 = want_type(s, {Type::F32});
    finish_modifiers(s);
    want_args(s, 2, 2);
    if (inst.rounding == Rounding::None || (inst.rounding == Rounding::RNA && inst.relu))
      fail(s.opcode, fmt::format("'{}' needs .rna, or .rn or .rz, which may have .relu", opcode_text(s)));
    inst.dst[0] = destination(s.args[0], Type::B32);
    inst.src[0] = source(s.args[1], Type::F32);
    return emit(inst);
  }
  if (inst.rounding != Rounding::RN) fail(s.opcode, fmt::format("'{}' needs .rn", opcode_text(s)));
  if (from_pair) {  // f16x2 from fp8, exact
    if (finite) fail(s.opcode, fmt::format("'{}' takes no .satfinite", opcode_text(s)));
    inst.type = Type::F16x2;
    inst.type2 = narrow;
    finish_modifiers(s);
    want_args(s, 2, 2);
    inst.dst[0] = destination(s.args[0], Type::B32);
    inst.src[0] = source(s.args[1], Type::B16);
    return emit(inst);
  }
  if (!finite) fail(s.opcode, fmt::format("'{}' needs .satfinite", opcode_text(s)));
  inst.type = narrow;
  inst.type2 = want_type(s, {Type::F32, Type::F16x2});
  finish_modifiers(s);
  const std::size_t sources = inst.type2 == Type::F32 ? 2 : 1;  // the first source becomes the upper value
  want_args(s, 1 + sources, 1 + sources);
  inst.dst[0] = destination(s.args[0], Type::B16);
  for (std::size_t i = 0; i < sources; ++i)
    inst.src[i] = source(s.args[1 + i], sources == 2 ? Type::F32 : Type::B32);
  emit(inst);
}

}  // namespace gpumux::ptx
