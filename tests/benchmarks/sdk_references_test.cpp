// References of the applications that awatramani17 has from the CUDA SDK, against cases worked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "benchmarks/convsep/convsep.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(Convsep, OnePixelBecomesTheWeights) {
  std::vector<float> weights;
  for (int i = 1; i <= 17; ++i) weights.push_back(static_cast<float>(i));
  // Along the row the weights beside the middle, the ninth; along columns of one pixel that alone.
  EXPECT_EQ(convsep::reference({0, 1, 0}, 3, weights), (std::vector<double>{72, 81, 90}));
}

}  // namespace
}  // namespace gpumux::benchmarks
