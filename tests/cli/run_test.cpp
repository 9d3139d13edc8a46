// `gpumux run`, run as a command.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;

const std::string kScaleKernel = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";

class Run : public CliTest {
 protected:
  [[nodiscard]] json result(const std::string& name) const { return json::parse(read_file(path(name))); }
};

TEST_F(Run, WritesTheSameResultForAnyNumberOfThreads) {
  std::vector<json> results;
  for (const char* threads : {"1", "1", "2"}) {
    const Outcome o = gpumux({"run", "hotspot:size=128", "kmeans", "--machine", "dai18-maxwell", "--policy",
                              "even", "--cycles", "20000", "--threads", threads, "--json", "a.json"});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");  // no progress line in a pipe
    results.push_back(result("a.json"));
  }
  EXPECT_EQ(results[0].dump(), results[1].dump());
  EXPECT_EQ(results[0].dump(), results[2].dump());
  EXPECT_EQ(results[0]["cycles"], 20000);
  EXPECT_EQ(results[0]["apps"][0]["app"], "hotspot:size=128");
  EXPECT_GT(results[0]["apps"][0]["normalized_ipc"].get<double>(), 0);
}

TEST_F(Run, AnApplicationAloneIsItsOwnBaseline) {
  const Outcome o =
      gpumux({"run", "add", "--set", "sms=2", "--cycles", "5000", "--json", "a.json", "--quiet"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "");
  const json r = result("a.json");
  EXPECT_EQ(r["apps"][0]["normalized_ipc"], 1.0);
  EXPECT_EQ(r["metrics"]["weighted_speedup"], 1.0);
  EXPECT_EQ(r["metrics"]["antt"], 1.0);
  EXPECT_FALSE(exists("cache"));
}

TEST_F(Run, ALedgerIsKeptWhereItIsAskedForOrAGoalIs) {
  const auto run = [&](const char* app, const char* ledger) {
    const Outcome o = gpumux({"run", app, "stream", "--set", "sms=2", "--cycles", "5000", "--policy", "even",
                              "--baseline", "off", "--ledger", ledger, "--json", "a.json"});
    EXPECT_EQ(o.code, 0) << o.err;
    const bool kept = result("a.json").contains("ledger");
    EXPECT_EQ(o.out.find(" of its cycles to ") != std::string::npos, kept);
    EXPECT_EQ(result("a.json")["pairs"][1].contains("issue_cycles"), kept);
    return kept;
  };
  EXPECT_TRUE(run("add", "on"));
  EXPECT_FALSE(run("add", "auto"));
  EXPECT_TRUE(run("add:goal=50%", "auto"));
  EXPECT_FALSE(run("add:goal=50%", "off"));
  EXPECT_EQ(gpumux({"run", "add", "--ledger", "maybe"}).code, 2);
}

TEST_F(Run, WithoutBaselinesMetricsAreNull) {
  const Outcome o = gpumux({"run", "add", "pathfinder", "--set", "sms=2", "--cycles", "3000", "--baseline",
                            "off", "--json", "a.json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(result("a.json")["apps"][0]["ipc_isolated"].is_null());
  EXPECT_TRUE(result("a.json")["metrics"]["antt"].is_null());
  EXPECT_FALSE(exists("cache"));
}

TEST_F(Run, VerifiesAndComparesPolicies) {
  const Outcome o =
      gpumux({"run", "pathfinder", "--verify", "--policy", "sequential", "--policy", "even,warps=lrr"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("sequential"), std::string::npos);
  EXPECT_NE(o.out.find("even,warps=lrr"), std::string::npos);
  EXPECT_NE(o.out.find("weighted speedup"), std::string::npos);
  EXPECT_NE(o.out.find("verified"), std::string::npos);
}

TEST_F(Run, WritesStatistics) {
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--cycles", "3000", "--stats", "s.csv"}).code, 0);
  ASSERT_EQ(gpumux({"run", "add", "--set", "sms=2", "--cycles", "3000", "--stats", "s.txt"}).code, 0);
  EXPECT_EQ(read_file(path("s.csv")).substr(0, 14), "scope,counter,");
  EXPECT_NE(read_file(path("s.txt")).find("dram_row_hits"), std::string::npos);
}

TEST_F(Run, RunsAUsersKernelBesideABuiltInApp) {
  write_file_atomically(path("x.txt"), "1\n2\n3\n4\n");
  const Outcome o = gpumux({"run", "add", kScaleKernel + ":scale", "--grid", "1", "--block=32", "--arg",
                            "in:f32=x.txt", "--arg", "out:f32[4]=y.txt", "--arg=f32:-0.5", "--arg", "i32:4",
                            "--set", "sms=2", "--json", "a.json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(path("y.txt")), "-0.5\n-1\n-1.5\n-2\n");
  EXPECT_EQ(result("a.json")["apps"][1]["app"], kScaleKernel + ":scale");
}

TEST_F(Run, NamesKernelsAsInCppAndSetsVariables) {
  const std::string symbols = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/symbols.ptx";
  write_file_atomically(path("x.txt"), "1\n2\n3\n4\n");
  const Outcome o = gpumux({"run", symbols + ":weigh", "--grid", "1", "--block", "4", "--arg",
                            "inout:f32=x.txt,y.txt", "--arg", "same:1", "--arg", "i32:4", "--symbol",
                            "factors=in:f32=x.txt", "--symbol=offset=i32:0", "--set", "sms=2"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(path("y.txt")), "1\n4\n9\n16\n");
}

TEST_F(Run, TakesAWorkloadFile) {
  std::filesystem::create_directories(path("w"));
  write_file_atomically(path("w/x.txt"), "1\n2\n");
  write_file_atomically(path("w/w.toml"),
                        "machine = \"dai18-maxwell\"\nset = [\"sms=2\"]\npolicy = \"even\"\n"
                        "cycles = 3000\n[[apps]]\napp = \"add\"\n[[apps]]\napp = \"" +
                            kScaleKernel +
                            ":scale\"\ngrid = 1\nblock = 32\nargs = [\"in:f32=x.txt\", "
                            "\"out:f32[2]=y.txt\", \"f32:3\", \"i32:2\"]\n");
  const Outcome o = gpumux({"run", "w/w.toml", "--cycles", "40000", "--json", "a.json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(path("w/y.txt")), "3\n6\n");
  EXPECT_EQ(result("a.json")["policy"], "even");
  EXPECT_EQ(result("a.json")["cycles"], 40000);  // the option wins
}

struct Wrong {
  const char* name;
  std::vector<std::string> args;
  const char* part;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class WrongInput : public CliTest, public testing::WithParamInterface<Wrong> {};

TEST_F(Run, SeveralPoliciesMakeAListOfResults) {
  const std::vector<std::string> run = {"run", "add", "--set", "sms=2", "--baseline", "off", "--cycles"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return gpumux(more);
  };
  const Outcome both =
      with({"2e3", "--policy", "even,warps=lrr,ws:window=5000", "--policy", "spatial", "--json", "-"});
  ASSERT_EQ(both.code, 0) << both.err;
  const json list = json::parse(both.out);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["policy"], "even,warps=lrr");
  EXPECT_EQ(list[1]["policy"], "ws:window=5000");
  EXPECT_EQ(list[2]["policy"], "spatial");
  for (const json& result : list) EXPECT_EQ(result["cycles"], 2000);
  // Each is what it is alone.
  json alone = json::parse(with({"2K", "--policy", "spatial", "--json", "-"}).out);
  json last = list[2];
  EXPECT_EQ(alone, last);
  ASSERT_EQ(with({"0.002M", "--policy", "all", "--json", "all.json"}).code, 0);
  const json all = json::parse(read_file(path("all.json")));
  EXPECT_EQ(all.size(), json::parse(gpumux({"list", "policies", "--json"}).out)["policies"].size());
}

TEST_F(Run, OneResultMayGoToStandardOutput) {
  const std::vector<std::string> run = {"run",  "add",      "--set",    "sms=2",
                                        "--db", "a.sqlite", "--policy", "even"};
  const auto output_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    const Outcome o = gpumux(more);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_FALSE(exists("-"));
    return o.out;
  };
  for (const char* option : {"--stats", "--series-csv", "--json"}) {
    const std::string file = path(std::string("file") + option);
    (void)output_of({option, file});
    EXPECT_EQ(output_of({option, "-"}), read_file(file)) << option;
  }
  EXPECT_TRUE(json::parse(output_of({"--timeline", "-"})).contains("traceEvents"));
  EXPECT_TRUE(json::accept(
      gpumux({"profile", "add", "--set", "sms=2", "--cycles", "2000", "--quiet", "-o", "-"}).out));
  const Outcome two = gpumux({"run", "add", "--set", "sms=2", "--json", "-", "--stats", "-"});
  EXPECT_EQ(two.code, 2);
  EXPECT_NE(two.err.find("-: error: would be written twice"), std::string::npos) << two.err;
  EXPECT_EQ(gpumux({"export", "a.sqlite", "-", "--csv"}).out.substr(0, 5), "hash,");
  EXPECT_EQ(gpumux({"report", "a.sqlite", "-o", "-"}).out.substr(0, 9), "<!doctype");
  EXPECT_NE(gpumux({"bench", "--json", "-"}).err.find("give --json the name of a file"), std::string::npos);
}

TEST_F(Run, SaysHowPreemptionsWent) {
  const Outcome o =
      gpumux({"run", "hotspot", "chimera15/RT:at=10us,every=300us", "--machine", "chimera15-fermi30",
              "--cycles", "500000", "--baseline", "off", "--policy", "smart-even:preempt=switch"});
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* part :
       {"preemptions of SMs: 30; blocks switched ", "; latency mean ", " over the limit; ",
        "predicted over actual latency p5 ", "chimera15/RT:at=10us,every=300us: requests 2, done 1"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
}

TEST_F(Run, SaysOfEachOfSeveralPoliciesWhatItSaysOfOne) {
  const std::vector<std::string> run = {"run",      "hotspot",  "kmeans",     "--set", "sms=2",
                                        "--cycles", "30000",    "--baseline", "off",   "--ledger",
                                        "on",       "--policy", "even"};
  std::vector<std::string> two = run;
  two.insert(two.end(), {"--policy", "leftover"});
  const Outcome one = gpumux(run), both = gpumux(two);
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_NE(both.out.find("\neven:\n  "), std::string::npos) << both.out;
  const auto line = [&](const std::string& start) {
    const std::size_t at = one.out.find(start);
    return at == std::string::npos ? "none" : one.out.substr(at, one.out.find('\n', at) - at);
  };
  EXPECT_NE(both.out.find("\n  " + line("hotspot lost ") + "\n"), std::string::npos) << one.out << both.out;
  const std::string energy = line("energy: ");
  EXPECT_NE(both.out.find("\nenergy: even " + energy.substr(8, energy.find(',') - 8) + ", leftover "),
            std::string::npos)
      << energy << "\n"
      << both.out;
}

TEST_F(Run, SaysWhyNothingWasExecuted) {
  const std::string why =
      "add executed nothing: a kernel starts 5000 cycles after its launch (runtime.kernel_launch_latency), "
      "and the run "
      "ended after 3000\n";
  std::vector<std::string> run = {"run",   "add",        "--machine", "v100",     "--set",
                                  "sms=2", "--baseline", "off",       "--cycles", "3000"};
  EXPECT_NE(gpumux(run).out.find(why), std::string::npos) << gpumux(run).out;
  run.insert(run.end(), {"--policy", "even", "--policy", "spatial"});
  EXPECT_NE(gpumux(run).out.find(why), std::string::npos) << gpumux(run).out;
  run[run.size() - 5] = "30000";
  EXPECT_EQ(gpumux(run).out.find("executed nothing"), std::string::npos);
}

TEST_F(Run, SourceAndCompiledCodeAreNamed) {
  for (const char* name : {"k.cu", "k.cubin"}) write_file_atomically(path(name), "x");
  EXPECT_NE(gpumux({"inspect", "k.cu"}).err.find("k.cu: error: is CUDA source; `nvcc -ptx"),
            std::string::npos);
  EXPECT_NE(gpumux({"inspect", "k.cubin"}).err.find("`cuobjdump -ptx` prints the PTX"), std::string::npos);
}

TEST_F(Run, HelpOfACommandIsItsHelp) {
  EXPECT_EQ(gpumux({"help", "sweep"}).out, gpumux({"sweep", "--help"}).out);
  EXPECT_EQ(gpumux({"help"}).out, gpumux({"--help"}).out);
  EXPECT_EQ(gpumux({"help", "help"}).out, gpumux({"--help"}).out);
}

TEST_P(WrongInput, IsOneLineAndLeavesNoResult) {
  std::vector<std::string> args = GetParam().args;
  for (std::string& arg : args) {
    const std::size_t at = arg.find("KERNEL");
    if (at != std::string::npos) arg.replace(at, 6, kScaleKernel);
  }
  if (!args.empty() && args[0] == "run") args.insert(args.end(), {"--json", "a.json"});
  const Outcome o = gpumux(args);
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(lines(o.err), 1U) << o.err;
  EXPECT_NE(o.err.find("error: "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find(GetParam().part), std::string::npos) << o.err;
  EXPECT_FALSE(exists("a.json"));
  EXPECT_FALSE(exists("y.bin"));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongInput,
    testing::Values(
        Wrong{"NoCommand", {}, "a command is needed"},
        Wrong{"Command", {"rum"}, "unknown command 'rum'; did you mean 'run'?"},
        Wrong{"NoApp", {"run"}, "at least one APP"},
        Wrong{"App", {"run", "hotspott"}, "unknown app 'hotspott'; did you mean 'hotspot'?"},
        Wrong{"AppSetting", {"run", "hotspot:sise=4"}, "did you mean 'size'?"},
        Wrong{"Machine", {"run", "add", "--machine", "dai18"}, "unknown machine 'dai18'"},
        Wrong{
            "MachineFile", {"run", "add", "--machine", "./none.toml"}, "./none.toml: error: cannot be read"},
        Wrong{"Policy", {"run", "add", "--policy", "evn"}, "unknown policy 'evn'; did you mean 'even'?"},
        Wrong{"PolicySetting", {"run", "add", "--policy", "even:k=3"}, "unknown setting 'k'"},
        Wrong{"Set", {"run", "add", "--set", "l1.siz=3"}, "--set l1.siz=3: error: unknown key"},
        Wrong{"Option", {"run", "add", "--jsn", "x"}, "unknown option '--jsn'; did you mean '--json'?"},
        Wrong{"LaterOption", {"run", "add", "--interval", "x"}, "unknown option '--interval'"},
        Wrong{"LaterCommand", {"trace", "-o", "x.gmx"}, "unknown command 'trace'"},
        Wrong{"Cycles", {"run", "add", "--cycles", "0"}, "--cycles"},
        Wrong{"CyclesText", {"run", "add", "--cycles", "many"}, "--cycles"},
        Wrong{"Seed", {"run", "add", "--seed", "-1"}, "--seed"},
        Wrong{"Threads", {"run", "add", "--threads", "0"}, "--threads"},
        Wrong{"Baseline", {"run", "add", "--baseline", "on"}, "--baseline"},
        Wrong{"TwoPolicies",
              {"run", "add", "--policy", "even,spatial", "--stats", "s.csv"},
              "give one --policy"},
        Wrong{"CyclesWithAPart", {"run", "add", "--cycles", "1.5"}, "such as 500000, 5e5 or 500K"},
        Wrong{"InspectSource", {"inspect", "k.cu"}, "k.cu: error: does not exist"},
        Wrong{"HelpOfNoCommand", {"help", "rum"}, "did you mean 'run'?"},
        Wrong{
            "SymbolOfBuiltIn", {"run", "add", "--symbol", "a=i32:4"}, "--symbol is for kernels of PTX files"},
        Wrong{"GridOfBuiltIn", {"run", "add", "--grid", "4"}, "--grid is for kernels of PTX files"},
        Wrong{"GridBeforeApp", {"run", "--grid", "4", "add"}, "must follow the APP"},
        Wrong{"PtxWithoutKernel", {"run", "k.ptx"}, "say which kernel"},
        Wrong{
            "PtxMissing", {"run", "k.ptx:k", "--grid", "1", "--block", "1"}, "k.ptx: error: cannot be read"},
        Wrong{"Kernel", {"run", "KERNEL:scalee", "--grid", "1", "--block", "1"}, "did you mean 'scale'?"},
        Wrong{"Arguments", {"run", "KERNEL:scale", "--grid", "1", "--block", "1"}, "has 4 parameters"},
        Wrong{"BlockTooLarge",
              {"run", "KERNEL:outside", "--grid", "1", "--block", "2048", "--arg", "zero:i32[1]"},
              "too large"},
        Wrong{"BlockNoSmHolds",
              {"run", "KERNEL:endless", "--grid", "1", "--block", "32", "--shared", "512K", "--arg",
               "zero:i32[1]"},
              "shared"},
        Wrong{"VerifyOfAKernel",
              {"run", "KERNEL:outside", "--grid", "1", "--block", "1", "--arg", "zero:i32[1]", "--verify"},
              "needs a reference"},
        Wrong{"OutputFolder",
              {"run", "KERNEL:outside", "--grid", "1", "--block", "1", "--arg", "out:i32[1]=none/y.bin"},
              "there is no folder none"},
        Wrong{"StatsFolder", {"run", "add", "--stats", "none/s.csv"}, "there is no folder none"},
        Wrong{"Workload", {"run", "none.toml"}, "none.toml: error: cannot be read"},
        Wrong{"List", {"list", "machine"}, "did you mean 'machines'?"},
        Wrong{"ListNothing", {"list"}, "WHAT"}, Wrong{"ListTooMuch", {"list", "apps", "more"}, "more"},
        Wrong{"Inspect", {"inspect", "hotspott"}, "did you mean 'hotspot'?"},
        Wrong{"InspectFile", {"inspect", "none.ptx"}, "none.ptx: error: cannot be read"},
        Wrong{"Compare", {"bench", "--compare", "none.json"}, "none.json: error: cannot be read"}),
    [](const auto& wrong) { return std::string(wrong.param.name); });

TEST_F(Run, AFaultOfTheProgramIsExit3WithoutResult) {
  const Outcome o = gpumux({"run", kScaleKernel + ":outside", "--grid", "1", "--block", "1", "--arg",
                            "out:i32[1]=y.bin", "--json", "a.json", "--stats", "s.csv"});
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(o.err.find("outside"), std::string::npos) << o.err;
  EXPECT_EQ(o.out, "");
  for (const char* name : {"a.json", "s.csv", "y.bin"}) EXPECT_FALSE(exists(name)) << name;
}

TEST_F(Run, ALongRunThatFailsKeepsTheEarlierResult) {
  write_file_atomically(path("a.json"), "earlier");
  EXPECT_EQ(gpumux({"run", kScaleKernel + ":outside", "--grid", "1", "--block", "1", "--arg", "zero:i32[1]",
                    "--json", "a.json"})
                .code,
            3);
  EXPECT_EQ(read_file(path("a.json")), "earlier");
}

}  // namespace
}  // namespace gpumux::test
