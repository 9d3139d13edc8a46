// The level `memory`: names, settings, one canonical text per choice, and texts that are refused.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "policy/memory_scheme.hpp"

namespace gpumux::policy {
namespace {

using arch::kNoMemoryLimit;
using arch::MemoryScheme;

std::string message(const std::string& text, std::size_t apps = 0,
                    const std::vector<std::string>& machine = {}) {
  try {
    const PolicyChoice choice = parse_choice(text);
    if (apps > 0) check_memory_scheme(choice, arch::load_machine("dai18-maxwell", machine), apps);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}
std::string canonical(const char* text) { return canonical_text(parse_choice(text)); }
MemoryScheme scheme(const char* text) {
  const PolicyChoice choice = parse_choice(text);
  return memory_scheme(choice.memory, choice.memory_settings);
}

TEST(MemoryLevel, JoinedNamesMeanThePartitionWithTheScheme) {
  for (const MemorySchemeInfo& info : memory_schemes()) {
    const PolicyChoice choice = parse_choice("even-" + info.name);
    EXPECT_EQ(choice.name, "even");
    EXPECT_EQ(choice.memory, info.name) << "the longest that ends the name";
    EXPECT_EQ(canonical_text(choice), "even,memory=" + info.name);
    EXPECT_TRUE(memory_scheme(choice.memory, choice.memory_settings).on());
  }
  EXPECT_FALSE(scheme("even").on());
}

TEST(MemoryLevel, EqualChoicesHaveOneText) {
  EXPECT_EQ(canonical("even-smil:k0=3,k1=1"), "even,memory=smil,k0=3,k1=1");
  EXPECT_EQ(canonical("even,memory=smil,k1=1,k0=3"), "even,memory=smil,k0=3,k1=1");
  EXPECT_EQ(canonical("even-smil:k1=0x1, k0=3, k2=inf"), "even,memory=smil,k0=3,k1=1");
  EXPECT_EQ(canonical("even-dmil:interval=1024,unbounded=false"), "even,memory=dmil");
  EXPECT_EQ(canonical("even-qbmi:offers=ready"), "even,memory=qbmi");
  EXPECT_EQ(canonical("even,warps=lrr,memory=dmil,unbounded=true"),
            "even,memory=dmil,unbounded=true,warps=lrr");
  EXPECT_EQ(canonical("leftover:mode=sequential,memory=qbmi"), "leftover:mode=sequential,memory=qbmi");
  EXPECT_EQ(canonical("leftover-qbmi:mode=sequential"), "leftover:mode=sequential,memory=qbmi");
  for (const char* text :
       {"even-smil:k0=3,k1=1", "spatial-dmil-global:monitor=3,warps=lrr", "even-ucp:interval=500"})
    EXPECT_EQ(canonical(canonical(text).c_str()), canonical(text));
}

/// A policy with a key that smil knows, too.
class Nobody final : public Policy {
 public:
  void kernel_arrived(Control&, const RunningKernel&) override {}
};
Settings settings_seen;
const bool registered = register_policy({"test-keys",
                                         "of a test",
                                         {{"k0", "of the policy"}, {"x", "of the policy"}},
                                         [](const Settings& settings) -> std::unique_ptr<Policy> {
                                           settings_seen = settings;
                                           return std::make_unique<Nobody>();
                                         }});

TEST(MemoryLevel, KeysOfTwoLevelsAreRefusedUnlessTheySayOfWhich) {
  ASSERT_TRUE(registered);
  EXPECT_EQ(message("test-keys-smil:k0=3"),
            "error: policy test-keys-smil:k0=3: k0= is a setting of test-keys and of memory=smil: write "
            "test-keys.k0= or smil.k0=");
  const PolicyChoice choice = parse_choice("test-keys-smil:test-keys.k0=a,smil.k0=3,x=1,k1=2");
  EXPECT_EQ(choice.settings, (Settings{{"k0", "a"}, {"x", "1"}}));
  EXPECT_EQ(choice.memory_settings, (Settings{{"k0", "3"}, {"k1", "2"}}));
  EXPECT_EQ(canonical_text(choice), "test-keys:k0=a,x=1,memory=smil,smil.k0=3,k1=2");
  EXPECT_EQ(canonical(canonical_text(choice).c_str()), canonical_text(choice));
  EXPECT_EQ(message("test-keys:k0=a"), "accepted") << "one level alone knows it";
  EXPECT_EQ(message("even-smil:smil.k0=3"), "accepted");
  EXPECT_NE(message("even-smil:even.k0=3"), "accepted");
}

TEST(MemoryLevel, SettingsReachTheScheme) {
  const MemoryScheme smil = scheme("even-smil:k0=3,k2=24,stores=performed");
  EXPECT_EQ(smil.limit, MemoryScheme::Limit::Static);
  EXPECT_EQ(smil.limits[0], 3U);
  EXPECT_EQ(smil.limits[1], kNoMemoryLimit);
  EXPECT_EQ(smil.limits[2], 24U);
  EXPECT_TRUE(smil.stores_performed);
  const MemoryScheme global = scheme("even-dmil-global:interval=256,unbounded=true,monitor=5");
  EXPECT_EQ(global.limit, MemoryScheme::Limit::DynamicGlobal);
  EXPECT_EQ(global.interval, 256U);
  EXPECT_TRUE(global.unbounded);
  EXPECT_EQ(global.monitor, 5U);
  const MemoryScheme both = scheme("even-qbmi-dmil");
  EXPECT_EQ(both.order, MemoryScheme::Order::Quota);
  EXPECT_EQ(both.limit, MemoryScheme::Limit::Dynamic);
  EXPECT_EQ(both.interval, 1024U);
  EXPECT_EQ(scheme("even-rbmi").order, MemoryScheme::Order::RoundRobin);
  EXPECT_TRUE(scheme("even-rbmi").offers_ready);
  EXPECT_FALSE(scheme("even-qbmi:offers=wanted").offers_ready);
  EXPECT_EQ(scheme("even-ucp").ways_interval, 10'000U);
  EXPECT_TRUE(scheme("even-ucp").divides_ways);
  EXPECT_TRUE(scheme("even-mshr").divides_misses);
}

TEST(MemoryLevel, RefusesWhatIsWrong) {
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(message(text).find(part), std::string::npos) << text << ": " << message(text);
  };
  expect("even,memory=dmill", "unknown memory scheme 'dmill'; did you mean 'dmil'?");
  expect("even,memory=", "unknown memory scheme ''");
  expect("even-dmill", "did you mean 'even-dmil'?");
  expect("evn-dmil", "unknown policy 'evn-dmil'");
  expect("even-smil:k0=0", "memory=smil: k0='0' must be an integer from 1 to 24, or inf");
  expect("even-smil:k1=25", "k1='25' must be an integer from 1 to 24, or inf");
  expect("even-smil:k0=-1", "must be an integer from 1 to 24");
  expect("even-smil:k0=", "must be an integer from 1 to 24");
  expect("even-smil:k16=2", "there is no k16");
  expect("even-smil:k01=2", "unknown setting 'k01'");
  expect("even-smil:interval=64", "unknown setting 'interval'");
  expect("even-dmil:k0=2", "unknown setting 'k0'");
  expect("even-dmil:interval=1000", "must be a power of two from 64 to 65536");
  expect("even-dmil:interval=32", "must be a power of two");
  expect("even-dmil:unbounded=yes", "must be true or false");
  expect("even-rbmi:offers=all", "must be ready or wanted");
  expect("even-dmil:stores=later", "must be accepted or performed");
  expect("even-ucp:interval=10", "must be a number of cycles from 100");
  expect("even-dmil-global:monitor=x", "must be the number of an SM");
  expect("even-rbmi,memory=qbmi", "two memory schemes, rbmi and qbmi");
  expect("even,k0=3,memory=smil", "unknown setting 'k0'");
}

TEST(MemoryLevel, RefusesWhatTheRunCannotHave) {
  EXPECT_EQ(message("even-smil:k0=3,k1=1", 2), "accepted");
  EXPECT_NE(message("even-smil:k0=3,k2=1", 2).find("k2=1, but the run has 2 applications: k0 to k1"),
            std::string::npos);
  EXPECT_NE(message("even-smil:k1=1", 1).find("but the run has 1 application: k0"), std::string::npos);
  EXPECT_EQ(message("even-ucp", 6), "accepted");
  EXPECT_NE(message("even-ucp", 7).find("7 applications cannot share 6 ways of L1"), std::string::npos);
  const std::vector<std::string> unified = {"l1.unified_size=104K", "l1.shared_carveouts=[0, 96K]"};
  EXPECT_EQ(message("even-ucp", 2, unified), "accepted");
  EXPECT_NE(message("even-ucp", 3, unified).find("3 applications cannot share 2 ways"), std::string::npos);
  EXPECT_NE(message("even-mshr", 9).find("9 applications cannot share 8 places of the miss queue"),
            std::string::npos);
  EXPECT_NE(message("even-mshr", 3, {"l1.mshr_entries=2"}).find("cannot share 2 MSHRs"), std::string::npos);
  EXPECT_NE(message("even-dmil-global:monitor=16", 2).find("monitor=16, but the machine has SMs 0 to 15"),
            std::string::npos);
}

}  // namespace
}  // namespace gpumux::policy
