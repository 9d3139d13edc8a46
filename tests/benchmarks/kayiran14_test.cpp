// Inputs and references of kayiran14's applications, against cases worked by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/functional_host.hpp"
#include "benchmarks/graphs.hpp"
#include "benchmarks/mapreduce/mapreduce.hpp"
#include "benchmarks/mst/mst.hpp"
#include "benchmarks/relaxation/relaxation.hpp"
#include "benchmarks/survey/survey.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::map<std::string, std::uint64_t> run_functionally(const std::string& text) {
  const std::size_t colon = text.find(':');
  const runtime::AppInfo* info = runtime::find_app(text.substr(0, colon));
  const auto app = info->create(runtime::parse_params(*info, text.substr(colon + 1)), 7);
  testing_support::FunctionalHost host(1);
  runtime::Task task = app->run(host, true);
  while (!task.done()) task.resume();
  return host.warp_instructions();
}

// --- graphs -----------------------------------------------------------------------------------------------

TEST(Graphs, RowsHaveEachEdgeOnceOrBothWays) {
  const std::vector<graphs::Edge> edges = {{2, 0, 7}, {0, 1, 5}, {2, 1, 4}};
  const graphs::Graph one = graphs::rows_of(3, edges, false);
  EXPECT_EQ(one.first, (Numbers{0, 1, 1, 3}));
  EXPECT_EQ(one.targets, (Numbers{1, 0, 1}));
  EXPECT_EQ(one.weights, (Numbers{5, 7, 4}));
  EXPECT_EQ(one.edges, (Numbers{1, 0, 2}));
  EXPECT_EQ(graphs::largest_hub(one), 2U);
  const graphs::Graph both = graphs::rows_of(3, edges, true);
  EXPECT_EQ(both.first, (Numbers{0, 2, 4, 6}));
  EXPECT_EQ(both.targets, (Numbers{2, 1, 0, 2, 0, 1}));
}

TEST(Graphs, RecursiveMatricesHaveHubsAndOneSeedOneGraph) {
  Random random(3), again(3);
  const std::vector<graphs::Edge> edges = graphs::rmat(12, 8, random);
  ASSERT_EQ(edges.size(), 8U * 4096);
  const graphs::Graph graph = graphs::rows_of(4096, edges, false);
  EXPECT_EQ(graph.targets, graphs::rows_of(4096, graphs::rmat(12, 8, again), false).targets);
  const std::uint32_t hub = graphs::largest_hub(graph);
  // Of 2^15 edges 0.6^12 leave the largest one in the mean, 71; with edges at random it would be some 20.
  EXPECT_GT(graph.first[hub + 1] - graph.first[hub], 45U);
  for (const graphs::Edge& edge : edges) ASSERT_TRUE(edge.weight >= 1 && edge.weight <= 100);
}

TEST(Graphs, RoadsLeadToNeighbours) {
  Random random(3);
  const std::vector<graphs::Edge> edges = graphs::roads(40, 30, random);
  EXPECT_NEAR(static_cast<double>(edges.size()), 7.0 / 8 * (39 * 30 + 40 * 29), 60);
  for (const graphs::Edge& edge : edges)
    ASSERT_TRUE(edge.to == edge.from + 40 || (edge.to == edge.from + 1 && edge.to % 40 != 0));
}

TEST(Relaxation, DistancesByHopsAndByWeight) {
  // The direct way from 0 to 2 is heavier than the one over 1; nothing leads to 3.
  const graphs::Graph graph = graphs::rows_of(4, {{0, 2, 9}, {0, 1, 3}, {1, 2, 4}, {3, 0, 1}}, false);
  EXPECT_EQ(relaxation::distances(graph, 0, true), (Numbers{0, 1, 1, relaxation::kFar}));
  EXPECT_EQ(relaxation::distances(graph, 0, false), (Numbers{0, 3, 7, relaxation::kFar}));
}

// --- minimum spanning forests -----------------------------------------------------------------------------

TEST(Mst, KruskalsForest) {
  // A square with a diagonal, whose two edges of weight 2 decide by their order, and an island.
  const std::vector<graphs::Edge> edges = {{0, 1, 2}, {1, 2, 2}, {0, 2, 2}, {2, 3, 1}, {0, 3, 5}, {4, 5, 8}};
  const mst::Forest forest = mst::reference(7, edges);
  EXPECT_EQ(forest.in_tree, (Numbers{1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(forest.weight, 2U + 2 + 1 + 8);
  EXPECT_EQ(forest.component, (Numbers{0, 0, 0, 0, 4, 4, 6}));
}

TEST(Mst, LabelsAreComparedWhateverNodeStandsForATree) {
  EXPECT_EQ(mst::smallest_nodes({3, 1, 3, 3}), (Numbers{0, 1, 0, 0}));
  EXPECT_THROW((void)mst::smallest_nodes({3, 0, 3, 3}), SimulationFault) << "0 is not its own label";
  EXPECT_THROW((void)mst::smallest_nodes({4, 1}), SimulationFault);
}

// --- survey propagation -----------------------------------------------------------------------------------

// (x0 or x1 or x2) and (x0 or not x1 or x2)
const survey::Formula& two_clauses() {
  static const survey::Formula formula = survey::formula_of({0, 2, 4, 0, 3, 4}, 3);
  return formula;
}

TEST(Survey, PlacesOfVariables) {
  EXPECT_EQ(two_clauses().first, (Numbers{0, 2, 4, 6}));
  EXPECT_EQ(two_clauses().places, (Numbers{0, 3, 1, 4, 2, 5}));
}

TEST(Survey, AWarningNeedsBothOthersForcedAgainstTheClause) {
  // Clause 1 warns x0 and x2 with 1/2 and x1, which it wants false, with 1/4. Only x1 may be against clause
  // 0: forced with 1/4, and nothing else forces it, so 1/4 / (1/4 + 3/4); x0 and x2 are never.
  survey::State state{{0, 0, 0, 0.5F, 0.25F, 0.5F}, {}, {0, 0, 0}};
  std::vector<float> next;
  EXPECT_FALSE(survey::update(two_clauses(), state, 0.1F, next));
  EXPECT_EQ(next, (std::vector<float>{0, 0, 0, 0, 0, 0}));
  // With x2 false, and x0 as well, x1 decides: each clause is a unit clause, and they contradict each other.
  state.assigned = {-1, 0, -1};
  EXPECT_FALSE(survey::update(two_clauses(), state, 0.1F, next));
  EXPECT_EQ(next, (std::vector<float>{0, 1, 0, 0, 1, 0}));
  // With x2 false alone, the others in clause 0 are x0, never against it, and x1, with a quarter.
  state.assigned = {0, 0, -1};
  EXPECT_FALSE(survey::update(two_clauses(), state, 0.1F, next));
  EXPECT_EQ(next, (std::vector<float>{0.25F, 0, 0, 0, 0, 0}));
  // A clause that is satisfied warns nobody.
  state.assigned = {0, 0, 1};
  (void)survey::update(two_clauses(), state, 0.1F, next);
  EXPECT_EQ(next, std::vector<float>(6, 0.0F));
  state.eta = next;
  EXPECT_TRUE(survey::update(two_clauses(), state, 0.1F, next));
}

TEST(Survey, BiasOfForcedVariables) {
  // x0 is warned with 1/2 twice: true with 3/4. x1 by clause 0 with 1/2 and by clause 1 with 1/4: true in
  // 3/8, false in 1/8, both (a contradiction) in 1/8, neither in 3/8.
  survey::State state{{0.5F, 0.5F, 0, 0.5F, 0.25F, 0}, {}, {0, 0, 1}};
  EXPECT_EQ(survey::weigh(two_clauses(), state), 0.75F);
  EXPECT_EQ(state.bias[0], 0.75F);
  EXPECT_NEAR(state.bias[1], (3.0 / 8 - 1.0 / 8) / (7.0 / 8), 1e-7);
  EXPECT_EQ(state.bias[2], 0) << "assigned";
}

TEST(Survey, DecimationEndsWhereSurveysSayNothing) {
  // One clause: three free variables never warn each other, whatever they begin with.
  const survey::Formula formula = survey::formula_of({0, 2, 4}, 3);
  const survey::State state = survey::reference(formula, {0.9F, 0.2F, 0.4F}, {5, 10, 0.01F, 0.9F});
  EXPECT_EQ(state.eta, std::vector<float>(3, 0.0F));
  EXPECT_EQ(state.assigned, std::vector<std::int32_t>(3, 0));
}

TEST(Survey, RandomFormulasHaveThreeDifferentVariablesAClause) {
  Random random(5);
  const survey::Formula formula = survey::random_formula(4, 300, random);
  std::uint32_t negated = 0;
  for (std::uint32_t c = 0; c < 300; ++c) {
    std::set<std::uint32_t> variables;
    for (std::uint32_t p = 0; p < 3; ++p) {
      variables.insert(formula.literals[3 * c + p] / 2);
      negated += formula.literals[3 * c + p] % 2;
    }
    ASSERT_EQ(variables.size(), 3U);
  }
  EXPECT_NEAR(negated, 450, 60);
}

// A hard formula: surveys do not vanish, variables are assigned, and more of them with each decimation.
TEST(Survey, VariablesAreAssignedNearTheThreshold) {
  Random random(1);
  const survey::Formula formula = survey::random_formula(1000, 4200, random);
  std::vector<float> eta(formula.literals.size());
  for (float& survey : eta) survey = random.unit();
  const auto assigned = [&](std::uint32_t decimations) {
    const survey::State state = survey::reference(formula, eta, {decimations, 200, 0.01F, 0.9F});
    return std::accumulate(
        state.assigned.begin(), state.assigned.end(), 0U,
        [](std::uint32_t sum, std::int32_t value) { return sum + (value != 0 ? 1U : 0U); });
  };
  const std::uint32_t first = assigned(1);
  EXPECT_GT(first, 0U);
  EXPECT_GT(assigned(5), first);
}

// --- MapReduce --------------------------------------------------------------------------------------------

constexpr std::uint32_t kAll = ~std::uint32_t{0};

TEST(MapReduce, FnvsTestVectors) {
  EXPECT_EQ(mapreduce::hash_of("", kAll), 0x811c9dc5U);
  EXPECT_EQ(mapreduce::hash_of("a", kAll), 0xe40c292cU);
  EXPECT_EQ(mapreduce::hash_of("foobar", kAll), 0xbf9cf968U);
  EXPECT_EQ(mapreduce::hash_of("foobar", 0xff), 0x68U);
}

TEST(MapReduce, ViewsOfPagesAreCountedOncePerLine) {
  mapreduce::Text log;
  for (const char* line :
       {"/b 1 x\n", "/a 1 x\n", "/b 2 y\n", "/b 1 x\n", "#Date: now\n", "/p.gif 1 x\n", "/b 1 z\n"})
    log.add(line);
  // With one bit of the hash the order is that bit, then that of letters.
  const mapreduce::Grouped found = mapreduce::page_view_count(log, 1);
  const std::uint32_t a = mapreduce::hash_of("/a", 1), b = mapreduce::hash_of("/b", 1);
  const mapreduce::Pair of_a{a, 7, 2, 0}, first{b, 0, 2, 0}, second{b, 14, 2, 0}, third{b, 50, 2, 0};
  if (b < a) {
    EXPECT_EQ(found.pairs, (std::vector{first, second, third, of_a}));
    EXPECT_EQ(found.reduced, (Numbers{3, 1}));
  } else {
    EXPECT_EQ(found.pairs, (std::vector{of_a, first, second, third}));
    EXPECT_EQ(found.reduced, (Numbers{1, 3}));
  }
  EXPECT_EQ(found.groups, (Numbers{0, b < a ? 3U : 1U}));
}

TEST(MapReduce, RankIsByFallingViews) {
  mapreduce::Text table;
  for (const char* line : {"/a 7\n", "# none\n", "/bc 100\n", "/d 7\n"}) table.add(line);
  EXPECT_EQ(mapreduce::page_view_rank(table).pairs,
            (std::vector<mapreduce::Pair>{{100, 12, 3, 2}, {7, 0, 2, 0}, {7, 20, 2, 3}}));
}

TEST(MapReduce, LinksOfPages) {
  mapreduce::Text pages;
  pages.add("<a href=\"/x\">one <a name=\"n\"><<a href=\"/y\"><a href=\"/x\">");
  pages.add("none <a hre");
  pages.add("<a href=\"/x");
  const mapreduce::Grouped found = mapreduce::inverted_index(pages, kAll);
  ASSERT_EQ(found.pairs.size(), 4U);
  ASSERT_EQ(found.groups.size(), 2U);
  const std::uint32_t x =
      found.pairs[0].start == 9 ? 0 : 1;  // the group of /x, whichever hash is the smaller
  const std::uint32_t at = found.groups[x];
  EXPECT_EQ(found.pairs[at], (mapreduce::Pair{mapreduce::hash_of("/x", kAll), 9, 2, 0}));
  EXPECT_EQ(found.pairs[at + 1].value, 0U);
  EXPECT_EQ(found.pairs[at + 2].value, 2U) << "a link that the page's end cuts off";
}

TEST(MapReduce, TextsHaveWhatTheirGeneratorsSay) {
  Random random(2);
  const mapreduce::Text log = mapreduce::web_log(4000, 500, random);
  const mapreduce::Grouped views = mapreduce::page_view_count(log, kAll);
  // Of lines that are no repetition (3 in 4), 15 in 16 are no directive, and of these 7 in 8 no picture.
  EXPECT_NEAR(static_cast<double>(views.pairs.size()), 4000 * 0.75 * 15 / 16 * 7 / 8, 120);
  EXPECT_GT(*std::max_element(views.reduced.begin(), views.reduced.end()),
            5 * views.pairs.size() / views.groups.size());
  const mapreduce::Text table = mapreduce::view_table(1600, 50, random);
  EXPECT_NEAR(static_cast<double>(mapreduce::page_view_rank(table).pairs.size()), 1500, 40);
  const mapreduce::Text pages = mapreduce::html_pages(1000, 20, 200, 100, random);
  EXPECT_NEAR(static_cast<double>(mapreduce::inverted_index(pages, kAll).pairs.size()), 2000, 200);
}

// Keys whose hashes are the same are told apart by their letters: with one bit left the results are as right,
// and more letters are read.
TEST(MapReduce, EqualHashesAreNoEqualKeys) {
  for (const char* app : {"kayiran14/pvc:lines=900,urls=60", "kayiran14/iix:pages=300,urls=60"}) {
    const auto whole = run_functionally(app), one_bit = run_functionally(std::string(app) + ",hash=1");
    EXPECT_GT(one_bit.at("bitonic_tiles_text"), whole.at("bitonic_tiles_text")) << app;
  }
}

}  // namespace
}  // namespace gpumux::benchmarks
