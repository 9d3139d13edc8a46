// CPU references of chimera15's applications, against cases worked by hand or computed in another way, and
// parameters that must be refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "benchmarks/blackscholes/blackscholes.hpp"
#include "benchmarks/fwt/fwt.hpp"
#include "benchmarks/heartwall/heartwall.hpp"
#include "benchmarks/leukocyte/leukocyte.hpp"
#include "benchmarks/mummer/mummer.hpp"
#include "benchmarks/needle/needle.hpp"
#include "benchmarks/sad/sad_reference.hpp"
#include "experiment/run.hpp"
#include "policy/policy.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

TEST(BlackScholes, PutsAndCallsDifferByWhatIsPaidAndOwed) {
  const blackscholes::Prices prices = blackscholes::reference({30, 20, 2}, 0.02, 0.3);
  EXPECT_NEAR(prices.call - prices.put, 30 - 20 * std::exp(-0.04), 1e-9);
  EXPECT_NEAR(prices.call, 11.545, 0.005);  // by a table of the normal distribution
}

TEST(Fwt, DyadicConvolutionOfFour) {
  EXPECT_EQ(fwt::dyadic_convolution({1, 2, 0, 3}, {5, 7}), (std::vector<std::int32_t>{19, 17, 21, 15}));
}

TEST(Needle, TwoLetters) {
  // Alike 5 on the diagonal, -3 off it; a gap costs 2.
  const std::vector<std::int32_t> similarity = {0, 0, 0, 0, 5, -3, 0, -3, 5};
  EXPECT_EQ(needle::align(similarity, 2, 2), (std::vector<std::int32_t>{0, -2, -4, -2, 5, 3, -4, 3, 10}));
}

TEST(Mummer, TheTreeHasAllSubstringsAndItsLinksDropALetter) {
  Random random(3);
  std::vector<std::uint8_t> text(300);
  for (std::uint8_t& letter : text)
    letter = static_cast<std::uint8_t>(random.below(random.below(2) == 0 ? 2 : 4));
  const mummer::SuffixTree tree = mummer::suffix_tree(text);
  const auto label = [&](std::size_t node) {
    std::vector<int> letters;
    for (; node != 0; node = static_cast<std::size_t>(tree.edges[node][3]))
      for (std::int32_t i = tree.edges[node][1] - 1; i >= tree.edges[node][0]; --i)
        letters.insert(letters.begin(),
                       static_cast<std::size_t>(i) < text.size() ? text[static_cast<std::size_t>(i)] : 4);
    return letters;
  };
  for (std::size_t node = 1; node < tree.edges.size(); ++node) {
    const std::vector<int> path = label(node);
    EXPECT_EQ(static_cast<std::int32_t>(path.size()), tree.depths[node]);
    bool inner = false;
    for (const std::int32_t child : tree.children[node]) inner = inner || child != 0;
    if (!inner) continue;
    const std::vector<int> shorter(path.begin() + 1, path.end());
    EXPECT_EQ(label(static_cast<std::size_t>(tree.edges[node][2])), shorter);
  }
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint8_t> query(12);
    for (std::uint8_t& letter : query) letter = static_cast<std::uint8_t>(random.below(4));
    std::int32_t longest = 0;
    for (std::size_t from = 0; from < text.size(); ++from) {
      std::int32_t length = 0;
      while (length < 12 && from + static_cast<std::size_t>(length) < text.size() &&
             text[from + static_cast<std::size_t>(length)] == query[static_cast<std::size_t>(length)])
        ++length;
      longest = std::max(longest, length);
    }
    const mummer::Match match = mummer::longest_match(tree, text, query.data(), 12);
    EXPECT_EQ(match.length, longest);
    EXPECT_EQ(mummer::top_of(tree, match, longest + 1), -1);
    if (longest == 0) continue;
    const std::int32_t top = mummer::top_of(tree, match, longest);
    EXPECT_GE(tree.depths[static_cast<std::size_t>(top)], longest);
    EXPECT_LT(tree.depths[static_cast<std::size_t>(tree.edges[static_cast<std::size_t>(top)][3])], longest);
  }
}

TEST(Sad, OfABlockThatHasMoved) {
  sad::Frame frame{16, 16, std::vector<std::uint8_t>(256, 10)};
  sad::Frame before = frame;
  frame.pixels[0] = 50;    // of the first block
  before.pixels[18] = 50;  // where it was: two to the right, one down
  const std::vector<std::uint16_t> rows = sad::small_sads(frame, before);
  EXPECT_EQ(rows.size(), 16 * sad::kRow);
  EXPECT_EQ(rows[16 * 33 + 16], 40U + 40U);  // in place: both pixels are in the block
  EXPECT_EQ(rows[17 * 33 + 18], 0U);
}

TEST(Leukocyte, ABrightDiscHasItsGreatestScoreInItsMiddle) {
  leukocyte::Image image{60, 56, std::vector<float>(60 * 56)};
  for (std::uint32_t x = 0; x < 60; ++x)
    for (std::uint32_t y = 0; y < 56; ++y)
      if ((x - 30.0) * (x - 30.0) + (y - 27.0) * (y - 27.0) <= 100) image.at(x, y) = 1;
  const leukocyte::Image score = leukocyte::gicov(leukocyte::gradient(image), leukocyte::circles());
  std::uint32_t best_x = 0, best_y = 0;
  for (std::uint32_t x = 0; x < 60; ++x)
    for (std::uint32_t y = 0; y < 56; ++y)
      if (score.at(x, y) > score.at(best_x, best_y)) best_x = x, best_y = y;
  EXPECT_NEAR(best_x, 30, 1);
  EXPECT_NEAR(best_y, 27, 1);
  const leukocyte::Image dilated = leukocyte::dilate(score, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 3);
  EXPECT_EQ(dilated.at(best_x + 1, best_y - 1), score.at(best_x, best_y));
}

TEST(Leukocyte, AFlowThatIsItsEdgesStays) {
  std::vector<float> flow(leukocyte::kFlowPixels, 0.5F);
  const std::vector<float> edges = flow;
  EXPECT_EQ(leukocyte::gradient_flow(flow, edges, 1, 1, 100, 1e-4F), 1);
  EXPECT_EQ(flow, edges);
}

// Section 4.1: it executes for 200 us.
TEST(Periodic, TakesItsTwoHundredMicrosecondsOnThePapersMachine) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("chimera15-fermi30");
  spec.policy = policy::parse_choice("leftover");
  spec.apps = {experiment::builtin_app("chimera15/RT")};
  const double us = static_cast<double>(experiment::simulate(spec).cycles) / spec.machine.clocks.core;
  EXPECT_NEAR(us, 200, 0.5);
}

TEST(Heartwall, APointFollowsWhatMoves) {
  Random random(5);
  heartwall::Frame first{120, 120, {}};
  for (int i = 0; i < 120 * 120; ++i) first.pixels.push_back(random.unit());
  heartwall::Frame second = first;
  for (std::int32_t y = 0; y < 120; ++y)
    for (std::int32_t x = 0; x < 120; ++x)
      second.pixels[static_cast<std::size_t>(y) * 120 + static_cast<std::size_t>(x)] = first.at(x - 4, y + 3);
  heartwall::Point point{60, 60, {}};
  heartwall::begin(point, first);
  heartwall::track(point, second);
  EXPECT_EQ(point.x, 64);
  EXPECT_EQ(point.y, 57);
}

TEST(Chimera15Params, BadOnesAreRefused) {
  for (const char* text :
       {"chimera15/CP:width=100", "chimera15/NW:size=17", "chimera15/FWT:bits=9", "chimera15/BP:inputs=17",
        "chimera15/LUD:size=20", "chimera15/SAD:width=20", "chimera15/MUM:letters=10,least=20",
        "chimera15/RT:steps=17", "chimera15/HW:frames=0", "chimera15/LC:cells=0", "chimera15/BS:options=0",
        "chimera15/KM:points=2"}) {
    const std::string app = text;
    const std::size_t colon = app.find(':');
    const runtime::AppInfo* info = runtime::find_app(app.substr(0, colon));
    ASSERT_NE(info, nullptr) << app;
    EXPECT_THROW((void)info->create(runtime::parse_params(*info, app.substr(colon + 1)), 1), UserError)
        << app;
  }
}

}  // namespace
}  // namespace gpumux::benchmarks
