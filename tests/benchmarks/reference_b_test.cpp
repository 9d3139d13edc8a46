// CPU references of lud, spmv, stencil, sgemm, atax, 3mm and cutcp against cases worked by hand, the rules
// for the comparison of results, and sizes that create() must refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/cutcp/cutcp_reference.hpp"
#include "benchmarks/lud/lud_reference.hpp"
#include "benchmarks/products_reference.hpp"
#include "benchmarks/spmv/spmv_reference.hpp"
#include "benchmarks/stencil/stencil_reference.hpp"
#include "benchmarks/tolerance.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

using Doubles = std::vector<double>;

TEST(LudReference, FactorsThreeByThree) {
  // {2 1 1; 4 3 3; 8 7 9} = {1 0 0; 2 1 0; 4 3 1} {2 1 1; 0 1 1; 0 0 2}
  EXPECT_EQ(lud_reference({2, 1, 1, 4, 3, 3, 8, 7, 9}, 3), (Doubles{2, 1, 1, 2, 1, 1, 4, 3, 2}));
}

TEST(LudReference, DiagonalMatrixIsItsOwnFactor) {
  EXPECT_EQ(lud_reference({3, 0, 0, 5}, 2), (Doubles{3, 0, 0, 5}));
}

SparseRows four_rows() {
  // row 0: (1: 2)   row 1: (0: 1) (2: 3) (3: 4)   row 2: empty   row 3: (0: 5) (3: 6)
  return {{0, 1, 4, 4, 6}, {1, 0, 2, 3, 0, 3}, {2, 1, 3, 4, 5, 6}};
}

TEST(SpmvReference, MultipliesByRows) {
  EXPECT_EQ(spmv_reference(four_rows(), {1, 10, 100, 1000}), (Doubles{20, 4301, 0, 6005}));
}

TEST(JaggedDiagonals, SortsRowsAndPadsTheGroup) {
  const JaggedDiagonals jds = to_jagged_diagonals(four_rows());
  EXPECT_EQ(jds.permutation, (std::vector<std::int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(jds.group_length, (std::vector<std::int32_t>{3}));
  EXPECT_EQ(jds.diagonal_start, (std::vector<std::int32_t>{0, 32, 64}));
  ASSERT_EQ(jds.value.size(), 96U);
  EXPECT_EQ(jds.value[0], 1);   // row 1, first element
  EXPECT_EQ(jds.value[1], 5);   // row 3
  EXPECT_EQ(jds.value[2], 2);   // row 0
  EXPECT_EQ(jds.value[3], 0);   // row 2 is empty: padding
  EXPECT_EQ(jds.value[33], 6);  // row 3, second element
  EXPECT_EQ(jds.column[33], 3);
  EXPECT_EQ(jds.value[34], 0);
  EXPECT_EQ(jds.value[64], 4);  // row 1, third element
}

TEST(JaggedDiagonals, LaterDiagonalsCoverFewerGroups) {
  SparseRows matrix;  // 40 rows of two elements and 30 of one: groups of length 2, 2 and 1
  for (int row = 0; row < 70; ++row) {
    for (int k = 0; k < (row < 40 ? 2 : 1); ++k) {
      matrix.column.push_back(k);
      matrix.value.push_back(1);
    }
    matrix.start.push_back(matrix.column.size());
  }
  const JaggedDiagonals jds = to_jagged_diagonals(matrix);
  EXPECT_EQ(jds.group_length, (std::vector<std::int32_t>{2, 2, 1}));
  EXPECT_EQ(jds.diagonal_start, (std::vector<std::int32_t>{0, 96}));
  EXPECT_EQ(jds.value.size(), 96U + 64U);
}

TEST(JaggedDiagonals, GiveTheSameProductAsRows) {
  const SparseRows matrix = four_rows();
  const std::vector<float> x{3, 1, 4, 1};
  const JaggedDiagonals jds = to_jagged_diagonals(matrix);
  Doubles y(4, -1);
  for (std::size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::int32_t k = 0; k < jds.group_length[row / 32]; ++k) {
      const std::size_t at = static_cast<std::size_t>(jds.diagonal_start[static_cast<std::size_t>(k)]) + row;
      sum += double{jds.value[at]} * double{x[static_cast<std::size_t>(jds.column[at])]};
    }
    y[static_cast<std::size_t>(jds.permutation[row])] = sum;
  }
  EXPECT_EQ(y, spmv_reference(matrix, x));
}

TEST(StencilReference, OnlyInteriorPointsChange) {
  std::vector<float> grid(27, 1.0F);
  grid[13] = 4;  // the only interior point
  const Doubles one = stencil_reference(grid, 3, 3, 3, 0.5, 0.25, 1);
  EXPECT_EQ(one[13], 0.5 * 4 + 0.25 * 6);
  for (std::size_t i = 0; i < 27; ++i) {
    if (i != 13) {
      EXPECT_EQ(one[i], 1);
    }
  }
  EXPECT_EQ(stencil_reference(grid, 3, 3, 3, 0.5, 0.25, 2)[13], 0.5 * 3.5 + 0.25 * 6);
}

TEST(StencilReference, ReadsAllSixNeighbours) {
  std::vector<float> grid(4 * 3 * 3, 0.0F);
  const std::size_t at = 1 * 12 + 1 * 4 + 1;
  grid[at - 1] = 1;
  grid[at + 1] = 2;  // itself interior
  grid[at - 4] = 4;
  grid[at + 4] = 8;
  grid[at - 12] = 16;
  grid[at + 12] = 32;
  const Doubles next = stencil_reference(grid, 4, 3, 3, 1, 1, 1);
  EXPECT_EQ(next[at], 63);
  EXPECT_EQ(next[at + 1], 2);
}

TEST(ProductReference, TwoByThreeTimesThreeByOne) {
  const std::vector<float> left{1, 2, 3, 4, 5, 6};
  const std::vector<float> right{1, 0, -1};
  EXPECT_EQ(product_reference(left, right, 2, 3, 1), (Doubles{-2, -2}));
}

TEST(ProductReference, RectangularInBothDirections) {
  const std::vector<float> left{1, 2};      // 2 x 1
  const std::vector<float> right{3, 4, 5};  // 1 x 3
  EXPECT_EQ(product_reference(left, right, 2, 1, 3), (Doubles{3, 4, 5, 6, 8, 10}));
}

TEST(AtaxReference, TwoByTwo) {
  // A x = {1 2; 3 4} {1, 1} = {3, 7}; A^T {3, 7} = {3 + 21, 6 + 28}
  EXPECT_EQ(atax_reference({1, 2, 3, 4}, {1, 1}, 2, 2), (Doubles{24, 34}));
}

TEST(AtaxReference, MoreRowsThanColumns) {
  // A = {1; 2; 3}, x = {2}: A x = {2, 4, 6}, y = 2 + 8 + 18
  EXPECT_EQ(atax_reference({1, 2, 3}, {2}, 3, 1), (Doubles{28}));
}

TEST(SgemmReference, ColumnMajorWithTransposedB) {
  // a = {1 3; 2 4} (2 x 2), b = {5 6} (1 x 2), a b^T = {1*5 + 3*6, 2*5 + 4*6} = {23, 34}
  EXPECT_EQ(sgemm_reference({1, 2, 3, 4}, {5, 6}, {100, 200}, 2, 1, 2, 2, 0.5), (Doubles{96, 168}));
}

Lattice one_region() { return {1, 1, 1}; }

TEST(CutcpReference, OneAtomBetweenTwoPoints) {
  // The atom is 0.25 from the points (0,0,0) and (0.5,0,0); cutoff 1: q/r (1 - r^2)^2.
  const Potential potential = cutcp_reference({{0.25F, 0, 0, 2}}, one_region(), 1);
  const double expected = 2 / 0.25 * (1 - 0.0625) * (1 - 0.0625);
  EXPECT_DOUBLE_EQ(potential.value[0], expected);
  EXPECT_DOUBLE_EQ(potential.value[1], expected);
  EXPECT_GT(potential.value[2], 0);    // r = 0.75
  EXPECT_EQ(potential.value[3], 0);    // r = 1.25
  EXPECT_GT(potential.value[8], 0);    // y neighbour, r^2 = 0.3125
  EXPECT_GT(potential.value[64], 0);   // z neighbour
  EXPECT_EQ(potential.value[128], 0);  // z = 1, r^2 = 1.0625
}

TEST(CutcpReference, OppositeChargesCancel) {
  const Potential potential = cutcp_reference({{1.25F, 1, 1, 1}, {1.25F, 1, 1, -1}}, one_region(), 3);
  for (std::size_t i = 0; i < potential.value.size(); ++i) {
    EXPECT_EQ(potential.value[i], 0);
    EXPECT_GT(potential.allowed[i], 0);
  }
}

TEST(CutcpNeighbours, AxisDistances) {
  // A region's points span [0, 3.5], bins are 4 long.
  EXPECT_EQ(axis_distance(0), 0.0F);
  EXPECT_EQ(axis_distance(1), 0.5F);
  EXPECT_EQ(axis_distance(2), 4.5F);
  EXPECT_EQ(axis_distance(-1), 0.0F);
  EXPECT_EQ(axis_distance(-2), 4.0F);
}

TEST(CutcpNeighbours, CutoffOfOneBinReachesTheAdjacentBins) {
  EXPECT_EQ(neighbour_offsets(4).size(), 27U);
  EXPECT_GT(neighbour_offsets(4.25F).size(), 27U);
}

TEST(CutcpNeighbours, ListFitsTheConstantArray) { EXPECT_LE(neighbour_offsets(12).size(), 512U); }

TEST(CutcpBins, NinthAtomOverflows) {
  std::vector<Atom> atoms;
  for (int i = 0; i < 9; ++i) atoms.push_back({4.1F, 0.1F, 0.1F, static_cast<float>(i + 1)});
  const Bins bins = sort_into_bins(atoms, {2, 1, 1}, 1);
  EXPECT_EQ(bins.bins_x, 4U);
  EXPECT_EQ(bins.bins_y, 3U);
  ASSERT_EQ(bins.overflow.size(), 1U);
  EXPECT_EQ(bins.overflow[0].q, 9);
  const std::size_t first = ((1 * 3 + 1) * 4 + 2) * Bins::kSlots;  // bin (1, 0, 0) behind the margin
  EXPECT_EQ(bins.slots[first].q, 1);
  EXPECT_EQ(bins.slots[first + 7].q, 8);
  EXPECT_EQ(bins.slots[first + 8].q, 0);
}

TEST(Tolerance, BothSidesOfTheBound) {
  const Tolerance tolerance{.relative = 0.125, .absolute = 1};
  const Doubles reference{8};
  EXPECT_NO_THROW(check_close("x", {10.0F}, reference, tolerance));
  EXPECT_NO_THROW(check_close("x", {6.0F}, reference, tolerance));
  EXPECT_THROW(check_close("x", {10.001F}, reference, tolerance), SimulationFault);
  EXPECT_THROW(check_close("x", {5.999F}, reference, tolerance), SimulationFault);
}

TEST(Tolerance, NotANumberIsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(check_close("x", {nan}, Doubles{0}, {.relative = 1, .absolute = 1e30}), SimulationFault);
  EXPECT_THROW(check_within("x", {nan}, {0}, {1e30}), SimulationFault);
}

TEST(Tolerance, MessageNamesTheFirstWrongElement) {
  try {
    check_within("app: array", {1, 2, 3}, {1, 2.5, 9}, {0, 0.25, 0});
    FAIL();
  } catch (const SimulationFault& fault) {
    EXPECT_STREQ(fault.what(), "app: array[1] is 2 instead of 2.5 (tolerance 0.25)");
  }
}

TEST(Tolerance, GrowsWithTheNumberOfRoundings) {
  EXPECT_EQ(sum_tolerance(0).relative, 0);
  EXPECT_NEAR(sum_tolerance(64).relative, 64 * 0x1p-24, 1e-10);
  EXPECT_NEAR(sum_tolerance(1024).relative, 320 * 0x1p-24, 1e-10);  // 10 * sqrt(1024)
  EXPECT_EQ(sum_tolerance(1024).absolute, 0);
}

/// create() with some settings; only the settings matter.
void create(const std::string& app, const std::string& settings) {
  const runtime::AppInfo* info = runtime::find_app(app);
  ASSERT_NE(info, nullptr) << app;
  (void)info->create(runtime::parse_params(*info, settings), 1);
}

TEST(Sizes, MultiplesAreEnforced) {
  EXPECT_NO_THROW(create("lud", "size=48"));
  EXPECT_THROW(create("lud", "size=40"), UserError);
  EXPECT_NO_THROW(create("sgemm", "m=256,n=48,k=24"));
  EXPECT_THROW(create("sgemm", "m=192"), UserError);
  EXPECT_THROW(create("sgemm", "n=24"), UserError);
  EXPECT_THROW(create("sgemm", "k=12"), UserError);
}

TEST(Sizes, RangesAreEnforced) {
  EXPECT_THROW(create("stencil", "nx=2"), UserError);
  EXPECT_THROW(create("cutcp", "cutoff=13"), UserError);
  EXPECT_THROW(create("3mm", "ni=0"), UserError);
  EXPECT_THROW(create("spmv", "rows=262145"), UserError);
}

TEST(Sizes, MemoryIsLimited) {
  EXPECT_THROW(create("atax", "nx=131072,ny=131072"), UserError);
  EXPECT_THROW(create("spmv", "rows=262144,nonzeros=2048"), UserError);
  EXPECT_THROW(create("stencil", "nx=2050,ny=2050,nz=2050"), UserError);
}

TEST(Shapes, NameKernelsOfThePtxAndFillTheMachine) {
  for (const char* app : {"lud", "spmv", "stencil", "sgemm", "atax", "3mm", "cutcp"}) {
    const runtime::AppInfo* info = runtime::find_app(app);
    ASSERT_NE(info, nullptr) << app;
    for (const auto& shape : info->shapes(runtime::parse_params(*info, ""))) {
      EXPECT_NE(info->ptx_text.find(".entry " + shape.kernel + "("), std::string_view::npos) << shape.kernel;
      EXPECT_LE(shape.block.count(), 1024U);
      EXPECT_GE(shape.grid.count(), 1U);
    }
  }
}

}  // namespace
}  // namespace gpumux::benchmarks
