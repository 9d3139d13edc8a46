// `--verify` checks everything that applications with one kernel read back: a run ends with an error if any
// word of the results is wrong.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "benchmarks/functional_host.hpp"
#include "runtime/application.hpp"
#include "tests/small_apps.hpp"

namespace gpumux {
namespace {

/// One word of all that is copied to the host arrives with its second highest bit turned.
class SpoilingHost final : public testing_support::FunctionalHost {
 public:
  explicit SpoilingHost(std::uint64_t word) : FunctionalHost(0), spoiled_(word) {}
  void copy_from_device(std::span<std::byte> to, Address from, runtime::StreamId stream) override {
    FunctionalHost::copy_from_device(to, from, stream);
    const std::uint64_t words = to.size() / 4;
    if (spoiled_ >= copied_ && spoiled_ < copied_ + words)
      to[4 * (spoiled_ - copied_) + 3] ^= std::byte{0x40};
    copied_ += words;
  }
  [[nodiscard]] std::uint64_t copied() const { return copied_; }

 private:
  std::uint64_t spoiled_;
  std::uint64_t copied_ = 0;
};

constexpr std::uint64_t kNone = ~0ULL;

std::vector<const char*> apps_of_awatramani17() {
  std::vector<const char*> apps;
  for (const char* app : test::kSmallApps)
    if (std::string(app).starts_with("awatramani17/")) apps.push_back(app);
  for (const char* app :
       {"awatramani17/dct-k1:width=64,height=32", "awatramani17/dct-k2:width=64,height=32",
        "awatramani17/cfd:side=7,height=5", "awatramani17/hotspot:size=61", "awatramani17/nn:records=300",
        "awatramani17/pathfinder:columns=300,rows=21", "awatramani17/dxtc:width=16,height=8",
        "awatramani17/btree:keys=2000,ranges=30,range=9,queries=50"})
    apps.push_back(app);
  return apps;
}

constexpr const char* kKayiran14[] = {"kayiran14/bp:inputs=512",
                                      "kayiran14/hot:size=61",
                                      "kayiran14/path:columns=300,rows=21",
                                      "kayiran14/mm:m=128,n=32,k=16",
                                      "kayiran14/blk:options=300,blocks=7",
                                      "kayiran14/mum:reference=300,queries=40",
                                      "kayiran14/bfs:bits=9",
                                      "kayiran14/sssp:bits=9",
                                      "kayiran14/mst:width=20,height=9",
                                      "kayiran14/sp:variables=50,clauses=200",
                                      "kayiran14/pvc:lines=300,urls=30",
                                      "kayiran14/pvr:lines=300",
                                      "kayiran14/iix:pages=90,urls=30"};

class SpoiledResults : public testing::TestWithParam<const char*> {};

TEST_P(SpoiledResults, AreFound) {
  const std::string text = GetParam();
  const std::size_t colon = text.find(':');
  const runtime::AppInfo* info = runtime::find_app(text.substr(0, colon));
  ASSERT_NE(info, nullptr);
  const auto app = info->create(runtime::parse_params(*info, text.substr(colon + 1)), 7);
  const auto run = [&](std::uint64_t word) {
    SpoilingHost host(word);
    runtime::Task task = app->run(host, true);
    while (!task.done()) task.resume();
    return host.copied();
  };
  const std::uint64_t words = run(kNone);
  ASSERT_GT(words, 0U);
  std::set<std::uint64_t> spoiled = {0, words / 3, words / 2, words - 1};
  Random random(1);
  for (int i = 0; i < 12; ++i) spoiled.insert(random.below(static_cast<std::uint32_t>(words)));
  for (const std::uint64_t word : spoiled) EXPECT_THROW(run(word), SimulationFault) << "word " << word;
}

INSTANTIATE_TEST_SUITE_P(Awatramani17, SpoiledResults, testing::ValuesIn(apps_of_awatramani17()),
                         test::app_test_name);
INSTANTIATE_TEST_SUITE_P(Kayiran14, SpoiledResults, testing::ValuesIn(kKayiran14), test::app_test_name);

}  // namespace
}  // namespace gpumux
