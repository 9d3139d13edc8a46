// Result documents: the names on which scripts rely, and values that are not rounded.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiment/result_json.hpp"

namespace gpumux::experiment {
namespace {

using nlohmann::json;

RunResult sample() {
  RunResult result;
  result.machine = "dai18-maxwell";
  result.policy = "even,warps=lrr";
  result.cycles = 3000;
  result.sms = 2;
  result.seed = 7;
  result.wall_seconds = 0.1;
  result.dram_bandwidth_utilization = 1.0 / 3;
  result.alu_utilization = 0.25;
  AppResult app;
  app.app = "hotspot:size=64";
  app.active_cycles = 3000;
  app.completions = 2;
  app.first_completion = 1400;
  app.counters.warp_instructions = 40;
  app.counters.thread_instructions = 1000;
  app.counters.l1_accesses = 20;
  app.counters.l1_misses = 5;
  app.counters.rsfail_line = 1;
  app.counters.rsfail_mshr = 2;
  app.counters.rsfail_merge = 4;
  app.counters.rsfail_miss_queue = 8;
  app.counters.lsu_stall_cycles = 15;
  app.counters.blocks_completed = 6;
  result.apps = {app, app};
  result.apps[1].app = "idle, \"quoted\"";
  result.apps[1].counters = {};
  result.apps[1].completions = 0;
  result.gpu = app.counters;
  return result;
}

TEST(ResultJson, HasTheContractsKeys) {
  const RunResult result = sample();
  const json document =
      json::parse(result_json(result, {1.0, 2.0}, metrics({result.apps[0].ipc(), 0}, {1.0, 2.0})));
  EXPECT_EQ(document["schema"], "gpumux.result/1");
  EXPECT_EQ(document["machine"], "dai18-maxwell");
  EXPECT_EQ(document["policy"], "even,warps=lrr");
  EXPECT_EQ(document["cycles"], 3000);
  EXPECT_EQ(document["seed"], 7);
  EXPECT_FALSE(document.contains("wall_seconds"));  // the same bytes whenever and wherever it runs
  const json& app = document["apps"][0];
  EXPECT_EQ(app["app"], "hotspot:size=64");
  EXPECT_EQ(app["ipc"].get<double>(), 1000.0 / 3000.0);  // unrounded: the same double
  EXPECT_EQ(app["ipc_isolated"], 1.0);
  EXPECT_EQ(app["normalized_ipc"].get<double>(), 1000.0 / 3000.0);
  EXPECT_EQ(app["warp_instructions"], 40);
  EXPECT_EQ(app["thread_instructions"], 1000);
  EXPECT_EQ(app["completions"], 2);
  EXPECT_EQ(app["l1d"]["accesses"], 20);
  EXPECT_EQ(app["l1d"]["misses"], 5);
  EXPECT_EQ(app["l1d"]["reservation_failures"], 15);
  EXPECT_EQ(app["lsu_stall_cycles"], 15);
  EXPECT_EQ(app["ipc_per_sm"].get<double>(), 1000.0 / 3000.0 / 2);
  EXPECT_EQ(app["lsu_stall_share"].get<double>(), 15.0 / (3000.0 * 2));
  EXPECT_EQ(app["blocks_completed"], 6);
  const json& gpu = document["gpu"];
  for (const char* key : {"ipc", "warp_instructions", "thread_instructions", "completions", "l1d",
                          "lsu_stall_cycles", "blocks_completed"}) {
    EXPECT_TRUE(gpu.contains(key)) << key;
  }
  EXPECT_EQ(gpu["dram_bandwidth_utilization"].get<double>(), 1.0 / 3);
  EXPECT_EQ(gpu["alu_utilization"], 0.25);
  EXPECT_FALSE(gpu.contains("energy_joules"));
  for (const char* key : {"weighted_speedup", "antt", "stp", "fairness"}) {
    EXPECT_TRUE(document["metrics"].contains(key)) << key;
  }
  EXPECT_TRUE(document["metrics"]["antt"].is_null());  // the second application made no progress
  EXPECT_TRUE(document["apps"][1]["first_completion_cycle"].is_null());
}

TEST(ResultJson, WithoutBaselinesHasNulls) {
  const json document = json::parse(result_json(sample(), {}, {}));
  EXPECT_TRUE(document["apps"][0]["ipc_isolated"].is_null());
  EXPECT_TRUE(document["apps"][0]["normalized_ipc"].is_null());
  EXPECT_TRUE(document["metrics"]["weighted_speedup"].is_null());
}

TEST(Stats, HoldEveryCounterOfEveryApplication) {
  const std::string csv = stats_csv(sample());
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "scope,counter,value,unit,meaning");
  EXPECT_NE(csv.find("app 0: hotspot:size=64,warp_instructions,40,warp instructions,issued\n"),
            std::string::npos);
  EXPECT_NE(csv.find("\"app 1: idle, \"\"quoted\"\"\",completions,0,"), std::string::npos);
  EXPECT_NE(csv.find("\ngpu,cycles,3000,core cycles,"), std::string::npos);
  EXPECT_NE(csv.find("\nschedulers,issued,0,"), std::string::npos);
  EXPECT_NE(csv.find("\npartitions,dram_bytes,0,bytes,"), std::string::npos);
  const std::string text = stats_text(sample());
  EXPECT_NE(text.find("\napp 0: hotspot:size=64\n"), std::string::npos);
  EXPECT_NE(text.find("rsfail_miss_queue"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::experiment
