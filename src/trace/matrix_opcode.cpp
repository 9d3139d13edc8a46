#include "trace/matrix_opcode.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::trace {
namespace {

using isa::MatrixType;

struct MatrixName {
  std::string_view text;
  MatrixType type;
};

/// Types in opcodes, by the rate at which the tensor unit executes them. 6-bit floats have the rate of 8-bit
/// floats, 4-bit floats that of 4-bit integers (NVIDIA's white paper on Blackwell). F16, F32 and S32 may also
/// name only the accumulator.
constexpr MatrixName kTypes[] = {
    {"TF32", MatrixType::TF32}, {"S8", MatrixType::S8},     {"U8", MatrixType::U8},
    {"E4M3", MatrixType::E4M3}, {"E5M2", MatrixType::E5M2}, {"E3M2", MatrixType::E4M3},
    {"E2M3", MatrixType::E4M3}, {"S4", MatrixType::S4},     {"U4", MatrixType::U4},
    {"E2M1", MatrixType::S4},
};

constexpr MatrixName kBases[] = {
    {"HMMA", MatrixType::F16}, {"HGMMA", MatrixType::F16}, {"IMMA", MatrixType::S8},
    {"IGMMA", MatrixType::S8}, {"QMMA", MatrixType::E4M3}, {"QGMMA", MatrixType::E4M3},
    {"OMMA", MatrixType::S4},  {"BMMA", MatrixType::B1},   {"BGMMA", MatrixType::B1},
    {"DMMA", MatrixType::F64},
};

constexpr std::uint64_t kMostProducts = std::uint64_t{1} << 22U;  // per warp; above all existing shapes

/// The products of one of the four warps of a warpgroup, for a shape such as "64x256x16".
std::optional<std::uint64_t> of_warpgroup(std::string_view shape) {
  std::uint64_t products = 1;
  unsigned parts = 0;
  while (true) {
    const std::size_t end = std::min(shape.find('x'), shape.size());
    const std::optional<std::uint64_t> size = parse_uint(shape.substr(0, end));
    if (!size || *size == 0 || *size > 4096) return std::nullopt;
    products *= *size;
    ++parts;
    if (end == shape.size()) break;
    shape.remove_prefix(end + 1);
  }
  if (parts != 3 || products > 4 * kMostProducts) return std::nullopt;
  return products / 4;
}

/// The products of a warp, for a shape such as "16816" (16 rows, 8 columns, 16 deep) or "8832". There are
/// always 8 columns.
std::optional<std::uint64_t> of_warp(std::string_view shape) {
  const bool tall = shape.starts_with("168");
  if (!tall && !shape.starts_with("88")) return std::nullopt;
  const std::optional<std::uint64_t> depth = parse_uint(shape.substr(tall ? 3 : 2));
  if (!depth || *depth == 0 || *depth > 4096) return std::nullopt;
  return (tall ? 16U : 8U) * 8U * *depth;
}

}  // namespace

std::optional<std::uint32_t> matrix_multiply_adds(std::string_view opcode) {
  const std::size_t dot = std::min(opcode.find('.'), opcode.size());
  const auto base = std::find_if(std::begin(kBases), std::end(kBases),
                                 [&](const MatrixName& name) { return name.text == opcode.substr(0, dot); });
  if (base == std::end(kBases)) return std::nullopt;
  std::optional<std::uint64_t> products;
  std::uint32_t slowest = 0;
  bool sparse = false;
  bool step = false;
  bool of_f32 = false;
  bool quads = false;
  constexpr std::uint32_t kUnit = 16;  // a multiple of every type's rate relative to f16
  for (std::string_view rest = opcode.substr(dot); !rest.empty();) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    if (word == "SP") sparse = true;
    step = step || word.starts_with("STEP");
    of_f32 = of_f32 || word == "F32";
    quads = quads || word == "884";
    if (!products) products = word.find('x') == std::string_view::npos ? of_warp(word) : of_warpgroup(word);
    for (const MatrixName& name : kTypes)
      if (name.text == word) slowest = std::max(slowest, isa::multiply_adds_of(name.type, kUnit));
  }
  if (!products) return std::nullopt;
  // HMMA.884: each of four quads of threads computes a product of 8x8x4, in two steps with sums of f16 and
  // four steps with f32.
  if (base->text == "HMMA" && quads) *products = *products * 4 / (!step ? 1 : of_f32 ? 4 : 2);
  if (slowest == 0) slowest = isa::multiply_adds_of(base->type, kUnit);
  const std::uint64_t all = *products * slowest / kUnit / (sparse ? 2 : 1);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(all, 1, kMostProducts));
}

}  // namespace gpumux::trace
