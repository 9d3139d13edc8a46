// The CPU references of add, hotspot, backprop, bfs, kmeans and pathfinder against cases worked by hand, and
// the checks of parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "benchmarks/add/add.hpp"
#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/bfs/bfs.hpp"
#include "benchmarks/common.hpp"
#include "benchmarks/hotspot/hotspot.hpp"
#include "benchmarks/kmeans/kmeans.hpp"
#include "benchmarks/pathfinder/pathfinder.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(AddReference, MultipliesSixteenTimesALoop) {
  // Powers of two are exact: 2^(16 * 2) * (1 + 3).
  EXPECT_EQ(add::reference({1.0F, 0.0F}, {3.0F, 0.5F}, 2.0F, 2), (std::vector<float>{0x1p34F, 0x1p31F}));
}

TEST(HotspotReference, HeatSpreadsToTheFourNeighbours) {
  // step / cap = 1/8, conductances 1 along rows and 1/2 along columns, (almost) none to the surroundings.
  const hotspot::Model model{.cap = 8, .rx = 1, .ry = 2, .rz = 1e30F, .step = 1};
  const std::vector<float> power(9, 0.0F);
  const std::vector<double> after = hotspot::reference({0, 0, 0, 0, 16, 0, 0, 0, 0}, power, 3, 3, 1, model);
  const std::vector<double> wanted = {0, 1, 0, 2, 10, 2, 0, 1, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(after[i], wanted[i], 1e-12) << i;
  // Nothing leaves by the edges.
  const std::vector<double> later = hotspot::reference({0, 0, 0, 0, 16, 0, 0, 0, 0}, power, 3, 3, 5, model);
  double sum = 0;
  for (const double t : later) sum += t;
  EXPECT_NEAR(sum, 16, 1e-12);
}

TEST(HotspotReference, PowerAndSurroundings) {
  // One cell: 88 + (1/8) * (16 + (80 - 88) / 2) = 89.5.
  const hotspot::Model model{.cap = 8, .rx = 1, .ry = 1, .rz = 2, .step = 1};
  EXPECT_EQ(hotspot::reference({88}, {16}, 1, 1, 1, model), std::vector<double>{89.5});
}

TEST(HotspotReference, ChipIsStable) {
  // The new temperature must be a mean of the old ones with weights that are not negative.
  const hotspot::Model m = hotspot::chip();
  EXPECT_GT(m.step / m.cap, 0);
  EXPECT_LT(m.step / m.cap * (2 / m.rx + 2 / m.ry + 1 / m.rz), 1);
}

TEST(PathfinderReference, GoesDownTheCheapestWay) {
  // From the 1: down-right to 2, straight to 1, or down-left: costs of the last row worked by hand.
  const std::vector<std::int32_t> grid = {9, 1, 9, 9,  //
                                          5, 7, 2, 8,  //
                                          4, 4, 4, 1};
  EXPECT_EQ(pathfinder::reference(grid, 4), (std::vector<std::int32_t>{10, 7, 7, 4}));
  EXPECT_EQ(pathfinder::reference({3, 4}, 2), (std::vector<std::int32_t>{3, 4}));
}

TEST(BackpropReference, PartialSumsPerBlockOfSixteenInputs) {
  std::vector<float> input(33, 1.0F);  // two blocks
  std::vector<float> weights(backprop::weight_index(32, 16) + 1, 0.0F);
  weights[backprop::weight_index(0, 1)] = 100;  // the bias has no part in it
  weights[backprop::weight_index(1, 1)] = 2;
  weights[backprop::weight_index(16, 1)] = -3;
  weights[backprop::weight_index(17, 1)] = 5;
  weights[backprop::weight_index(32, 16)] = 7;
  input[16] = 2;
  const backprop::PartialSums partial = backprop::reference_forward(input, weights);
  ASSERT_EQ(partial.sum.size(), 32U);
  EXPECT_EQ(partial.sum[0], -4);
  EXPECT_EQ(partial.magnitude[0], 8);
  EXPECT_EQ(partial.sum[16], 5);
  EXPECT_EQ(partial.sum[31], 7);
  EXPECT_EQ(partial.sum[1], 0);
}

TEST(BackpropReference, AdjustsByRateAndMomentum) {
  std::vector<float> delta(17, 0.0F);
  delta[2] = 0.5F;
  std::vector<float> input(17, 0.0F);
  input[3] = 2;
  const std::vector<float> weights(backprop::weight_index(16, 16) + 1, 1.0F);
  std::vector<float> changes(weights.size(), 0.0F);
  changes[backprop::weight_index(3, 2)] = 4;
  const backprop::Adjusted adjusted = backprop::reference_adjust(delta, input, weights, changes);
  EXPECT_NEAR(adjusted.changes[backprop::weight_index(3, 2)], 0.3 * 0.5 * 2 + 0.3 * 4, 1e-15);
  EXPECT_NEAR(adjusted.weights[backprop::weight_index(3, 2)], 1 + 1.5, 1e-15);
  EXPECT_NEAR(adjusted.weights[backprop::weight_index(0, 2)], 1 + 0.3 * 0.5, 1e-15);  // the bias's input is 1
  EXPECT_EQ(adjusted.weights[backprop::weight_index(3, 1)], 1);
  EXPECT_EQ(adjusted.weights[backprop::weight_index(3, 0)], 1);  // column 0 is unused
}

TEST(BackpropReference, HiddenErrors) {
  // Nothing enters: every unit gives 1/2, so does the output; its error is 1/4 * (1 - 1/2) = 1/8, and a
  // hidden unit's is 1/4 * 1/8 * its weight.
  const std::vector<float> partial(16, 0.0F);
  const std::vector<float> weights(backprop::weight_index(16, 16) + 1, 0.0F);
  std::vector<float> output_weights(17, 0.0F);
  output_weights[5] = 1;
  output_weights[6] = -1;
  const std::vector<float> errors = backprop::hidden_errors(partial, weights, output_weights, 1.0F);
  EXPECT_EQ(errors[5], 1.0F / 32);
  EXPECT_EQ(errors[6], -1.0F / 32);
  EXPECT_EQ(errors[1], 0);
}

TEST(BfsReference, LevelsFromTheSource) {
  // 0 -> 1, 2; 1 -> 3; 2 -> 3, 0; 3 -> 3; 4 -> 0 (not reached).
  const bfs::Graph graph{{{0, 2}, {2, 1}, {3, 2}, {5, 1}, {6, 1}}, {1, 2, 3, 3, 0, 3, 0}};
  EXPECT_EQ(bfs::reference(graph, 0), (std::vector<std::int32_t>{0, 1, 1, 2, -1}));
  EXPECT_EQ(bfs::reference(graph, 3), (std::vector<std::int32_t>{-1, -1, -1, 0, -1}));
}

TEST(BfsReference, RandomGraphHasTheDegreeAskedFor) {
  const bfs::Graph graph = bfs::random_graph(10'000, 6, 1);
  ASSERT_EQ(graph.nodes.size(), 10'000U);
  std::int32_t next = 0;
  for (const bfs::Node& node : graph.nodes) {
    EXPECT_EQ(node.first_edge, next);
    EXPECT_GE(node.edges, 1);
    EXPECT_LE(node.edges, 11);
    next += node.edges;
  }
  EXPECT_EQ(graph.edges.size(), static_cast<std::size_t>(next));
  EXPECT_NEAR(next, 60'000, 2'000);
  EXPECT_EQ(graph.edges, bfs::random_graph(10'000, 6, 1).edges);
  EXPECT_NE(graph.edges, bfs::random_graph(10'000, 6, 2).edges);
}

TEST(KmeansReference, TwoClustersOnALine) {
  // Starts at 0 and 1: {0 | 1, 10, 11} -> means 0 and 22/3 -> {0, 1 | 10, 11} -> 0.5 and 10.5, then nothing
  // moves.
  const kmeans::Points points{.count = 4, .features = 1, .values = {0, 1, 10, 11}};
  EXPECT_EQ(kmeans::reference(points, 2, 1).membership, (std::vector<std::int32_t>{0, 1, 1, 1}));
  const kmeans::Clustering end = kmeans::reference(points, 2, 100);
  EXPECT_EQ(end.membership, (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(end.centres, (std::vector<float>{0.5F, 10.5F}));
}

TEST(KmeansReference, TiesGoToTheFirstAndEmptyClustersStay) {
  const kmeans::Points points{.count = 2, .features = 2, .values = {0, 0, 2, 2}};
  EXPECT_EQ(kmeans::nearest_centres(points, {1, 1, 1, 1}), (std::vector<std::int32_t>{0, 0}));
  std::vector<float> centres = {1, 1, 5, 6};
  kmeans::move_centres(points, {0, 0}, centres);
  EXPECT_EQ(centres, (std::vector<float>{1, 1, 5, 6}));
  kmeans::move_centres(points, {1, 1}, centres);
  EXPECT_EQ(centres, (std::vector<float>{1, 1, 1, 1}));
}

std::string error_of(const std::string& app, const runtime::AppParams& params) {
  const runtime::AppInfo* info = runtime::find_app(app);
  EXPECT_NE(info, nullptr);
  try {
    (void)info->create(params, 1);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(BenchmarkParams, RangesAndConstraintsAreChecked) {
  EXPECT_EQ(error_of("add", {}), "");
  EXPECT_EQ(error_of("add", {{"loops", 0}}), "error: app add: loops=0 must be from 1 to 1000");
  EXPECT_EQ(error_of("stream", {{"words", 9}}), "error: app stream: words=9 must be from 1 to 8");
  EXPECT_EQ(error_of("backprop", {{"inputs", 24}}),
            "error: app backprop: inputs=24 must be a multiple of 16");
  EXPECT_NE(error_of("hotspot", {{"pyramid", 8}}), "");
  EXPECT_NE(error_of("kmeans", {{"clusters", 256}, {"features", 256}}), "");
  EXPECT_NE(error_of("kmeans", {{"clusters", 5}, {"points", 4}}), "");
  EXPECT_NE(error_of("bfs", {{"nodes", 4'194'304}, {"degree", 64}}), "");
  EXPECT_NE(error_of("pathfinder", {{"columns", 4'194'304}, {"rows", 4096}}), "");
}

TEST(BenchmarkParams, ShapesFollowTheSizes) {
  const auto shapes = [](const std::string& app, const runtime::AppParams& params) {
    return runtime::find_app(app)->shapes(params);
  };
  EXPECT_EQ(shapes("add", {})[0].grid, (Dim3{640, 1, 1}));
  EXPECT_EQ(shapes("stream", {{"words", 2}})[0].kernel, "stream_2_words");
  EXPECT_EQ(shapes("hotspot", {})[0].grid, (Dim3{43, 43, 1}));                   // 512 / 12, rounded up
  EXPECT_EQ(shapes("pathfinder", {{"columns", 433}})[0].grid, (Dim3{3, 1, 1}));  // 216 a block
  EXPECT_EQ(shapes("pathfinder", {{"columns", 432}})[0].grid, (Dim3{2, 1, 1}));
  EXPECT_EQ(shapes("backprop", {{"inputs", 64}})[1].grid, (Dim3{1, 4, 1}));
  EXPECT_EQ(shapes("bfs", {{"nodes", 513}})[0].grid, (Dim3{2, 1, 1}));
  EXPECT_EQ(shapes("kmeans", {{"points", 256}})[1].grid, (Dim3{1, 1, 1}));
}

TEST(BenchmarkComparison, NamesTheFirstWrongElement) {
  try {
    check_close("x: y", {1.0F, 2.5F, 9.0F}, std::vector<double>{1, 2, 3}, Tolerance{.absolute = 0.25});
    FAIL();
  } catch (const SimulationFault& fault) {
    EXPECT_STREQ(fault.what(), "x: y[1] is 2.5 instead of 2 (tolerance 0.25)");
  }
  EXPECT_NO_THROW(check_close("x: y", {1.25F}, std::vector<double>{1}, Tolerance{.absolute = 0.25}));
  EXPECT_THROW(check_close("x: y", {std::nanf("")}, std::vector<double>{1}, Tolerance{.absolute = 1e9}),
               SimulationFault);
}

}  // namespace
}  // namespace gpumux::benchmarks
