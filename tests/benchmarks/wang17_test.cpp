// CPU references of wang17's applications, which are from Parboil, against cases worked by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "benchmarks/histo/histo.hpp"
#include "benchmarks/lbm/lbm.hpp"
#include "benchmarks/mri_gridding/mri_gridding.hpp"
#include "benchmarks/tpacf/tpacf.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(Histo, Saturates) {
  std::vector<std::uint32_t> samples(300, 2);
  samples.push_back(0);
  EXPECT_EQ(histo::reference(samples, 4), (std::vector<std::uint8_t>{1, 0, 255, 0}));
}

TEST(Lbm, VelocitiesAreThoseOfD3Q19) {
  double weights = 0;
  for (std::uint32_t v = 0; v < lbm::kVelocities; ++v) {
    weights += lbm::weight(v);
    EXPECT_EQ(lbm::opposite(lbm::opposite(v)), v);
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_EQ(lbm::velocities()[v][axis], -lbm::velocities()[lbm::opposite(v)][axis]);
  }
  EXPECT_NEAR(weights, 1, 1e-15);
}

TEST(Lbm, SolidWallsAndDrivenCells) {
  const lbm::Lattice lattice{7, 6, 5, 6, 9};
  EXPECT_EQ(lbm::flag(lattice, 0, 3, 2), lbm::kSolid);
  EXPECT_EQ(lbm::flag(lattice, 6, 3, 2), lbm::kSolid);
  EXPECT_EQ(lbm::flag(lattice, 3, 5, 2), lbm::kSolid);
  EXPECT_EQ(lbm::flag(lattice, 3, 3, 4), lbm::kSolid);
  EXPECT_EQ(lbm::flag(lattice, 2, 2, 1), lbm::kDriven);
  EXPECT_EQ(lbm::flag(lattice, 4, 3, 3), lbm::kDriven);
  EXPECT_EQ(lbm::flag(lattice, 1, 2, 1), lbm::kFluid) << "in an edge of the fluid";
  EXPECT_EQ(lbm::flag(lattice, 2, 2, 2), lbm::kFluid);
}

// No cell of this box is driven.
TEST(Lbm, AFluidAtRestStaysAndMassIsKept) {
  const lbm::Lattice lattice{4, 4, 5, 4, 9};
  std::vector<double> rest(lattice.elements());
  for (std::uint32_t v = 0; v < lbm::kVelocities; ++v)
    for (std::uint32_t z = 0; z < 5; ++z)
      for (std::uint32_t y = 0; y < 4; ++y)
        for (std::uint32_t x = 0; x < 4; ++x) rest[lattice.at(v, x, y, z)] = lbm::weight(v);
  const auto mass = [&](const std::vector<double>& f) {
    double sum = 0;
    for (std::uint32_t v = 0; v < lbm::kVelocities; ++v)
      for (std::uint32_t z = 1; z < 4; ++z)
        for (std::uint32_t y = 1; y < 3; ++y)
          for (std::uint32_t x = 1; x < 3; ++x) sum += f[lattice.at(v, x, y, z)];
    return sum;
  };
  std::vector<double> after = rest;
  lbm::step(lattice, rest, after);
  EXPECT_NEAR(mass(after), 12, 1e-12);
  for (std::uint32_t v = 0; v < lbm::kVelocities; ++v)
    for (std::uint32_t z = 1; z < 4; ++z)
      for (std::uint32_t y = 1; y < 3; ++y)
        for (std::uint32_t x = 1; x < 3; ++x)
          EXPECT_NEAR(after[lattice.at(v, x, y, z)], lbm::weight(v), 1e-15) << v << " at " << x << ", " << y;
  // What moves against x into a wall comes back a step later along x.
  std::vector<double> moving = rest;
  moving[lattice.at(4, 0, 2, 2)] += 0.1;
  after = moving;
  lbm::step(lattice, moving, after);
  EXPECT_NEAR(after[lattice.at(3, 1, 2, 2)], lbm::weight(3) + 0.1, 1e-15);
  EXPECT_NEAR(mass(after), 12.1, 1e-12);
}

TEST(MriGridding, TheWindowOfOneSample) {
  EXPECT_NEAR(mri_gridding::bessel(0), 1, 1e-15);
  EXPECT_NEAR(mri_gridding::bessel(1), 1.2660658777520084, 1e-12);  // tables of I0
  EXPECT_NEAR(mri_gridding::bessel(10), 2815.716628466254, 1e-8);
  const mri_gridding::Spread one = mri_gridding::spread({{1, 1, 1, 2, -3, 0.5F}}, 4, 4, 4, 1.5, 2);
  const auto at = [&](std::size_t x, std::size_t y, std::size_t z) {
    return one.values[2 * ((z * 4 + y) * 4 + x)];
  };
  EXPECT_NEAR(at(1, 1, 1), mri_gridding::bessel(2), 1e-12);  // density x value = 1
  EXPECT_NEAR(at(2, 1, 1), mri_gridding::bessel(2 * std::sqrt(1 - 1 / 2.25)), 1e-12);
  EXPECT_NEAR(at(2, 2, 1), mri_gridding::bessel(2 * std::sqrt(1 - 2 / 2.25)), 1e-12);
  EXPECT_EQ(at(2, 2, 2), 0) << "farther than the cutoff";
  EXPECT_NEAR(one.values[2 * ((4 + 1) * 4 + 1) + 1], -1.5 * mri_gridding::bessel(2), 1e-12)
      << "the imaginary part";
}

TEST(Tpacf, PairsFallIntoBins) {
  std::vector<float> bounds;
  for (int i = 0; i <= 20; ++i) bounds.push_back(1.0F - 0.1F * static_cast<float>(i));
  EXPECT_EQ(tpacf::bin_of(1.0F, bounds), tpacf::kBins) << "not below the first bound";
  EXPECT_EQ(tpacf::bin_of(0.95F, bounds), 0U);
  EXPECT_EQ(tpacf::bin_of(-0.95F, bounds), 19U);
  EXPECT_EQ(tpacf::bin_of(-1.5F, bounds), tpacf::kBins);
  const std::vector<tpacf::Point> a = {{1, 0, 0}, {0, 1, 0}, {0.75F, 0.5F, 0}};
  const std::vector<std::uint32_t> among = tpacf::histogram(a, a, bounds);  // cosines 0, 0.75, 0.5
  EXPECT_EQ(std::accumulate(among.begin(), among.end(), 0U), 3U);
  EXPECT_EQ(among[2], 1U);
  const std::vector<tpacf::Point> b = {{0, 0, 1}};
  const std::vector<std::uint32_t> between = tpacf::histogram(a, b, bounds);
  EXPECT_EQ(std::accumulate(between.begin(), between.end(), 0U), 3U);
}

}  // namespace
}  // namespace gpumux::benchmarks
