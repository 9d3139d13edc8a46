// `gpumux sweep` and `gpumux export`, run as commands: killed, interrupted, with a full disk, and with bad
// input.
#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "sweep_fixture.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;

constexpr std::size_t kRuns = 4 + 2 * 6;  // baselines, pairs

class Sweep : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    write_file_atomically(path("s.toml"), kSmallSweep);
  }

  /// Starts the sweep with two jobs.
  [[nodiscard]] pid_t start(const std::string& db) const {
    return SweepTest::start({"sweep", "s.toml", "--db", db, "--jobs", "2"});
  }
  void expect_error(const std::vector<std::string>& args, const std::string& line) const {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, line + "\n");
  }
};

TEST_F(Sweep, KeepsWhatRunWouldWriteAndRepeatsNothing) {
  Outcome o = gpumux({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "2"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");  // no progress line in a pipe
  EXPECT_EQ(o.out.find("small: 16 runs: 16 done, 0 failed; 16 of them now, in "), 0U) << o.out;
  const json all = rows("a.sqlite");
  ASSERT_EQ(all.size(), kRuns);
  const json& last = all.back();
  EXPECT_EQ(last["policy"], "even");
  EXPECT_EQ(last["overrides"], json({{"sms", "2"}}));
  ASSERT_EQ(gpumux({"run", "pathfinder", "stencil", "--policy", "even", "--set", "sms=2", "--cycles", "2000",
                    "--json", "a.json"})
                .code,
            0);
  json expected = json::parse(read_file(path("a.json")));
  EXPECT_EQ(last["result"], expected);

  o = gpumux({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "1", "--quiet"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(rows("a.sqlite"), all);
  // A sweep that shares runs makes only the others.
  write_file_atomically(path("t.toml"), std::string(kSmallSweep) + "exclude = [[\"add\"]]\nseeds = [1, 5]\n");
  o = gpumux({"sweep", "t.toml", "--db", "a.sqlite"});
  EXPECT_NE(o.out.find("small: 18 runs: 18 done, 0 failed; 9 of them now, in "), std::string::npos) << o.out;
}

TEST_F(Sweep, SaysWhatItWouldDo) {
  const auto dry = [&](const std::string& file) {
    const Outcome o = gpumux({"sweep", file, "--db", "r.sqlite", "--jobs", "2", "--dry-run"});
    EXPECT_EQ(o.code, 0) << o.err;
    return o.out;
  };
  EXPECT_TRUE(
      dry("s.toml").starts_with("small: 16 runs, 4 of them applications alone\n"
                                "r.sqlite has 0; 16 to do, about 0:0"))
      << dry("s.toml");
  EXPECT_FALSE(exists("r.sqlite"));
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "r.sqlite", "--jobs", "2", "--quiet"}).code, 0);
  EXPECT_EQ(dry("s.toml"), "small: 16 runs, 4 of them applications alone\nr.sqlite has 16; 0 to do\n");
  // A copy of a machine is the same machine; another policy is not.
  const Outcome machine = gpumux({"list", "machines", "dai18-maxwell", "--toml"});
  write_file_atomically(path("copy.toml"), machine.out);
  std::string text = kSmallSweep;
  text.replace(text.find("\"even\""), 6, "\"even\", \"spatial\"");
  write_file_atomically(path("more.toml"), "machines = [\"copy.toml\", \"dai18-maxwell\"]\n" + text);
  EXPECT_TRUE(dry("more.toml")
                  .starts_with("small: 22 runs, 4 of them applications alone; 18 more were described "
                               "twice\nr.sqlite has 16; 6 to do, about 0:0"))
      << dry("more.toml");
}

TEST_F(Sweep, ExportsCsv) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 0);
  const Outcome o = gpumux({"export", "a.sqlite", "--csv"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(lines(o.out), 1 + 4 + 2 * 12U);
  EXPECT_EQ(o.out.find("hash,machine,overrides,policy,seed,cycle_limit,state,"), 0U);
  EXPECT_NE(o.out.find(",dai18-maxwell,sms=2,even,1,2000,done,2000,"), std::string::npos) << o.out;
  ASSERT_EQ(gpumux({"export", "a.sqlite", "a.csv", "--csv"}).code, 0);
  EXPECT_EQ(read_file(path("a.csv")), o.out);
  ASSERT_EQ(gpumux({"export", "--json", "a.sqlite", "a.json"}).code, 0);
  const json exported = json::parse(read_file(path("a.json")));
  EXPECT_EQ(exported["schema"], "gpumux.results/1");
  // Energy, which has no columns in the database.
  const std::vector<std::string> table = split(o.out, '\n');
  const std::vector<std::string> names = split(table[0], ','), first = split(table[1], ',');
  const auto cell = [&](std::string_view name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? -1 : std::stod(first.at(static_cast<std::size_t>(at - names.begin())));
  };
  const json& run = exported["runs"][0]["result"];
  EXPECT_DOUBLE_EQ(cell("gpu_energy_joules"), run["gpu"]["energy_joules"].get<double>());
  EXPECT_DOUBLE_EQ(cell("instructions_per_watt"), run["gpu"]["instructions_per_watt"].get<double>());
  EXPECT_DOUBLE_EQ(cell("energy_joules"), run["apps"][0]["energy_joules"].get<double>());
}

TEST_F(Sweep, ExportsViewsOfSms) {
  const Outcome ran = gpumux({"run", "add", "stream", "--policy", "even", "--cycles", "2000", "--db",
                              "v.sqlite", "--view-sms", "0,3", "--series", "500", "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Outcome table = gpumux({"export", "v.sqlite", "--csv"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(lines(table.out), 1 + 2 + 2U) << "both alone and together";
  const Outcome document = gpumux({"export", "v.sqlite", "--json"});
  ASSERT_EQ(document.code, 0) << document.err;
  const json runs = json::parse(document.out)["runs"];
  const auto together =
      std::find_if(runs.begin(), runs.end(), [](const json& run) { return run["apps"].size() == 2; });
  ASSERT_NE(together, runs.end());
  const json& counters = (*together)["counters"];
  EXPECT_EQ(counters["apps"].size(), 2U);
  EXPECT_EQ(counters["views"], (*together)["result"]["views"]);
  const json& series = (*together)["result"]["series"];
  ASSERT_EQ(series["views"].size(), 2U);
  EXPECT_EQ(series["views"][1]["sm"], 3);
  EXPECT_EQ(series["apps"].size(), 2U);
}

TEST_F(Sweep, KilledAtRandomItEndsWithTheSameRows) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "1"}).code, 0);
  Random random(3);
  int kills = 0;
  for (; kills < 10; ++kills) {
    const pid_t child = start("b.sqlite");
    // Anywhere from before the database is made to the end of a run that is far on.
    const auto until = done("b.sqlite") + random.below(3);
    for (std::uint32_t waited = 0; waited < 2000 && done("b.sqlite") < until; ++waited) ::usleep(1000);
    ::usleep(random.below(40'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status)) break;  // it was quicker, and has ended
    if (exists("b.sqlite")) {
      EXPECT_EQ(text("b.sqlite", "PRAGMA integrity_check"), "ok");
    }
  }
  EXPECT_GE(kills, 3);
  const Outcome o = gpumux({"sweep", "s.toml", "--db", "b.sqlite", "--jobs", "2"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(rows("a.sqlite"), rows("b.sqlite"));
  for (const char* table :
       {"runs", "apps", "metrics", "machines", "overrides", "sweeps", "sweep_runs", "counters"}) {
    const std::string count = std::string("SELECT count(*) FROM ") + table;
    EXPECT_EQ(number("a.sqlite", count), number("b.sqlite", count)) << table;
  }
  EXPECT_EQ(number("b.sqlite", "SELECT count(*) FROM claims"), 0);
}

TEST_F(Sweep, SeveralProcessesShareTheWork) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(start("b.sqlite"));
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_file(path("stderr.log"));
  }
  EXPECT_EQ(rows("a.sqlite"), rows("b.sqlite"));
}

TEST_F(Sweep, AnInterruptGivesItsClaimsBack) {
  for (const int signal : {SIGINT, SIGTERM}) {
    write_file_atomically(path("s.toml"), std::string(kSmallSweep) + "seeds = [1, 2, 3, 4, " +
                                              std::to_string(signal + 9) + "]\n");
    const auto before = done("a.sqlite");
    const pid_t child = start("a.sqlite");
    while (done("a.sqlite") < before + 2) ::usleep(1000);
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_EQ(number("a.sqlite", "SELECT count(*) FROM claims"), 0);
    EXPECT_EQ(number("a.sqlite", "SELECT count(*) FROM runs WHERE state = 'failed'"), 0);
    EXPECT_NE(read_file(path("stderr.log")).find("the same command goes on"), std::string::npos);
    EXPECT_NE(read_file(path("stdout.log")).find(" still to do; "), std::string::npos);
  }
}

TEST_F(Sweep, AFailingRunDoesNotStopTheOthers) {
  const std::string ptx = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";
  write_file_atomically(path("s.toml"),
                        "apps = [\"add\", {name = \"bad\", app = \"" + ptx +
                            ":outside\", grid = 1, block = 1, args = [\"zero:i32[1]\"]}, \"stream\"]\n"
                            "combine = \"pairs\"\ncycles = 2000\nset.sms = 2\n");
  for (const bool retry : {false, false, true}) {
    std::vector<std::string> args = {"sweep", "s.toml", "--db", "a.sqlite"};
    if (retry) args.emplace_back("--retry-failed");
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 3) << o.err;  // also of what needs the failed baseline
    EXPECT_NE(o.err.find("failed: bad under leftover on dai18-maxwell, sms=2, seed 1: error: "),
              std::string::npos)
        << o.err;
    EXPECT_EQ(o.out.find("s: 6 runs: 3 done, 3 failed; "), 0U) << o.out;
  }
  EXPECT_EQ(number("a.sqlite",
                   "SELECT count(*) FROM runs WHERE exit_code = 3 AND error LIKE '%outside%' AND error NOT "
                   "LIKE '%baseline%'"),
            1);
  EXPECT_EQ(number("a.sqlite",
                   "SELECT count(*) FROM runs WHERE exit_code = 3 AND error LIKE 'error: its isolated "
                   "baseline failed: bad%'"),
            2);
}

TEST_F(Sweep, WithoutRoomThereIsOneErrorAndNothingIsLost) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 0);
  int full = 0;
  int without_tables = 0;
  std::int64_t kept = 0;
  // `ulimit -f` counts 512 or 1024 bytes: from too little for the tables to enough for some runs.
  for (const int blocks : {20, 100, 300, 420, 500, 620}) {
    const std::string command = "cd '" + folder_ + "' && (ulimit -f " + std::to_string(blocks) + "; exec '" +
                                GPUMUX_PROGRAM +
                                "' sweep s.toml --db b.sqlite --jobs 2) >stdout.log 2>stderr.log";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) break;
    ++full;
    EXPECT_EQ(WEXITSTATUS(status), 2);
    if (!std::filesystem::exists(path("b.sqlite"))) {  // not even its tables: nothing of it is left
      EXPECT_EQ(read_file(path("stderr.log")), "b.sqlite: error: cannot be written (File too large)\n");
      for (const auto& entry : std::filesystem::directory_iterator(folder_))
        EXPECT_FALSE(entry.path().filename().string().starts_with("b.sqlite")) << entry.path();
      ++without_tables;
      continue;
    }
    EXPECT_EQ(read_file(path("stderr.log")),
              "b.sqlite: error: cannot be written: the disk is full, or a file too large\n");
    EXPECT_EQ(text("b.sqlite", "PRAGMA integrity_check"), "ok");
    EXPECT_GE(done("b.sqlite"), kept);
    kept = done("b.sqlite");
  }
  EXPECT_GE(without_tables, 1);
  EXPECT_GE(full - without_tables, 2);
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "b.sqlite"}).code, 0);
  EXPECT_EQ(rows("a.sqlite"), rows("b.sqlite"));
}

TEST_F(Sweep, BadInput) {
  expect_error({"sweep", "s.toml"}, "error: --db is required");
  expect_error({"sweep", "--db", "a.sqlite"}, "error: FILE is required");
  expect_error({"sweep", "none.toml", "--db", "a.sqlite"},
               "none.toml: error: cannot be read (No such file or directory)");
  expect_error({"sweep", "s.toml", "--db", "none/a.sqlite"},
               "none/a.sqlite: error: cannot be made: there is no folder none");
  expect_error({"sweep", "s.toml", "--db", "."}, ".: error: is a folder; a database was expected");
  expect_error({"sweep", "s.toml", "--db", "s.toml"},
               "s.toml: error: is no SQLite database, or its first bytes are damaged");
  expect_error({"sweep", "s.toml", "--db", "a.sqlite", "--scale", "quick"},
               "s.toml: error: has no scale 'quick', nor any other");
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite", "--jobs", "0"}).code, 2);
  write_file_atomically(path("e.toml"), "");
  expect_error({"sweep", "e.toml", "--db", "a.sqlite"},
               "e.toml: error: names no application; add apps = [\"hotspot\", ...]");
  expect_error({"export", "a.sqlite", "--csv"}, "a.sqlite: error: does not exist");
  expect_error({"export", "s.toml", "--csv"},
               "s.toml: error: is no SQLite database, or its first bytes are damaged");
  expect_error({"export", "s.toml"},
               "error: export needs one of --csv and --json, or a FILE that ends in .csv or .json");
  expect_error({"export", "s.toml", "./s.toml", "--csv"},
               "s.toml: error: would be overwritten by a result; give the result its own file");
  expect_error({"export", "s.toml", "--csv", "--json"},
               "error: export needs one of --csv and --json, or a FILE that ends in .csv or .json");
  EXPECT_FALSE(exists("a.sqlite"));
  EXPECT_EQ(read_file(path("s.toml")), kSmallSweep);
}

TEST_F(Sweep, AnExportThatFailsLeavesNoFile) {
  ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 0);
  expect_error({"export", "a.sqlite", "none/a.csv", "--csv"},
               "none/a.csv: error: cannot be written: there is no folder none");
  database::Connection(path("a.sqlite"), database::Access::Write).execute("PRAGMA user_version = 99");
  write_file_atomically(path("a.csv"), "earlier");
  expect_error({"export", "a.sqlite", "a.csv", "--csv"},
               "a.sqlite: error: has schema version 99; this gpumux knows up to 4: use a newer gpumux");
  EXPECT_EQ(read_file(path("a.csv")), "earlier");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
  }
}

// Every example of the documentation and every sweep that comes with the program can be planned.
TEST_F(Sweep, TheSweepsOfTheRepositoryAreGood) {
  const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/experiments/basics/pairs.toml";
  expect_error({"sweep", file, "--db", "a.sqlite"},
               file + ": error: has scales; choose one: --scale paper, --scale quick, --scale standard");
  for (const char* scale : {"quick", "standard", "paper"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int out = ::open("/dev/null", O_WRONLY);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      ::execl(GPUMUX_PROGRAM, GPUMUX_PROGRAM, "sweep", file.c_str(), "--db", path("p.sqlite").c_str(),
              "--scale", scale, "--jobs", "1", nullptr);
      ::_exit(99);
    }
    const std::string planned =
        std::string("SELECT count(*) FROM sweep_runs JOIN sweeps ON id = sweep_id WHERE scale = '") + scale +
        "'";
    const auto count = [&]() -> std::int64_t {
      try {
        return number("p.sqlite", planned);
      } catch (const std::exception&) {
        return 0;
      }
    };
    while (count() == 0) ::usleep(10'000);
    ::kill(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(count(), std::string_view(scale) == "standard" ? 14 + 26 * 4 : 378);
  }
}

TEST_F(Sweep, CpuProgramsFromTheFileToTheExport) {
  write_file_atomically(path("s.toml"),
                        "machines = \"kayiran14-small3x3\"\napps = [\"add\"]\nworkloads = [[\"add\"], []]\n"
                        "cpus = [\"mcf*2\"]\ncpu_warm_up = 500\ncpu_instructions = 2000\nalpha = 0.25\n");
  const Outcome swept = gpumux({"sweep", "s.toml", "--db", "r.sqlite", "--jobs", "2", "--quiet"});
  ASSERT_EQ(swept.code, 0) << swept.err;
  const Outcome cpus = gpumux({"export", "r.sqlite", "--csv", "--cpus"});
  EXPECT_EQ(cpus.code, 0) << cpus.err;
  EXPECT_EQ(lines(cpus.out), 1U + 1 + 2 + 2) << cpus.out;  // mcf alone; beside add, and without it
  EXPECT_NE(cpus.out.find(",done,,"), std::string::npos) << cpus.out;
  const Outcome csv = gpumux({"export", "r.sqlite", "--csv"});
  EXPECT_EQ(lines(csv.out), 1U + 1 + 1) << csv.out;
  EXPECT_NE(csv.out.find(",mcf*2,0,add,"), std::string::npos) << csv.out;
  const nlohmann::json all = nlohmann::json::parse(gpumux({"export", "r.sqlite", "--json"}).out)["runs"];
  ASSERT_EQ(all.size(), 4U);
  const nlohmann::json& beside = all[2];
  EXPECT_EQ(beside["cpus"][1]["program"], "mcf");
  EXPECT_EQ(beside["cpus"][1]["isolated"], all[1]["hash"]);
  const nlohmann::json& metrics = beside["result"]["metrics"];
  EXPECT_EQ(metrics["oss_alpha"], 0.25);
  EXPECT_DOUBLE_EQ(metrics["oss"].get<double>(),
                   0.75 * metrics["ws_cpu"].get<double>() + 0.25 * metrics["su_gpu"].get<double>());
  EXPECT_TRUE(all[3]["result"]["metrics"]["su_gpu"].is_null()) << "no application";
  EXPECT_GT(all[3]["result"]["metrics"]["ws_cpu"], metrics["ws_cpu"]) << "nothing beside them";
  const Outcome wrong = gpumux({"export", "r.sqlite", "--json", "--cpus"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "error: --cpus chooses the lines of CSV; --json has CPU cores in each run\n");
}

}  // namespace
}  // namespace gpumux::test
