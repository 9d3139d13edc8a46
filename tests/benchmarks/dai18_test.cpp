// The applications dai18/NAME: CPU references of the three algorithms that no other application has, against
// cases worked by hand, and parameters that must be refused. tests/papers/ compares the resources of their
// blocks with the paper's table.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/cfd/cfd_reference.hpp"
#include "benchmarks/dxtc/dxtc_reference.hpp"
#include "benchmarks/sad/sad_reference.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(Dai18Params, BadOnesAreRefused) {
  for (const char* text :
       {"dai18/bp:inputs=17", "dai18/bp:inputs=0", "dai18/bp:hidden=3", "dai18/bs:nodes=4194304,degree=64",
        "dai18/dc:width=6", "dai18/dc:height=2052", "dai18/s2:width=256,height=256", "dai18/s2:width=-1",
        "dai18/cd:side=128,height=1024", "dai18/cd:side=1", "dai18/cd:window=0", "dai18/st:nx=1026",
        "dai18/st:nx=2050,ny=2050,nz=2050", "dai18/3m:ni=x", "dai18/ks:points=1048576,features=256",
        "dai18/ax:nx=262144,ny=8192", "dai18/cp:cutoff=13", "dai18/pf:columns=4194304,rows=4096",
        "dai18/sv:nonzeros="}) {
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

TEST(BackpropReference, TreeLeavesPartialSums) {
  using backprop::weight_index;
  std::vector<float> input(17, 2.0F);
  std::vector<float> weights(weight_index(16, 16) + 1, 1.0F);
  weights[weight_index(3, 5)] = 4.0F;
  const std::vector<float> left = backprop::reference_tree(input, weights);
  EXPECT_EQ(left[weight_index(0, 5)], 1.0F);   // the bias
  EXPECT_EQ(left[weight_index(4, 0)], 1.0F);   // the unused column
  EXPECT_EQ(left[weight_index(2, 5)], 2.0F);   // a product
  EXPECT_EQ(left[weight_index(3, 5)], 10.0F);  // rows 3 and 4: 8 + 2
  EXPECT_EQ(left[weight_index(5, 5)], 8.0F);   // rows 5 to 8
  EXPECT_EQ(left[weight_index(1, 5)], 38.0F);  // all: 15 times 2 and 8
  EXPECT_EQ(left[weight_index(1, 6)], 32.0F);
}

TEST(SadReference, AddsTheFourBlocksOfAQuadrant) {
  using sad::kRow;
  std::vector<std::uint16_t> small(2 * 4 * kRow);  // two quadrants
  const auto set = [&](std::size_t row, std::size_t position, std::uint16_t value) {
    small[row * kRow + position] = value;
  };
  set(0, 0, 1);  // top left
  set(1, 0, 20);
  set(2, 0, 300);
  set(3, 0, 4000);
  set(7, 1088, sad::kLargest);  // bottom right of the second quadrant, last position
  small[1089] = 9;              // padding, which is no position
  const sad::Sads sads = sad::larger_sads(small);
  EXPECT_EQ(sads.wide[0], 21);
  EXPECT_EQ(sads.wide[kRow], 4300);
  EXPECT_EQ(sads.tall[0], 301);
  EXPECT_EQ(sads.tall[kRow], 4020);
  EXPECT_EQ(sads.square[0], 4321);
  EXPECT_EQ(sads.wide[3 * kRow + 1088], 4080);
  EXPECT_EQ(sads.tall[3 * kRow + 1088], 4080);
  EXPECT_EQ(sads.square[kRow + 1088], 4080);
  EXPECT_EQ(sads.wide[1089], 0);
  EXPECT_EQ(std::accumulate(sads.square.begin(), sads.square.end(), 0), 4321 + 4080);
}

std::uint32_t pixel(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
  return red | green << 8U | blue << 16U;
}

TEST(DxtcReference, AllCutsAreTriedOnce) {
  const std::vector<std::uint32_t> cuts = dxtc::all_cuts();
  EXPECT_EQ(cuts.size(), 969U);  // three cuts among 17 places, with repeats: 19 choose 3
  EXPECT_EQ(std::set<std::uint32_t>(cuts.begin(), cuts.end()).size(), 969U);
  EXPECT_EQ(cuts.front(), 0xffffffffU);  // all in cluster 3
  EXPECT_EQ(cuts.back(), 0U);
}

TEST(DxtcReference, BlackAndWhiteAreExact) {
  std::array<std::uint32_t, 16> image{};
  for (std::size_t i = 0; i < 16; ++i) image[i] = i % 3 == 0 ? pixel(255, 255, 255) : 0;
  const dxtc::Compressed block = dxtc::compress(image.data(), dxtc::all_cuts());
  EXPECT_EQ(block.colours, 0x0000ffffU);  // white first: it is the larger number
  std::uint32_t indices = 0;
  for (std::uint32_t i = 0; i < 16; ++i) indices |= (i % 3 == 0 ? 0U : 1U) << (2 * i);
  EXPECT_EQ(block.indices, indices);
}

TEST(DxtcReference, AllFourIndicesOfAGreyRamp) {
  // 0, 85, 170 and 255 are the two ends and the two mixtures, in this order on the axis.
  std::array<std::uint32_t, 16> image{};
  for (std::uint32_t i = 0; i < 16; ++i) image[i] = pixel(85 * (i % 4), 85 * (i % 4), 85 * (i % 4));
  const dxtc::Compressed block = dxtc::compress(image.data(), dxtc::all_cuts());
  EXPECT_EQ(block.colours, 0x0000ffffU);
  for (std::uint32_t i = 0; i < 16; ++i) {
    constexpr std::array<std::uint32_t, 4> kIndex = {1, 3, 2, 0};  // black, dark, light, white
    EXPECT_EQ(block.indices >> (2 * i) & 3U, kIndex[i % 4]) << i;
  }
}

TEST(DxtcReference, OneColourIsIndexZeroOrItsNearest) {
  std::array<std::uint32_t, 16> image{};
  image.fill(pixel(255, 0, 0));
  const dxtc::Compressed block = dxtc::compress(image.data(), dxtc::all_cuts());
  for (const std::array<double, 3>& colour : dxtc::decode(block)) {
    EXPECT_NEAR(colour[0], 1, 1e-6);
    EXPECT_NEAR(colour[1], 0, 1e-6);
    EXPECT_NEAR(colour[2], 0, 1e-6);
  }
}

double error_of(const std::array<std::uint32_t, 16>& image, const dxtc::Compressed& block) {
  const auto decoded = dxtc::decode(block);
  double error = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::uint32_t c = 0; c < 3; ++c)
      error += std::pow(((image[i] >> (8 * c)) & 255U) / 255.0 - decoded[i][c], 2);
  }
  return error;
}

// A much simpler coder: the corners of the box of colours, each pixel to the nearest of the four.
double error_of_box(const std::array<std::uint32_t, 16>& image) {
  std::array<std::uint32_t, 3> low{255, 255, 255};
  std::array<std::uint32_t, 3> high{};
  for (const std::uint32_t p : image) {
    for (std::uint32_t c = 0; c < 3; ++c) {
      low[c] = std::min(low[c], p >> (8 * c) & 255U);
      high[c] = std::max(high[c], p >> (8 * c) & 255U);
    }
  }
  const auto packed = [](const std::array<std::uint32_t, 3>& c) {
    return (c[0] >> 3U) << 11U | (c[1] >> 2U) << 5U | c[2] >> 3U;
  };
  const std::uint32_t colours = packed(high) | packed(low) << 16U;
  double total = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    double best = std::numeric_limits<double>::max();
    for (std::uint32_t index = 0; index < 4; ++index) {
      const std::array<double, 3> colour = dxtc::decode({colours, index})[0];
      double error = 0;
      for (std::uint32_t c = 0; c < 3; ++c)
        error += std::pow((image[i] >> (8 * c) & 255U) / 255.0 - colour[c], 2);
      best = std::min(best, error);
    }
    total += best;
  }
  return total;
}

TEST(DxtcReference, IsBetterThanTheBoxOfColours) {
  Random random(5);
  const std::vector<std::uint32_t> cuts = dxtc::all_cuts();
  double ours = 0;
  double box = 0;
  for (int block = 0; block < 40; ++block) {
    std::array<std::uint32_t, 16> image{};
    for (std::uint32_t& p : image) p = pixel(random.below(256), 100 + random.below(50), random.below(100));
    ours += error_of(image, dxtc::compress(image.data(), cuts));
    box += error_of_box(image);
  }
  EXPECT_LT(ours, 0.9 * box);
}

TEST(CfdMesh, NeighboursAndNormalsAgreeFromBothSides) {
  const cfd::Mesh mesh = cfd::diamond_mesh(6 * 6 * 5, 6, 16, 3);
  std::size_t inner = 0;
  for (std::size_t cell = 0; cell < mesh.cells; ++cell) {
    for (std::size_t face = 0; face < cfd::kFaces; ++face) {
      const std::int32_t other = mesh.neighbours[face * mesh.cells + cell];
      if (other < 0) continue;
      ++inner;
      const auto there = static_cast<std::size_t>(other);
      EXPECT_EQ(mesh.neighbours[face * mesh.cells + there], static_cast<std::int32_t>(cell));
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(mesh.normals[(3 * face + c) * mesh.cells + cell],
                  -mesh.normals[(3 * face + c) * mesh.cells + there]);
      }
    }
  }
  EXPECT_GT(inner, 2 * mesh.cells);
}

TEST(CfdReference, GasAtRestPressesOnWalls) {
  // One cell, walls all round, density 1, pressure 2: momentum flows out with the normals times the pressure.
  cfd::Mesh mesh{1, {cfd::kWall, cfd::kWall, cfd::kWall, cfd::kWall}, std::vector<float>(12)};
  mesh.normals[0] = 1;   // face 0 along x
  mesh.normals[4] = -2;  // face 1 along y
  const cfd::Fluxes fluxes = cfd::reference(mesh, {1, 0, 0, 0, 5}, cfd::far_field());
  EXPECT_NEAR(fluxes.value[0], 0, 1e-12);
  EXPECT_NEAR(fluxes.value[1], 2, 1e-12);
  EXPECT_NEAR(fluxes.value[2], -4, 1e-12);
  EXPECT_NEAR(fluxes.value[3], 0, 1e-12);
  EXPECT_NEAR(fluxes.value[4], 0, 1e-12);
}

TEST(CfdReference, UniformFlowThroughAFace) {
  // Density 2, velocity (3, 0, 0), pressure 4: energy 4 / 0.4 + 0.5 * 2 * 9 = 19. Through a face of normal
  // (1, 0, 0): 2 * 3, 2 * 3 * 3 + 4, 0, 0, 3 * (19 + 4). Both sides alike, so there is no viscosity.
  cfd::Mesh mesh{2, std::vector<std::int32_t>(8, cfd::kWall), std::vector<float>(24)};
  mesh.neighbours[0] = 1;
  mesh.neighbours[1] = 0;
  mesh.normals[0] = 1;
  mesh.normals[1] = -1;
  const cfd::Fluxes fluxes = cfd::reference(mesh, {2, 2, 6, 6, 0, 0, 0, 0, 19, 19}, cfd::far_field());
  const std::array<double, 5> expected = {6, 22, 0, 0, 69};
  for (std::size_t v = 0; v < 5; ++v) {
    EXPECT_NEAR(fluxes.value[2 * v], expected[v], 1e-12) << v;
    EXPECT_NEAR(fluxes.value[2 * v + 1], -expected[v], 1e-12) << v;
  }
}

TEST(CfdReference, WhatLeavesACellEntersItsNeighbour) {
  cfd::Mesh mesh = cfd::diamond_mesh(4 * 4 * 4, 4, 8, 11);
  // Faces to the surroundings are taken away: then nothing may be lost.
  for (std::size_t i = 0; i < mesh.neighbours.size(); ++i) {
    if (mesh.neighbours[i] >= 0) continue;
    const std::size_t face = i / mesh.cells;
    for (std::size_t c = 0; c < 3; ++c) mesh.normals[(3 * face + c) * mesh.cells + i % mesh.cells] = 0;
  }
  const cfd::Fluxes fluxes = cfd::reference(mesh, cfd::random_states(mesh.cells, 2), cfd::far_field());
  for (std::size_t v = 0; v < cfd::kVariables; ++v) {
    double sum = 0;
    double magnitude = 0;
    for (std::size_t cell = 0; cell < mesh.cells; ++cell) {
      sum += fluxes.value[v * mesh.cells + cell];
      magnitude += std::abs(fluxes.value[v * mesh.cells + cell]);
    }
    EXPECT_GT(magnitude, 1) << v;
    EXPECT_NEAR(sum, 0, 1e-12 * magnitude) << v;
  }
}

TEST(Dxtc, BlocksHaveOneSquareOrFourThatDivideTheImage) {
  const runtime::AppInfo* info = runtime::find_app("awatramani17/dxtc");
  ASSERT_NE(info, nullptr);
  const auto shape = [&](const char* settings) {
    return info->shapes(runtime::parse_params(*info, settings)).front();
  };
  EXPECT_EQ(shape("").kernel, "dxtc_compress_four");
  EXPECT_EQ(shape("").grid.x, 4096U);
  EXPECT_EQ(shape("").block.x, 256U);
  EXPECT_EQ(shape("squares=1").kernel, "dxtc_compress");
  EXPECT_EQ(shape("squares=1").grid.x, 16384U);
  EXPECT_EQ(shape("squares=1").block.x, 64U);
  EXPECT_THROW(shape("squares=2"), UserError);
  EXPECT_THROW(shape("width=12,height=8"), UserError) << "six squares";
}

}  // namespace
}  // namespace gpumux::benchmarks
