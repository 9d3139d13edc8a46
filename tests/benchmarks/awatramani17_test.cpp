// CPU references of awatramani17's applications that are from Rodinia, against cases worked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/gaussian/gaussian.hpp"
#include "benchmarks/kmeans/kmeans.hpp"
#include "benchmarks/lud/lud_reference.hpp"
#include "benchmarks/nn/nn.hpp"
#include "benchmarks/srad/srad.hpp"
#include "benchmarks/tolerance.hpp"
#include "runtime/application.hpp"

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

TEST(Gaussian, TwoEquations) {
  const gaussian::Eliminated found = gaussian::eliminate({{2, 1, 4, 5}, {3, 9}});
  const std::vector<double> a = {2, 1, 0, 3};
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(found.system.a[i].value, a[i]) << i;
  EXPECT_EQ(found.multipliers[2].value, 2);
  EXPECT_EQ(found.system.b[1].value, 3);
  for (const gaussian::Rounded& x : gaussian::substitute(found.system)) EXPECT_EQ(x.value, 1);
  // The row above is as it was; the quotient is rounded, its product with 1, and the difference of that.
  EXPECT_EQ(found.system.a[1].error, 0);
  EXPECT_EQ(found.multipliers[2].error, 2 * kFloatRounding);
  EXPECT_NEAR(found.system.a[3].error, (2 + 2 + 3) * kFloatRounding, 1e-13);
}

TEST(Srad, TwoCells) {
  // The differences are 1 and -1. Of the cell of 2: gradient 1/4, laplacian -1/2, so (1/8 - 1/64) / (7/8)^2 =
  // 1/7, and the coefficient is 1 / (1 + (1/7 - 1/8) / (9/64)) = 63/71. Both take it; half a quarter of the
  // difference moves.
  for (const std::uint32_t rows : {1U, 2U}) {
    const srad::Stepped found = srad::step({1, 2}, rows, 0.125F, 0.5F);
    EXPECT_NEAR(found.image[0], 1 + 63.0 / 71 / 8, 1e-15) << rows;
    EXPECT_NEAR(found.image[1], 2 - 63.0 / 71 / 8, 1e-15) << rows;
  }
}

TEST(Srad, AnEvenImageStaysAndSpreadIsVarianceOverSquaredMean) {
  EXPECT_EQ(srad::step(std::vector<float>(12, 2), 3, 0.1F, 0.5F).image, std::vector<double>(12, 2));
  EXPECT_EQ(srad::spread_of(1 + 3, 1 + 9, 2), 0.25F);
  EXPECT_EQ(srad::spread_of(6, 12, 3), 1e-6F);
}

TEST(Srad, DifferencesToNeighboursColumnByColumn) {
  const srad::Differences to = srad::differences({1, 2, 4, 8}, 2, 0.125F);
  EXPECT_EQ(to.north, (std::vector<double>{0, -1, 0, -4}));
  EXPECT_EQ(to.south, (std::vector<double>{1, 0, 4, 0}));
  EXPECT_EQ(to.west, (std::vector<double>{0, 0, -3, -6}));
  EXPECT_EQ(to.east, (std::vector<double>{3, 6, 0, 0}));
}

TEST(Srad, ExtractionAndCompressionAreInverse) {
  EXPECT_NEAR(srad::extracted({255})[0], std::exp(1.0), 1e-15);
  EXPECT_NEAR(srad::compressed({std::exp(0.5F)})[0], 127.5, 1e-4);
}

TEST(Lud, TheFirstStepLeavesWhatTheNextOnesDecompose) {
  // The first column becomes multipliers 2 and 3; of the rest that much of the first row is taken.
  const std::vector<float> matrix = {1, 2, 3, 2, 5, 8, 3, 8, 14};
  EXPECT_EQ(lud_steps(matrix, 3, 1), (std::vector<double>{1, 2, 3, 2, 1, 2, 3, 2, 5}));
  EXPECT_EQ(lud_reference(matrix, 3), (std::vector<double>{1, 2, 3, 2, 1, 2, 3, 2, 1}));
}

TEST(Kmeans, FeatureByFeature) {
  EXPECT_EQ(kmeans::by_feature({2, 3, {1, 2, 3, 4, 5, 6}}), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Awatramani17Params, BadOnesAreRefused) {
  for (const char* text : {"awatramani17/km:points=3", "awatramani17/km:features=256,clusters=256",
                           "awatramani17/km:points=8388608", "awatramani17/bt-k1:range=1000001",
                           "awatramani17/bt-k2:queries=65536", "awatramani17/lud:size=40",
                           "awatramani17/srad-4:width=4096,height=4096", "awatramani17/cvsep:width=64"}) {
    const std::string app = text;
    const std::size_t colon = app.find(':');
    const runtime::AppInfo* info = runtime::find_app(app.substr(0, colon));
    ASSERT_NE(info, nullptr) << app;
    try {
      (void)info->create(runtime::parse_params(*info, app.substr(colon + 1)), 1);
      ADD_FAILURE() << app << " was taken";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("app " + app.substr(0, colon) + ":"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace gpumux::benchmarks
