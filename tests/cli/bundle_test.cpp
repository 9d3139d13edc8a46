// Bundles on the command line: runs alone and with other applications, inspect, sweeps, and damaged bundles.
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace gpumux::test {
namespace {

const std::string kSmall = std::string(GPUMUX_SOURCE_DIR) + "/tests/bundle/data/small.gmx";

class BundleCommands : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::filesystem::copy_file(kSmall, path("small.gmx"));
  }
  [[nodiscard]] nlohmann::json result() const { return nlohmann::json::parse(read_file(path("r.json"))); }
};

TEST_F(BundleCommands, RunsAloneAndVerifies) {
  const Outcome run = gpumux({"run", "small.gmx", "--verify", "--json", "r.json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json r = result();
  EXPECT_EQ(r["apps"][0]["app"], "small.gmx");
  EXPECT_EQ(r["apps"][0]["completions"], 1);
  EXPECT_EQ(r["apps"][0]["blocks_completed"], 4 + 10 + 1);
  const Outcome slower = gpumux({"run", "small.gmx:host_time=10", "--json", "r.json"});
  ASSERT_EQ(slower.code, 0) << slower.err;
  EXPECT_GT(result()["cycles"], r["cycles"]);
}

TEST_F(BundleCommands, RunsBesideOthers) {
  const Outcome run = gpumux({"run", "add:blocks=8,loops=1", "small.gmx:every=20us", "small.gmx", "--policy",
                              "even", "--cycles", "60000", "--verify", "--set", "sms=4", "--json", "r.json"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const int app : {1, 2}) EXPECT_GE(result()["apps"][app]["completions"], 1);
  EXPECT_GT(result()["apps"][2]["normalized_ipc"].get<double>(), 0);
}

TEST_F(BundleCommands, Inspect) {
  const Outcome text = gpumux({"inspect", "small.gmx"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("3 launches on 2 streams"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("small.ptx"), std::string::npos) << text.out;
  const Outcome as_json = gpumux({"inspect", "small.gmx", "--json", "--disassemble"});
  ASSERT_EQ(as_json.code, 0) << as_json.err;
  const nlohmann::json d = nlohmann::json::parse(as_json.out);
  EXPECT_EQ(d["launches"], 3);
  EXPECT_EQ(d["modules"][0]["variables"][0]["name"], "total");
  EXPECT_EQ(d["allocations"].size(), 4U);
  EXPECT_EQ(d["copies"]["from_device"]["number"], 3);
  EXPECT_EQ(d["copies"]["results"], 3);
  ASSERT_EQ(d["kernels"].size(), 3U);
  EXPECT_EQ(d["kernels"][1]["kernel"], "turn");
  EXPECT_EQ(d["kernels"][1]["dynamic_shared_bytes"], 400);
  EXPECT_EQ(d["kernels"][1]["launches"], 1);
  EXPECT_EQ(d["kernels"][2]["cooperative"], true);
  EXPECT_GT(d["kernels"][0]["disassembly"].size(), 5U);
}

TEST_F(BundleCommands, InFiles) {
  write_file_atomically(path("w.toml"), "verify = true\n[[apps]]\napp = \"small.gmx\"\n");
  EXPECT_EQ(gpumux({"run", "w.toml"}).code, 0);
  write_file_atomically(path("s.toml"),
                        "apps = [\"small.gmx\", \"small.gmx:host_time=1\"]\ncombine = \"alone\"\n");
  const Outcome sweep = gpumux({"sweep", "s.toml", "--db", "r.sqlite"});
  EXPECT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "r.sqlite", "--dry-run"}).code, 0);
}

TEST_F(BundleCommands, WrongOnes) {
  const auto expect = [&](const std::vector<std::string>& args, const std::string& part) {
    const Outcome run = gpumux(args);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(lines(run.err), 1U) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  write_file_atomically(path("cut.gmx"), read_file(path("small.gmx")).substr(0, 1000));
  expect({"run", "cut.gmx"}, "cut.gmx: error: byte 8: its header says that it has");
  expect({"inspect", "cut.gmx"}, "cut.gmx: error: byte 8: ");
  expect({"run", "none.gmx"}, "none.gmx: error: cannot be read (No such file or directory)");
  expect({"run", "small.gmx", "--grid", "3"}, "--grid is for kernels of PTX files; small.gmx is a bundle");
  expect({"run", "small.gmx:host_time=-1"}, "must be a number from 0 to 1000");
  expect({"inspect", "small.gmx", "--block", "3"}, "a bundle has its own");
  expect({"run", "small.gmx", "--json", "small.gmx"}, "small.gmx");
}

}  // namespace
}  // namespace gpumux::test
