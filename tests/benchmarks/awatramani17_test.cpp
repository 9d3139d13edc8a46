// References of the applications that awatramani17 has from Rodinia, against cases worked by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "benchmarks/nn/nn.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(Nn, DistancesAndTheNearest) {
  const std::vector<double> found = nn::distances({{3, 4}, {1, 1}, {1, -1}, {2, 0}}, {1, 0});
  EXPECT_NEAR(found[0], std::sqrt(20), 1e-15);
  EXPECT_EQ(found[1], 1);
  EXPECT_EQ(found[2], 1);
  EXPECT_EQ(nn::nearest(found, 3), (std::vector<std::uint32_t>{1, 2, 3})) << "equal ones in their order";
  EXPECT_EQ(nn::nearest(std::vector<float>{2, 1}, 1), std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace gpumux::benchmarks
