// `gpumux list`, `gpumux inspect` and the program's own options, run as commands.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;

class Cli : public CliTest {};

TEST_F(Cli, SaysItsVersionAndHelp) {
  EXPECT_EQ(gpumux({"--version"}).out.substr(0, 7), "gpumux ");
  EXPECT_EQ(gpumux({"-V"}).out, gpumux({"--version"}).out);
  EXPECT_NE(gpumux({"--help"}).out.find("gpumux run APP"), std::string::npos);
  for (const char* command : {"run", "sweep", "export", "reproduce", "list", "inspect", "profile", "convert",
                              "import-config", "bench"}) {
    const Outcome o = gpumux({command, "--help"});
    EXPECT_EQ(o.code, 0) << command;
    EXPECT_NE(o.out.find("Usage: gpumux " + std::string(command)), std::string::npos) << o.out;
  }
}

TEST_F(Cli, HelpSaysWhatEachValueIs) {
  for (const char* command :
       {"run", "sweep", "export", "reproduce", "list", "inspect", "profile", "convert", "import-config",
        "bench", "capture", "record-cpu", "report", "cache", "validate"}) {
    const std::string help = gpumux({command, "--help"}).out;
    for (const char* type : {"TEXT", "UINT", "FLOAT", "INT ", ":{"})
      EXPECT_EQ(help.find(type), std::string::npos) << command << ": " << type;
  }
  const std::string help = gpumux({"run", "--help"}).out;
  for (const char* value :
       {"--threads 1..256 ", "--baseline auto|off ", "--alpha 0..1 ", "--races[=lockstep|warp] ",
        "--progress auto|plain|off ", "--json FILE ", " spatial, ", " ws, "})
    EXPECT_NE(help.find(value), std::string::npos) << value << help;
  EXPECT_NE(gpumux({"sweep", "--help"}).out.find("--db DB (required) "), std::string::npos);
}

TEST_F(Cli, ListsMachinesPoliciesAndApps) {
  const json machines = json::parse(gpumux({"list", "machines", "--json"}).out)["machines"];
  EXPECT_EQ(machines.size(), 15U);
  EXPECT_EQ(machines[5]["name"], "dai18-maxwell");
  EXPECT_EQ(machines[5]["l2_bytes"], 2 << 20);
  const json policies = json::parse(gpumux({"list", "policies", "--json"}).out)["policies"];
  std::vector<std::string> names;
  for (const json& p : policies) names.push_back(p["name"]);
  for (const char* name :
       {"sequential", "leftover", "spatial", "even", "smk-p", "smk-pw", "ws-static", "ws"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  const json apps = json::parse(gpumux({"list", "apps", "--json"}).out)["apps"];
  EXPECT_EQ(apps.size(), 132U);
  for (const json& app : apps) {
    EXPECT_FALSE(app["kernels"].empty()) << app["name"];
    ASSERT_FALSE(app["usual_run"].is_null()) << app["name"] << ": run benchmarks/measure.sh";
    EXPECT_GT(app["usual_run"]["cycles"], 0) << app["name"];
    EXPECT_GT(app["usual_run"]["warp_instructions"], 0) << app["name"];
    EXPECT_GT(app["usual_run"]["seconds"], 0) << app["name"];
  }
  for (const char* what : {"machines", "policies", "apps"}) {
    const Outcome o = gpumux({"list", what});
    EXPECT_EQ(o.code, 0);
    EXPECT_GT(lines(o.out), 3U);
  }
}

TEST_F(Cli, ListsAppsInALineEach) {
  const Outcome all = gpumux({"list", "apps"});
  EXPECT_EQ(lines(all.out), 132U + 1);
  EXPECT_NE(all.out.find("\nhotspot"), std::string::npos);
  const auto names = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"list", "apps", "--json"});
    std::vector<std::string> found;
    const Outcome o = gpumux(words);
    EXPECT_EQ(o.code, 0) << o.err;
    const json document = json::parse(o.out);
    for (const json& app : document["apps"]) found.push_back(app["name"]);
    return found;
  };
  EXPECT_EQ(names({"dai18/*"}).size(), 13U);
  const std::vector<std::string> memory = names({"--class", "memory"});
  const std::vector<std::string> compute = names({"--class", "compute"});
  EXPECT_EQ(memory.size() + compute.size(), 132U);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), "stream"), 1);
  EXPECT_EQ(std::count(compute.begin(), compute.end(), "add"), 1);
  // One by its name has all: settings, kernels, its usual run and its class.
  const std::string kmeans = gpumux({"list", "apps", "kmeans"}).out;
  for (const char* part : {" kernel ", " usual run on ", " class "})
    EXPECT_NE(kmeans.find(part), std::string::npos) << kmeans;
  EXPECT_EQ(gpumux({"list", "apps", "none*"}).code, 2);
  EXPECT_EQ(gpumux({"list", "machines", "--class", "memory"}).code, 2);
  EXPECT_EQ(gpumux({"list", "apps", "--class", "fast"}).code, 2);
}

TEST_F(Cli, ListsOneByItsName) {
  const json apps = json::parse(gpumux({"list", "apps", "kmeans", "--json"}).out)["apps"];
  ASSERT_EQ(apps.size(), 1U);
  EXPECT_EQ(apps[0]["name"], "kmeans");
  EXPECT_TRUE(gpumux({"list", "policies", "even"}).out.starts_with("even "));
  EXPECT_NE(gpumux({"list", "apps", "kmean"}).err.find("did you mean 'kmeans'?"), std::string::npos);

  // A machine with all keys is a machine: the same one.
  const Outcome toml = gpumux({"list", "machines", "dai18-maxwell", "--toml"});
  EXPECT_EQ(toml.code, 0) << toml.err;
  write_file_atomically(path("copy.toml"), toml.out);
  EXPECT_EQ(gpumux({"list", "machines", "./copy.toml", "--toml"}).out, toml.out);
  EXPECT_EQ(gpumux({"list", "apps", "kmeans", "--toml"}).code, 2);
  EXPECT_EQ(gpumux({"run", "add", "stream", "--cycles", "2K", "--quiet"}).code, 0);
  const std::string before = gpumux({"cache"}).out;
  EXPECT_EQ(gpumux({"run", "add", "stream", "--cycles", "2K", "--quiet", "--machine", "./copy.toml"}).code,
            0);
  EXPECT_EQ(gpumux({"cache"}).out, before) << "baselines of the copy are those of the machine";
}

TEST_F(Cli, ShowsLimitsAndClearsTheCache) {
  const auto entries = [&](const std::vector<std::string>& options) {
    std::vector<std::string> args = {"cache", "--json"};
    args.insert(args.end(), options.begin(), options.end());
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 0) << o.err;
    return json::parse(o.out);
  };
  EXPECT_EQ(entries({})["isolated"]["entries"], 0);
  EXPECT_EQ(gpumux({"run", "add", "stream", "stencil", "--cycles", "2K", "--quiet"}).code, 0);
  const json full = entries({});
  EXPECT_EQ(full["isolated"]["entries"], 3);
  write_file_atomically(path("cache/isolated/mine.json"), "{}");
  // What was used last stays.
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(path("cache/isolated")))
    if (file.path().filename() != "mine.json") files.push_back(file.path());
  const auto now = std::filesystem::file_time_type::clock::now();
  for (std::size_t i = 0; i < files.size(); ++i)
    std::filesystem::last_write_time(files[i], now - std::chrono::hours(i));
  const json limited = entries({"--limit", "300"});
  EXPECT_EQ(limited["removed"], 2);
  EXPECT_TRUE(std::filesystem::exists(files[0]));
  EXPECT_EQ(entries({"--clear"})["isolated"]["entries"], 0);
  EXPECT_TRUE(exists("cache/isolated/mine.json")) << "what is no entry stays";
  EXPECT_EQ(gpumux({"cache", "--limit", "much"}).code, 2);
  EXPECT_EQ(gpumux({"cache", "--limit", "1K", "--clear"}).code, 2);
}

TEST_F(Cli, InspectsAUsersKernel) {
  const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";
  const Outcome o = gpumux({"inspect", file + ":scale", "--block", "256", "--json", "--disassemble"});
  ASSERT_EQ(o.code, 0) << o.err;
  const json kernel = json::parse(o.out)["kernels"][0];
  EXPECT_EQ(kernel["kernel"], "scale");
  EXPECT_GT(kernel["registers"], 3);
  EXPECT_EQ(kernel["shared_bytes"], 0);
  EXPECT_EQ(kernel["parameter_bytes"], 24);
  EXPECT_EQ(kernel["global_loads"], 1);
  EXPECT_EQ(kernel["instruction_mix"]["global_load"], 1);
  EXPECT_EQ(kernel["instruction_mix"]["global_store"], 1);
  // Up to the branch, up to the load, from its result on, and the return.
  EXPECT_EQ(kernel["phases"]["count"], 4);
  EXPECT_EQ(kernel["phases"]["list"].back()["end"], kernel["instructions"]);
  EXPECT_EQ(kernel["occupancy"]["blocks_per_sm"], 12);  // 3072 / 256
  EXPECT_EQ(kernel["occupancy"]["limited_by"], "threads");
  EXPECT_EQ(kernel["disassembly"].size(), kernel["instructions"]);
  std::size_t mix = 0;
  for (const auto& [name, count] : kernel["instruction_mix"].items()) mix += count.get<std::size_t>();
  EXPECT_EQ(mix, kernel["instructions"].get<std::size_t>());
  EXPECT_EQ(json::parse(gpumux({"inspect", file, "--json"}).out)["kernels"].size(), 4U);
}

TEST_F(Cli, AKernelThatCannotBeCompiledLeavesTheOthers) {
  write_file_atomically(path("mixed.ptx"),
                        ".version 9.0\n.target sm_90\n.address_size 64\n"
                        ".visible .entry fine() { ret; }\n"
                        ".visible .entry grid() { .reg .b32 %r<2>; istypep.texref %p1, %r1; ret; }\n"
                        ".visible .entry copies() { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
                        "  cp.async.bulk.wait_group 0; ret; }\n");
  const Outcome all = gpumux({"inspect", "mixed.ptx"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.out.find("cannot be compiled: mixed.ptx:5:43: error: kernel grid: 'istypep.texref': types of "
                         "opaque variables are not supported"),
            std::string::npos)
      << all.out;
  EXPECT_NE(
      all.out.find("kernel copies: 'cp.async.bulk.wait_group': copying in bulk (sm_90) is not supported"),
      std::string::npos)
      << all.out;
  const json described = json::parse(gpumux({"inspect", "mixed.ptx", "--json"}).out)["kernels"];
  ASSERT_EQ(described.size(), 3U);
  for (const json& kernel : described) EXPECT_EQ(kernel.contains("error"), kernel["kernel"] != "fine");
  EXPECT_EQ(gpumux({"run", "mixed.ptx:fine", "--grid", "1", "--block", "32"}).code, 0);
  for (const char* command : {"run", "inspect"}) {
    std::vector<std::string> args = {command, "mixed.ptx:grid", "--block", "32"};
    if (args[0] == "run") args.insert(args.end(), {"--grid", "1"});
    const Outcome bad = gpumux(args);
    EXPECT_EQ(bad.code, 2);
    EXPECT_EQ(bad.err.find("mixed.ptx:5:43: error: kernel grid: 'istypep.texref': types"), 0U) << bad.err;
    EXPECT_EQ(lines(bad.err), 1U);
  }
}

// A packet without header and data took no time on the network, and no reply came when the L2 took one cycle.
TEST_F(Cli, MachinesOfTheLeastLatenciesComeToAnEnd) {
  for (const char* header : {"0", "1", "8"}) {
    for (const char* latency : {"1", "2"}) {
      for (const char* network : {"1", "8"}) {
        const Outcome o =
            gpumux({"run", "add", "--cycles", "20000", "--baseline", "off", "--set", "sms=2", "--set",
                    std::string("noc.header_size=") + header, "--set", std::string("l2.latency=") + latency,
                    "--set", std::string("noc.latency=") + network, "--set", "l1.latency=1", "--set",
                    "dram.fixed_latency=0"});
        EXPECT_EQ(o.code, 0) << header << " " << latency << " " << network << ": " << o.err;
      }
    }
  }
}

TEST_F(Cli, ShowsTable2BesideOurs) {
  const Outcome inspected = gpumux({"inspect", "dai18/bp", "--json"});
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  const json document = json::parse(inspected.out);
  EXPECT_EQ(document["kernels"].size(), 1U);
  EXPECT_EQ(document["kernels"][0]["registers"], 12);
  EXPECT_EQ(document["kernels"][0]["shared_bytes_counted"], 1090);
  EXPECT_EQ(document["kernels"][0]["occupancy"]["blocks_per_sm"], 12);
  EXPECT_EQ(document["table2"]["ours"]["registers_percent"], 56.25);
  EXPECT_EQ(document["table2"]["ours"]["blocks_percent"], 75.0);
  EXPECT_EQ(document["table2"]["paper"]["type"], "C");
  EXPECT_FALSE(json::parse(gpumux({"inspect", "backprop", "--json"}).out).contains("table2"));

  const Outcome run = gpumux({"run", "dai18/ks:points=49152", "--cycles", "20000", "--baseline", "off"});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::size_t ours = run.out.find("\nours");
  const std::size_t paper = run.out.find("\npaper");
  ASSERT_NE(ours, std::string::npos) << run.out;
  ASSERT_NE(paper, std::string::npos) << run.out;
  EXPECT_EQ(run.out.substr(paper - 1, 1), "M") << run.out;  // ours: a line for each lane stalls the unit
  EXPECT_NE(run.out.find("1.00", ours), std::string::npos) << run.out;
  // Not for a pair: the columns are of a run alone.
  const Outcome pair = gpumux({"run", "dai18/ks:points=4096", "dai18/bp:inputs=512", "--baseline", "off"});
  ASSERT_EQ(pair.code, 0) << pair.err;
  EXPECT_EQ(pair.out.find("\npaper"), std::string::npos) << pair.out;
}

TEST_F(Cli, AnAppWithASlashIsNoFile) {
  const Outcome unknown = gpumux({"run", "dai18/bbp"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("dai18/bp"), std::string::npos) << unknown.err;
  const Outcome bad = gpumux({"run", "dai18/bp:inputs=17"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(lines(bad.err), 1U) << bad.err;
  EXPECT_NE(bad.err.find("app dai18/bp: inputs=17 must be a multiple of 16"), std::string::npos) << bad.err;
  // A folder of this name is no trace.
  std::filesystem::create_directories(path("dai18/bp"));
  const std::string json_file = path("r.json");
  const Outcome run = gpumux({"run", "dai18/bp:inputs=512", "--json", json_file});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json::parse(read_file(json_file))["apps"][0]["app"], "dai18/bp:inputs=512");
}

TEST_F(Cli, InspectsABuiltInAppOnAMachine) {
  const Outcome o = gpumux({"inspect", "hotspot", "--machine", "v100", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const json document = json::parse(o.out);
  EXPECT_EQ(document["machine"], "v100");
  EXPECT_GT(document["kernels"][0]["occupancy"]["blocks_per_sm"], 0);
  const Outcome text = gpumux({"inspect", "hotspot", "--disassemble"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("occupancy"), std::string::npos);
  EXPECT_NE(text.out.find("ld.global"), std::string::npos);
}

TEST_F(Cli, InspectSaysWhereBlocksStopBeingIdempotent) {
  const json kernels = json::parse(gpumux({"inspect", "backprop:inputs=512", "--json"}).out)["kernels"];
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_TRUE(kernels[0]["idempotence"]["idempotent"].get<bool>());
  EXPECT_TRUE(kernels[0]["idempotence"]["points"].empty());
  EXPECT_FALSE(kernels[1]["idempotence"]["idempotent"].get<bool>());
  const json& point = kernels[1]["idempotence"]["points"].at(0);
  EXPECT_EQ(point["place"], "backprop.ptx:" + std::to_string(point["line"].get<int>()));
  EXPECT_NE(point["instruction"].get<std::string>().find("st.global"), std::string::npos);
  EXPECT_NE(point["reason"].get<std::string>().find("a store to parameter"), std::string::npos);
  EXPECT_FALSE(kernels[1]["idempotence"].contains("executed"));

  const json executed =
      json::parse(gpumux({"inspect", "bfs:nodes=2000", "--idempotence", "--json"}).out)["kernels"];
  for (const json& kernel : executed) {
    EXPECT_GT(kernel["idempotence"]["executed"]["blocks_not_idempotent"], 0);
    EXPECT_TRUE(kernel["idempotence"]["executed"]["missed"].empty());
  }
  const Outcome text = gpumux({"inspect", "hotspot:size=64", "--idempotence"});
  EXPECT_NE(text.out.find(
                "  idempotent     yes\n  executed       36 blocks, 0 not idempotent at their end; 0 points "
                "missed, 0 over-cautious\n"),
            std::string::npos)
      << text.out;
  const Outcome file = gpumux({"inspect", "k.ptx", "--idempotence"});
  EXPECT_EQ(file.code, 2);
  EXPECT_NE(file.err.find("--idempotence executes an application"), std::string::npos) << file.err;
}

TEST_F(Cli, BenchRefusesWhatContradicts) {
  EXPECT_EQ(gpumux({"bench", "--scaling", "--threads", "2"}).code, 2);
  EXPECT_EQ(gpumux({"bench", "--compare", "nothing.json"}).code, 2);
  EXPECT_EQ(gpumux({"bench", "--blocks", "1"}).code, 2);
  EXPECT_EQ(gpumux({"bench", "--repeat", "0"}).code, 2);
  for (const char* damage :
       {R"("repeats": "x")", R"("repeats": -1)", R"("threads": 0)", R"("trace_blocks": [])",
        R"("cases": [{"kernel": "a", "machine": "b", "warp_instructions_per_second": 0,
                                           "peak_memory_bytes": 1}])"}) {
    const std::string file = path("damaged.json");
    std::ofstream(file) << R"({"schema": "gpumux.bench/1", "cases": [], )" << damage << "}";
    const Outcome damaged = gpumux({"bench", "--compare", file});
    EXPECT_EQ(damaged.code, 2) << damage;
    EXPECT_NE(damaged.err.find("is no result of `gpumux bench --json`"), std::string::npos) << damaged.err;
  }
  const Outcome o = gpumux({"bench", "--only", "nosuch"});
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("trace-compute"), std::string::npos) << o.err;
}

TEST_F(Cli, ValidateShowsTheirsBesideOurs) {
  const std::string file = path("validation.json");
  const Outcome o = gpumux({"validate", "--only", "smem", "--json", file});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("smem32"), std::string::npos);
  const json document = json::parse(read_file(file));
  const json& machines = document["machines"];
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(machines[0]["kernels"]["smem2"]["cycles"]["theirs"], 12444);
  EXPECT_EQ(machines[1]["kernels"]["smem2"]["cycles"]["theirs"], 43337);
  // Bank conflicts of shared memory decide, and nothing else: within 6% on both machines.
  for (const json& machine : machines)
    for (const json& kernel : machine["kernels"])
      EXPECT_LT(std::abs(kernel["cycles"]["percent"].get<double>()), 6);
  const Outcome slower = gpumux({"validate", "--only", "smem32", "--set", "shared.latency=1000"});
  EXPECT_NE(slower.out, o.out);
  ASSERT_EQ(gpumux({"validate", "--only", "chase_l2", "--write", path("traces")}).code, 0);
  const Outcome run =
      gpumux({"run", path("traces/chase_l2"), "--machine", "v100", "--baseline", "off", "--json", file});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json::parse(read_file(file))["cycles"], 12984);  // what docs/validation.md shows
  EXPECT_EQ(gpumux({"validate", "--only", "smem32", "--write", "/dev/null/x"}).code, 2);
  EXPECT_EQ(gpumux({"validate", "--only", "nosuch"}).code, 2);
  EXPECT_EQ(gpumux({"validate", "--json", "-"}).code, 2);
  EXPECT_EQ(gpumux({"validate", "--set", "nosuch=1"}).code, 2);
}

TEST_F(Cli, ValidateShowsMeasurementsBesideOurs) {
  const std::string file = path("hardware.json");
  const Outcome o = gpumux({"validate", "--hardware", "--only", "a load that hits L1", "--json", file});
  ASSERT_EQ(o.code, 0) << o.err;
  const json machines = json::parse(read_file(file))["machines"];
  ASSERT_EQ(machines.size(), 3U);
  EXPECT_EQ(machines[0]["machine"], "v100-measured");
  EXPECT_EQ(machines[0]["figures"][0]["measured"], 28.1);
  for (const json& machine : machines)
    for (const json& figure : machine["figures"]) EXPECT_LT(std::abs(figure["percent"].get<double>()), 3);
  const Outcome slower = gpumux(
      {"validate", "--hardware", "--only", "a load that hits L1", "--set", "l1.latency=60", "--json", file});
  ASSERT_EQ(slower.code, 0) << slower.err;
  EXPECT_GT(json::parse(read_file(file))["machines"][0]["figures"][0]["percent"], 100.0);
  EXPECT_EQ(gpumux({"validate", "--hardware", "--only", "nosuch"}).code, 2);
  EXPECT_EQ(gpumux({"validate", "--hardware", "--write", path("traces")}).code, 2);
}

TEST_F(Cli, WarnsOfValuesThatCannotAllHold) {
  const Outcome told = gpumux({"run", "add", "--cycles", "1000", "--baseline", "off", "--set", "dram.RP=13"});
  EXPECT_EQ(told.code, 0);
  EXPECT_EQ(told.err.find("warning: dai18-maxwell: dram.RAS + dram.RP = 41 exceeds dram.RC = 40"), 0U)
      << told.err;
  EXPECT_EQ(gpumux({"run", "add", "--cycles", "1000", "--baseline", "off", "--machine", "rtx2060"})
                .err.find("warning"),
            std::string::npos);
}

TEST_F(Cli, BenchMeasuresHowCostScales) {
  const std::string file = path("bench.json");
  const Outcome o = gpumux(
      {"bench", "--scaling", "--repeat", "2", "--blocks", "160", "--only", "trace-compute", "--json", file});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("times as fast as Accel-Sim"), std::string::npos);  // not the reference's size
  const json document = json::parse(read_file(file));
  EXPECT_EQ(document["trace_blocks"], 160);
  ASSERT_EQ(document["cases"].size(), 1U);
  EXPECT_EQ(document["cases"][0]["warp_instructions"], 160 * 8 * 439);
  EXPECT_FALSE(document["cases"][0].contains("reference_ratio"));
  const json& runs = document["cases"][0]["wall_seconds_of_runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(document["cases"][0]["wall_seconds"], std::min(runs[0].get<double>(), runs[1].get<double>()));
  for (const json& more : document["cases"][0]["threads"]) EXPECT_EQ(more["wall_seconds_of_runs"].size(), 2U);
  const Outcome compared =
      gpumux({"bench", "--repeat", "1", "--blocks", "160", "--only", "trace-compute", "--compare", file});
  EXPECT_NE(compared.out.find(" speed, x"), std::string::npos) << compared.out;
  EXPECT_NE(compared.err.find("compare with --repeat 2"), std::string::npos) << compared.err;
  const Outcome other = gpumux({"bench", "--repeat", "2", "--threads", "2", "--blocks", "161", "--only",
                                "trace-compute", "--compare", file});
  EXPECT_NE(other.err.find("compare with --threads 1"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("compare with --blocks 160"), std::string::npos) << other.err;
  EXPECT_EQ(other.err.find("--repeat"), std::string::npos) << other.err;
  for (const char* what : {"sms", "applications", "applications_leftover"}) {
    const json& table = document["scaling"][what];
    ASSERT_EQ(table.size(), 4U);  // sizes, of the one trace that --only names
    for (std::size_t i = 0; i < table.size(); ++i) {
      EXPECT_GT(table[i]["nanoseconds_per_warp_instruction"], 0);
      EXPECT_GT(table[i]["peak_memory_bytes"], 0);
      if (i % 4 == 0) {
        EXPECT_EQ(table[i]["ratio"], 1);
      }
    }
  }
}

}  // namespace
}  // namespace gpumux::test
