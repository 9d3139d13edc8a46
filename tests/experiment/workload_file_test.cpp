// WORKLOAD.toml: its contents, and the places that its errors name.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "experiment/arrivals.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::experiment {
namespace {

TEST(WorkloadFile, HoldsEverythingThatOptionsSay) {
  const WorkloadFile w = parse_workload(R"(
machine = "v100"
set = ["l1.latency=30", "sms=4"]
policy = "even"
cycles = 1000
seed = 3
verify = true
[[apps]]
app = "hotspot:size=64"
[[apps]]
app = "k.ptx:scale"
grid = [16, 2]
block = 256
shared = 1024
args = ["i32:5", "in:x.bin"]
[[apps]]
app = "k.ptx:scale"
grid = "3,2,1"
block = "64"
shared = "4K"
)",
                                        "folder/w.toml");
  EXPECT_EQ(w.folder, "folder");
  EXPECT_EQ(w.machine, "v100");
  EXPECT_EQ(w.set, (std::vector<std::string>{"l1.latency=30", "sms=4"}));
  EXPECT_EQ(w.policy, "even");
  EXPECT_EQ(w.cycles, 1000U);
  EXPECT_EQ(w.seed, 3U);
  EXPECT_TRUE(w.verify);
  ASSERT_EQ(w.apps.size(), 3U);
  EXPECT_EQ(w.apps[0].app, "hotspot:size=64");
  EXPECT_TRUE(w.apps[0].grid.empty());
  EXPECT_EQ(w.apps[1].grid, "16,2");
  EXPECT_EQ(w.apps[1].block, "256");
  EXPECT_EQ(w.apps[1].shared, "1024");
  EXPECT_EQ(w.apps[1].args, (std::vector<std::string>{"i32:5", "in:x.bin"}));
  EXPECT_EQ(w.apps[2].grid, "3,2,1");
  EXPECT_EQ(w.apps[2].shared, "4K");
}

TEST(WorkloadFile, HasApplicationsOfSeveralKernels) {
  const WorkloadFile w = parse_workload(R"(
[[apps]]
app = "chain"
repeat = 4
buffers = {x = "zero:f32[64]", y = "out:f32[64]=y.bin"}
[[apps.launches]]
kernel = "k.ptx:scale"
grid = 2
block = 32
args = ["buffer:x", "buffer:y"]
[[apps.launches]]
kernel = "l.ptx:shift"
grid = 1
block = 64
stream = 2
after = 1
)",
                                        "folder/w.toml");
  ASSERT_EQ(w.apps.size(), 1U);
  const AppArguments& app = w.apps[0];
  EXPECT_EQ(app.repeat, 4U);
  ASSERT_EQ(app.buffers.size(), 2U);
  EXPECT_EQ(app.buffers[1], (std::pair<std::string, std::string>{"y", "out:f32[64]=y.bin"}));
  ASSERT_EQ(app.launches.size(), 2U);
  EXPECT_EQ(app.launches[0].args, (std::vector<std::string>{"buffer:x", "buffer:y"}));
  EXPECT_EQ(app.launches[0].stream, 0U);
  EXPECT_EQ(app.launches[1].kernel, "l.ptx:shift");
  EXPECT_EQ(app.launches[1].stream, 2U);
  EXPECT_EQ(app.launches[1].after, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(app.launches[1].where.text(), "folder/w.toml:11:1");
}

TEST(WorkloadFile, SaysWhenApplicationsRun) {
  const WorkloadFile w = parse_workload(R"(
[[apps]]
app = "hotspot:size=64"
every = "1ms"
at = 2000
deadline = "200us"
late = "kill"
priority = 2
[[apps]]
app = "k.ptx:scale"
arrivals = "poisson:500/s"
[[apps]]
app = "add:at=3us"
deadline = "5us"
)",
                                        "w.toml");
  EXPECT_EQ(w.apps[0].app, "hotspot:size=64,at=2000,deadline=200us,every=1ms,late=kill,priority=2");
  EXPECT_EQ(w.apps[1].app, "k.ptx:scale,arrivals=poisson:500/s");
  EXPECT_EQ(w.apps[2].app, "add:at=3us,deadline=5us");
  const auto [app, arrivals] = split_arrivals(w.apps[0].app);
  EXPECT_EQ(app, "hotspot:size=64");
  EXPECT_TRUE(arrivals.kills_late);
  EXPECT_EQ(arrivals.at->amount, 2000);
  EXPECT_EQ(split_arrivals(w.apps[2].app).first, "add");
}

TEST(WorkloadFile, LeavesOpenWhatItDoesNotSay) {
  const WorkloadFile w = parse_workload("[[apps]]\napp = \"add\"\n", "w.toml");
  EXPECT_FALSE(w.machine);
  EXPECT_FALSE(w.policy);
  EXPECT_FALSE(w.cycles);
  EXPECT_FALSE(w.seed);
  EXPECT_FALSE(w.verify);
}

TEST(WorkloadFile, PointsAtWhatIsWrong) {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)parse_workload(text, "w.toml");
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const auto starts = [&](const char* text, const std::string& begin) {
    EXPECT_EQ(message(text).substr(0, begin.size()), begin) << message(text);
  };
  starts("machin = \"v100\"\n", "w.toml:1:1: error: unknown key 'machin'; did you mean 'machine'?");
  starts("", "w.toml: error: names no application");
  starts("apps = 5\n", "w.toml:1:8: error: 'apps' must be a list of tables");
  starts("apps = [5]\n", "w.toml:1:9: error: each of 'apps' must be a table");
  starts("[[apps]]\ngrid = 4\n", "w.toml:1:");
  starts("[[apps]]\napp = \"add\"\ngridd = 4\n",
         "w.toml:3:1: error: unknown key in [[apps]] 'gridd'; did you mean 'grid'?");
  starts("[[apps]]\napp = \"add\"\ngrid = 0\n",
         "w.toml:3:8: error: 'grid' must be a whole number of at least 1");
  starts("[[apps]]\napp = 5\n", "w.toml:2:7: error: 'app' must be a text");
  starts("[[apps]]\napp = \"a\"\nlaunches = []\n", "w.toml:3:12: error: 'launches' must be a list of tables");
  starts("[[apps]]\napp = \"a\"\ngrid = 1\nlaunches = [{kernel = \"k.ptx:s\"}]\n",
         "w.toml:3:8: error: 'grid' belongs to each of 'launches' here");
  starts("[[apps]]\napp = \"k.ptx:s\"\nrepeat = 2\n",
         "w.toml:3:10: error: 'repeat' is for applications with 'launches'");
  starts("[[apps]]\napp = \"a\"\nlaunches = [{grid = 1}]\n", "w.toml:3:13: error: a launch needs 'kernel'");
  starts("[[apps]]\napp = \"a\"\nlaunches = [{kernel = \"k.ptx:s\", strem = 1}]\n",
         "w.toml:3:34: error: unknown key in [[apps.launches]] 'strem'; did you mean 'stream'?");
  starts("[[apps]]\napp = \"a\"\nbuffers = [1]\n", "w.toml:3:11: error: 'buffers' must be a table");
  starts("[[apps]]\napp = \"a\"\nevery = 1.5\n", "w.toml:3:9: error: 'every' must be a text");
  starts("[[apps]]\napp = \"a\"\nevery = \"1ms,at=3\"\n", "w.toml:3:9: error: 'every' must be one value");
  starts("cycles = 0\n", "w.toml:1:10: error: 'cycles' must be a whole number of at least 1");
  starts("cycles = \"many\"\n", "w.toml:1:10: error: 'cycles' must be a whole number");
  starts("set = \"sms=4\"\n", "w.toml:1:7: error: 'set' must be a list of texts");
  starts("cycles =\n", "w.toml:1:");
}

}  // namespace
}  // namespace gpumux::experiment
