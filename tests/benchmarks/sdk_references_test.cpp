// CPU references of awatramani17's applications that are from the CUDA SDK, against cases worked by hand.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "benchmarks/convsep/convsep.hpp"
#include "benchmarks/convtex/convtex.hpp"
#include "benchmarks/dct/dct.hpp"
#include "benchmarks/dwt/dwt.hpp"
#include "benchmarks/fwt/fwt.hpp"
#include "benchmarks/histogram/histogram.hpp"
#include "benchmarks/mergesort/mergesort.hpp"
#include "benchmarks/montecarlo/montecarlo.hpp"
#include "benchmarks/transpose/transpose.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(Convsep, OnePixelBecomesTheWeights) {
  std::vector<float> weights;
  for (int i = 1; i <= 17; ++i) weights.push_back(static_cast<float>(i));
  // Along the row the weights beside the middle, the ninth; along columns of one pixel that alone.
  EXPECT_EQ(convsep::reference({0, 1, 0}, 3, weights), (std::vector<double>{72, 81, 90}));
}

TEST(Convtex, TheImageGoesOnBeyondItsEdges) {
  std::vector<float> weights(17, 0.0F);
  weights[8 - 1] = 1;  // the pixel behind
  // Along rows 1 2 3 becomes 2 3 3; along columns of one pixel that alone.
  EXPECT_EQ(convtex::reference({1, 2, 3}, 3, weights), (std::vector<double>{2, 3, 3}));
  EXPECT_EQ(convtex::reference({1, 2, 3, 4}, 2, weights), (std::vector<double>{4, 4, 4, 4}));
}

TEST(Convsep, RowsAndColumnsAlone) {
  std::vector<float> weights(17, 0.0F);
  weights[8 - 1] = 1;  // the pixel behind
  EXPECT_EQ(convsep::convolve_rows({1, 2, 3, 4}, 2, weights), (std::vector<double>{2, 0, 4, 0}));
  EXPECT_EQ(convsep::convolve_columns({1, 2, 3, 4}, 2, weights), (std::vector<double>{3, 4, 0, 0}));
}

TEST(Convtex, RowsAndColumnsAlone) {
  std::vector<float> weights(17, 0.0F);
  weights[8 - 1] = 1;  // the pixel behind
  EXPECT_EQ(convtex::convolve({1, 2, 3, 4}, 2, weights, true), (std::vector<double>{2, 2, 4, 4}));
  EXPECT_EQ(convtex::convolve({1, 2, 3, 4}, 2, weights, false), (std::vector<double>{3, 4, 3, 4}));
}

TEST(Fwt, TransformsAreOfTheirDefinition) {
  const std::vector<float> data = {3, -1, 4, 1, 5, -9, 2, 6, -5, 3, 5, 8, 9, 7, -9, 3};
  const std::vector<double> found = fwt::walsh_transforms(data, 8);
  for (std::size_t i = 0; i < data.size(); ++i) {
    double expected = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      const bool odd = std::popcount(i % 8 & j) % 2 == 1;
      expected += (odd ? -1 : 1) * static_cast<double>(data[i / 8 * 8 + j]);
    }
    EXPECT_EQ(found[i], expected) << i;
  }
}

TEST(Transpose, WholeAndInTiles) {
  EXPECT_EQ(transpose::transposed({1, 2, 3, 4, 5, 6}, 3), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  std::vector<float> two_tiles(16 * 32);
  for (std::size_t i = 0; i < two_tiles.size(); ++i) two_tiles[i] = static_cast<float>(i);
  const std::vector<float> result = transpose::tiles_transposed(two_tiles, 32);
  EXPECT_EQ(result[1], 32);
  EXPECT_EQ(result[2 * 32 + 16 + 5], 5 * 32 + 16 + 2);
}

TEST(Histogram, CountsBytes) {
  const std::vector<std::uint32_t> counts = histogram::reference({3, 255, 3, 0});
  EXPECT_EQ(counts.size(), 256U);
  EXPECT_EQ(counts[3], 2U);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 4U);
}

TEST(Dwt, TwoLevels) {
  const dwt::Decomposition result = dwt::reference({4, 2, 5, 5});
  const double expected[] = {8, -2, std::sqrt(2), 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.coefficients[i], expected[i], 1e-14) << i;
  EXPECT_NEAR(result.scales[1], 2 * 8, 1e-14);
}

TEST(MonteCarlo, SumsOfPayoffs) {
  const montecarlo::Sums now = montecarlo::reference(montecarlo::make_option(30, 20, 0), {1, -1});
  EXPECT_EQ(now.payoffs, 20);
  EXPECT_EQ(now.squares, 200);
  EXPECT_EQ(now.payoffs_by_price, 60);
  EXPECT_EQ(now.squares_by_price, 1200);
  // Drift 0.055 and spread 0.1 a year: exp(0.155) and exp(-0.045) times the price, of which the second is
  // below.
  const montecarlo::Sums year = montecarlo::reference(montecarlo::make_option(30, 29, 1), {1, -1});
  EXPECT_NEAR(year.payoffs, 30 * std::exp(0.155) - 29, 1e-5);
}

TEST(Dct, AConstantSquareHasOneCoefficientAndRowsAreOrthonormal) {
  const dct::Transform flat = dct::reference(std::vector<float>(64, 1.0F), 8);
  EXPECT_NEAR(flat.coefficients[0], 8, 1e-14);
  for (std::size_t i = 1; i < 64; ++i) EXPECT_NEAR(flat.coefficients[i], 0, 1e-14) << i;
  EXPECT_EQ(flat.scales[63], 64);
  const auto rows = dct::basis();
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < 8; ++b)
      EXPECT_NEAR(std::inner_product(rows[a].begin(), rows[a].end(), rows[b].begin(), 0.0), a == b ? 1 : 0,
                  1e-14);
}

TEST(MergeSort, EqualKeysKeepTheirOrder) {
  EXPECT_EQ(mergesort::reference({3, 1, 3, 0}), (std::vector<std::uint32_t>{3, 1, 0, 2}));
}

}  // namespace
}  // namespace gpumux::benchmarks
