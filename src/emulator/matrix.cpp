// Matrix products, and transfers of matrices between shared memory and registers. All lanes of a warp
// participate.
#include <span>

#include <fmt/core.h>

#include "emulator/addresses.hpp"
#include "emulator/many_sources.hpp"
#include "emulator/matrix_arithmetic.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::MatrixShape;
using isa::MatrixType;
using isa::Opcode;
using isa::Space;
using isa::Type;

void want_all_lanes(const Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes == kAllLanes) return;
  const auto missing = static_cast<u32>(std::countr_one(lanes));
  warp.block->fault(
      warp, missing,
      fmt::format("{} is executed by {} of 32 lanes; all lanes of a warp have to execute it together",
                  isa::name(op.inst->op), std::popcount(lanes)));
}

/// The registers of an Mma's operands, as rows of 32 lanes.
class Fragments {
 public:
  Fragments(Warp& warp, const Op& op)
      : warp_(warp),
        op_(op),
        sources_(warp, op),
        b_(isa::a_registers(op.inst->matrix)),
        c_(b_ + isa::b_registers(op.inst->matrix)) {}
  template <class T = u32>
  [[nodiscard]] const T* a(u32 reg) const {
    return row<T>(reg);
  }
  template <class T = u32>
  [[nodiscard]] const T* b(u32 reg) const {
    return row<T>(b_ + reg);
  }
  template <class T = u32>
  [[nodiscard]] const T* c(u32 reg) const {
    return row<T>(c_ + reg);
  }
  template <class T = u32>
  void put(u32 reg, const T* values) const {
    if (op_.inst->dst[reg]) std::memcpy(warp_.dst<T>(op_, reg), values, sizeof(T) * kWarpSize);
  }

 private:
  template <class T>
  [[nodiscard]] const T* row(u32 index) const {
    return sources_.row<T>(index);
  }
  Warp& warp_;
  const Op& op_;
  ManySources sources_;
  u32 b_;
  u32 c_;
};

// A position in a matrix. isa::MatrixShape defines the positions of elements.
struct Place {
  u32 row;
  u32 first;  // k of the register's first element
};
Place place_in_a(const MatrixShape& m, u32 lane, u32 reg, u32 elements) {
  const u32 high = m.rows == 16 ? reg % 2 : 0;
  const u32 part = m.rows == 16 ? reg / 2 : reg;
  return {lane / 4 + 8 * high, elements * (4 * part + lane % 4)};
}

/// Calls visit_a(row, k, bits) for all elements of A, and visit_b(k, column, bits) for all elements of B.
template <class VisitA, class VisitB>
void for_each_element(const MatrixShape& m, const Fragments& fragments, VisitA visit_a, VisitB visit_b) {
  const u32 width = isa::width_bits(m.a);
  const u32 elements = 32 / width;
  const u32 mask = width == 32 ? ~u32{0} : (1U << width) - 1;
  for (u32 reg = 0; reg < isa::a_registers(m); ++reg) {
    const u32* values = fragments.a(reg);
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      const Place at = place_in_a(m, lane, reg, elements);
      for (u32 j = 0; j < elements; ++j) visit_a(at.row, at.first + j, (values[lane] >> (j * width)) & mask);
    }
  }
  for (u32 reg = 0; reg < isa::b_registers(m); ++reg) {
    const u32* values = fragments.b(reg);
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      const u32 first = elements * (4 * reg + lane % 4);
      for (u32 j = 0; j < elements; ++j) visit_b(first + j, lane / 4, (values[lane] >> (j * width)) & mask);
    }
  }
}

/// C and D of 16 or 8 rows as 32-bit words. An f16 element is in the low half of its word.
using Accumulators = std::array<std::array<u32, kMatrixColumns>, 16>;

void read_c(const MatrixShape& m, const Fragments& fragments, bool half, Accumulators& c) {
  for (u32 i = 0; i < m.rows / 4U; ++i) {
    const u32* values = fragments.c(half ? i / 2 : i);
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      const u32 word = values[lane];
      c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2] = half ? (word >> (16 * (i % 2))) & 0xffffU : word;
    }
  }
}

void write_d(const MatrixShape& m, const Fragments& fragments, bool half, const Accumulators& d) {
  const u32 per_register = half ? 2 : 1;
  for (u32 reg = 0; reg < m.rows / 4U / per_register; ++reg) {
    alignas(64) u32 values[kWarpSize];
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      const auto element = [&](u32 i) { return d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]; };
      values[lane] = half ? element(2 * reg) | element(2 * reg + 1) << 16U : element(reg);
    }
    fragments.put(reg, values);
  }
}

MatrixElement factor(u32 bits, MatrixType type) {
  switch (type) {
    case MatrixType::F16: return matrix_element(bits, kHalf, kFactorFraction);
    case MatrixType::BF16: return matrix_element(bits, kBfloat, kFactorFraction);
    case MatrixType::TF32: return matrix_element(bits >> 13U, kTensorFloat, kFactorFraction);
    case MatrixType::E4M3: return matrix_element(bits, kE4M3, kFactorFraction, true);
    case MatrixType::E5M2: return matrix_element(bits, kE5M2, kFactorFraction);
    default: return {};
  }
}

SumRule rule_of(MatrixType type) {
  switch (type) {
    case MatrixType::TF32: return {4, 24, 23};
    case MatrixType::E4M3:
    case MatrixType::E5M2: return {16, 13, 13};
    default: return {8, 24, 23};
  }
}

constexpr u32 kMostFloats = 32;  // largest depth: fp8

void multiply_floats(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const MatrixShape& m = op.inst->matrix;
  const Fragments fragments(warp, op);
  std::array<MatrixRow<kMostFloats>, 16> a;
  MatrixBlock<kMostFloats> b;
  for_each_element(
      m, fragments, [&](u32 row, u32 k, u32 bits) { a[row].set(k, factor(bits, m.a)); },
      [&](u32 k, u32 column, u32 bits) { b.set(k, column, factor(bits, m.b)); });
  const bool c_half = op.inst->type2 == Type::F16;
  const bool to_half = op.inst->type == Type::F16;
  Accumulators d;
  read_c(m, fragments, c_half, d);
  const SumRule rule = rule_of(m.a);
  for (u32 row = 0; row < m.rows; ++row)
    multiply_row(a[row], b, m.depth, rule, c_half, to_half, d[row].data());
  write_d(m, fragments, to_half, d);
}

/// Volta's four concurrent products (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
/// type").
void multiply_quads(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const MatrixShape& m = op.inst->matrix;
  const Fragments fragments(warp, op);
  const bool c_half = op.inst->type2 == Type::F16;
  const bool to_half = op.inst->type == Type::F16;
  alignas(64) u32 out[4][kWarpSize];
  const auto half_of = [](const u32* values, u32 lane, u32 odd) {
    return (values[lane] >> (16 * odd)) & 0xffffU;
  };
  for (u32 quad = 0; quad < 4; ++quad) {
    const auto lane_of = [quad](u32 i) { return 4 * quad + i % 4 + (i < 4 ? 0 : 16); };  // i: 0 to 7
    std::array<MatrixRow<4>, 8> a;
    MatrixBlock<4> b;
    for (u32 i = 0; i < 8; ++i) {
      for (u32 j = 0; j < 4; ++j) {
        const MatrixElement of_a = factor(half_of(fragments.a(j / 2), lane_of(i), j % 2), MatrixType::F16);
        const MatrixElement of_b = factor(half_of(fragments.b(j / 2), lane_of(i), j % 2), MatrixType::F16);
        if (m.a_columns) {
          a[j + i / 4 * 4].set(i % 4, of_a);
        } else {
          a[i].set(j, of_a);
        }
        if (m.b_rows) {
          b.set(i % 4, j + i / 4 * 4, of_b);
        } else {
          b.set(j, i, of_b);
        }
      }
    }
    // Position of element i of lane e's f32 results. The registers hold one half of the columns.
    const auto row_of = [](u32 i, u32 e) { return i % 2 + (e & 2U) + i / 4 * 4; };
    const auto column_of = [&m](u32 i, u32 e) { return 4U * m.half + (i & 2U) + (e & 1U); };
    std::array<std::array<u32, kMatrixColumns>, 8> d{};
    for (u32 i = 0; i < 8; ++i) {
      for (u32 e = 0; e < 8; ++e) {
        if (c_half) {
          d[i][e] = half_of(fragments.c(e / 2), lane_of(i), e % 2);
        } else if (e < 4) {
          d[row_of(i, e)][column_of(i, e)] = fragments.c(e)[lane_of(i)];
        }
      }
    }
    for (u32 row = 0; row < 8; ++row)
      multiply_row(a[row], b, 4, rule_of(MatrixType::F16), c_half, to_half, d[row].data());
    for (u32 i = 0; i < 8; ++i) {
      for (u32 e = 0; e < 4; ++e) {
        out[e][lane_of(i)] =
            to_half ? d[i][2 * e] | d[i][2 * e + 1] << 16U : d[row_of(i, e)][column_of(i, e)];
      }
    }
  }
  for (u32 reg = 0; reg < 4; ++reg) fragments.put(reg, out[reg]);
}

void multiply_integers(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const MatrixShape& m = op.inst->matrix;
  const Fragments fragments(warp, op);
  const auto extended = [](u32 bits, MatrixType type) {
    const u32 unused = 32 - isa::width_bits(type);
    const bool is_signed = type == MatrixType::S8 || type == MatrixType::S4;
    return is_signed ? static_cast<i32>(bits << unused) >> unused : static_cast<i32>(bits);
  };
  constexpr u32 kMostDepth = 64;
  i32 a[16][kMostDepth];
  alignas(64) i32 b[kMostDepth][kMatrixColumns];
  for_each_element(
      m, fragments, [&](u32 row, u32 k, u32 bits) { a[row][k] = extended(bits, m.a); },
      [&](u32 k, u32 column, u32 bits) { b[k][column] = extended(bits, m.b); });
  Accumulators d;
  read_c(m, fragments, false, d);
  for (u32 row = 0; row < m.rows; ++row) {
    i32 sum[kMatrixColumns] = {};  // sums of at most 64 products of 16 bits
    for (u32 k = 0; k < m.depth; ++k)
      for (u32 n = 0; n < kMatrixColumns; ++n) sum[n] += a[row][k] * b[k][n];
    for (u32 n = 0; n < kMatrixColumns; ++n)
      d[row][n] = integer_result(i64{sum[n]} + static_cast<i32>(d[row][n]), op.inst->sat);
  }
  write_d(m, fragments, false, d);
}

void multiply_bits(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const MatrixShape& m = op.inst->matrix;
  const Fragments fragments(warp, op);
  u32 a[16][8];  // words of 32 elements
  u32 b[8][kMatrixColumns];
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    for (u32 reg = 0; reg < isa::a_registers(m); ++reg) {
      const Place at = place_in_a(m, lane, reg, 1);
      a[at.row][at.first] = fragments.a(reg)[lane];
    }
    for (u32 reg = 0; reg < isa::b_registers(m); ++reg)
      b[4 * reg + lane % 4][lane / 4] = fragments.b(reg)[lane];
  }
  const bool is_xor = op.inst->atomic == isa::AtomicOp::Xor;
  Accumulators d;
  read_c(m, fragments, false, d);
  for (u32 row = 0; row < m.rows; ++row) {
    for (u32 word = 0; word < m.depth / 32U; ++word) {
      for (u32 n = 0; n < kMatrixColumns; ++n) {
        const u32 both = is_xor ? a[row][word] ^ b[word][n] : a[row][word] & b[word][n];
        d[row][n] += static_cast<u32>(std::popcount(both));
      }
    }
  }
  write_d(m, fragments, false, d);
}

void multiply_doubles(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const MatrixShape& m = op.inst->matrix;
  const Fragments fragments(warp, op);
  alignas(64) double d[2][kWarpSize];
  const RoundingScope scope(op.inst->rounding);
  for (u32 i = 0; i < 2; ++i) {
    const auto* c = fragments.c<double>(i);
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      double sum = c[lane];
      for (u32 k = 0; k < m.depth; ++k) {
        const double x = fragments.a<double>(0)[4 * (lane / 4) + k];
        const double y = fragments.b<double>(0)[4 * (2 * (lane % 4) + i) + k];
        sum = with_nan(std::fma(x, y, sum), x, y, sum);
      }
      d[i][lane] = sum;
    }
  }
  for (u32 i = 0; i < 2; ++i) fragments.put(i, d[i]);
}

/// The shared memory addresses of the rows of 16 bytes that an LdMatrix or StMatrix accesses.
void matrix_addresses(Addresses& a, Warp& warp, const Op& op, LaneMask lanes, AccessKind kind) {
  want_all_lanes(warp, op, lanes);
  constexpr u32 kRowSize = 16;
  const u32 rows = 8U * op.inst->vector;
  const LaneMask named = rows == kWarpSize ? kAllLanes : (LaneMask{1} << rows) - 1;
  make_addresses(a, warp, op, named);
  if (op.inst->space == Space::Generic) {
    GenericParts parts;
    const LaneMask inside = parts.select(a, named, Space::Shared);
    if (inside != named) {
      const auto lane = static_cast<u32>(std::countr_one(inside));
      warp.block->fault(warp, lane,
                        fmt::format("{} of 16 bytes at 0x{:x}, which is not in shared memory",
                                    isa::name(op.inst->op), a.at[lane]));
    }
    a = parts.part;
  }
  check_bounded(a, warp, named, kRowSize, kRowSize, kind, Space::Shared, warp.block->launch().shared_bytes);
  record_shared(warp, a, named, kRowSize, false);
}

void load_matrix(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  matrix_addresses(a, warp, op, lanes, AccessKind::Read);
  const std::byte* shared = warp.block->shared();
  for (u32 matrix = 0; matrix < op.inst->vector; ++matrix) {
    alignas(64) u32 values[kWarpSize];
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      if (op.inst->transpose) {
        u16 pair[2];
        for (u32 i = 0; i < 2; ++i)
          std::memcpy(&pair[i], shared + a.at[8 * matrix + 2 * (lane % 4) + i] + 2 * (lane / 4), 2);
        values[lane] = pair[0] | u32{pair[1]} << 16U;
      } else {
        std::memcpy(&values[lane], shared + a.at[8 * matrix + lane / 4] + 4 * (lane % 4), 4);
      }
    }
    if (op.inst->dst[matrix]) std::memcpy(warp.dst<u32>(op, matrix), values, sizeof(values));
  }
}

void store_matrix(Warp& warp, const Op& op, LaneMask lanes) {
  Addresses a;
  matrix_addresses(a, warp, op, lanes, AccessKind::Write);
  std::byte* shared = warp.block->shared();
  for (u32 matrix = 0; matrix < op.inst->vector; ++matrix) {
    const u32* values = warp.src<u32>(op, 1 + matrix);
    for (u32 lane = 0; lane < kWarpSize; ++lane) {
      if (op.inst->transpose) {
        for (u32 i = 0; i < 2; ++i) {
          const auto element = static_cast<u16>(values[lane] >> (16 * i));
          std::memcpy(shared + a.at[8 * matrix + 2 * (lane % 4) + i] + 2 * (lane / 4), &element, 2);
        }
      } else {
        std::memcpy(shared + a.at[8 * matrix + lane / 4] + 4 * (lane % 4), &values[lane], 4);
      }
    }
  }
}

void move_matrix(Warp& warp, const Op& op, LaneMask lanes) {
  want_all_lanes(warp, op, lanes);
  const u32* from = warp.src<u32>(op, 0);
  alignas(64) u32 values[kWarpSize];
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    const u32 column = lane / 4;
    const auto element = [&](u32 row) {
      return (from[4 * row + column / 2] >> (16 * (column % 2))) & 0xffffU;
    };
    values[lane] = element(2 * (lane % 4)) | element(2 * (lane % 4) + 1) << 16U;
  }
  std::memcpy(warp.dst<u32>(op), values, sizeof(values));
}

Handler select_product(const Instruction& inst) {
  if (inst.matrix.quads) return &multiply_quads;
  switch (inst.matrix.a) {
    case MatrixType::None: return nullptr;
    case MatrixType::F16:
    case MatrixType::BF16:
    case MatrixType::TF32:
    case MatrixType::E4M3:
    case MatrixType::E5M2: return &multiply_floats;
    case MatrixType::F64: return &multiply_doubles;
    case MatrixType::S8:
    case MatrixType::U8:
    case MatrixType::S4:
    case MatrixType::U4: return &multiply_integers;
    case MatrixType::B1: return &multiply_bits;
  }
  return nullptr;
}

}  // namespace

Handler select_matrix(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Mma: return select_product(inst);
    case Opcode::LdMatrix: return &load_matrix;
    case Opcode::StMatrix: return &store_matrix;
    case Opcode::MovMatrix: return &move_matrix;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
