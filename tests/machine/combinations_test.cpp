// Random combinations of machines, applications, policies and levels. Each combination passes the machine's
// own checks and gives the same bytes for any number of threads, or it is refused with one line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"
#include "sanitized.hpp"
#include "tests/machine/short_policies.hpp"

namespace gpumux {
namespace {

/// The same numbers for the same seed on any host.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t end) { return mix64(++state_ * 0x9e37'79b9'7f4a'7c15ULL) % end; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

struct Combination {
  std::string text;
  experiment::RunSpec spec;
};

/// Throws UserError where the machine, an application or the policy does not take what was drawn.
Combination draw(std::uint64_t seed) {
  Draw from(seed);
  Combination drawn;
  experiment::RunSpec& spec = drawn.spec;
  const std::string machine = from.one_of(arch::machine_names());
  const std::vector<std::string> set = {"sms=" + std::to_string(1 + from.below(6))};
  std::string policy = from.one_of(test::short_policies());
  for (const auto& levels :
       {test::short_block_schedulers(), test::short_core_controls(), test::short_concurrency_controls(),
        test::short_memory_schemes(), test::short_warp_schedulers()})
    if (from.below(3) == 0) policy += "," + from.one_of(levels);
  const std::vector<std::string> applications = {"bfs:nodes=4096",   "hotspot:size=64",
                                                 "stream:blocks=64", "pathfinder:columns=4096",
                                                 "add:blocks=40",    "add:at=2K"};
  std::vector<std::string> apps;
  for (std::uint64_t i = 1 + from.below(3); i > 0; --i) apps.push_back(from.one_of(applications));
  drawn.text = machine + " " + set[0] + " " + policy;
  for (const std::string& app : apps) drawn.text += " " + app;
  spec.seed = from.below(5);
  spec.cycles = 4000 + from.below(3) * 1500;
  spec.series = from.below(2) * 700;
  spec.ledger = from.below(2) == 0;
  spec.audit = true;
  spec.machine = arch::load_machine(machine, set);
  for (const std::string& app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice(policy);
  return drawn;
}

std::string run(experiment::RunSpec spec, unsigned threads) {
  spec.threads = threads;
  return experiment::json_text(experiment::result_document(experiment::simulate(spec), {}, {}));
}

TEST(Combinations, RunWithTheirChecksOrAreRefused) {
  const char* more = std::getenv("GPUMUX_COMBINATIONS");  // so many, from there on
  const std::uint64_t count = more != nullptr    ? std::strtoull(more, nullptr, 10)
                              : test::kSanitized ? 24
                                                 : 120;
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    std::string text = "seed " + std::to_string(seed);
    try {
      const Combination drawn = draw(seed);
      text += ": " + drawn.text;
      SCOPED_TRACE(text);
      const std::string one = run(drawn.spec, 1);
      EXPECT_EQ(one, run(drawn.spec, 3));
      ++ran;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << text;
    } catch (const std::exception& error) {
      ADD_FAILURE() << text << ": " << error.what();
    }
  }
  EXPECT_GT(ran, count / 4);
}

}  // namespace
}  // namespace gpumux
