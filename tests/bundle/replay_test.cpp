// The replay of a bundle equals a run of the recorded program: the same cycles and the same bytes, alone and
// with other applications.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "experiment/result_json.hpp"
#include "small_program.hpp"
#include "tests/small_apps.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux::bundle::test {
namespace {

using experiment::AppSpec;
using experiment::RunResult;
using experiment::RunSpec;

AppSpec small_app(SmallProgram::Got& got) {
  return spec_of([&got](std::uint64_t) { return std::make_unique<SmallProgram>(got); });
}

/// All that a result has, but how long it took and what its applications are called.
std::string figures(RunResult result) {
  result.wall_seconds = 0;
  for (experiment::AppResult& app : result.apps) app.app = "app";
  const std::vector<double> none(result.apps.size(), 1);
  return experiment::result_json(result, none, experiment::metrics(none, none));
}

class Replays : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  [[nodiscard]] AppSpec bundle(const std::string& name, const std::string& settings = "") const {
    return experiment::bundle_app(path(name) + settings, "", false);
  }
  gpumux::test::TemporaryFolder folder_;
};

TEST_F(Replays, TheProgramItselfIsRight) {
  SmallProgram::Got got;
  (void)experiment::simulate(run_of({small_app(got)}));
  for (std::uint32_t i = 0; i < kElements; ++i) {
    const std::uint32_t image = i % 64;
    const std::uint32_t turned = i / 100 * 100 + 99 - i % 100;
    ASSERT_EQ(got.turned[i], static_cast<float>(turned + (image >= 1 && image <= 10 ? image - 1 : 0))) << i;
    const float scaled = i < 50 ? 9.0F * static_cast<float>(i) : 3.0F * static_cast<float>(i);
    ASSERT_EQ(got.scaled[i], i < 100 ? scaled : got.turned[i]) << i;
  }
  EXPECT_EQ(got.total[0], 5 + kElements + 50);
}

TEST_F(Replays, RecordingChangesNothing) {
  SmallProgram::Got got;
  const RunResult alone = experiment::simulate(run_of({small_app(got)}));
  EXPECT_EQ(figures(alone), figures(record_run(small_app(got), run_of({}), path("a.gmx"))));
  // And again the same file.
  (void)record_run(small_app(got), run_of({}), path("b.gmx"));
  EXPECT_EQ(read_file(path("a.gmx")), read_file(path("b.gmx")));
}

TEST_F(Replays, TakesTheCyclesOfTheProgram) {
  SmallProgram::Got got;
  (void)record_run(small_app(got), run_of({}), path("a.gmx"));
  // Host time passes for a program in person, and for its bundle when asked to.
  for (const char* machine : {"dai18-maxwell", "v100", "awatramani17-m2090"}) {
    const RunResult program = experiment::simulate(run_of({small_app(got)}, machine));
    RunSpec spec = run_of({bundle("a.gmx", ":host_time=1")}, machine);
    spec.verify = true;
    EXPECT_EQ(figures(experiment::simulate(spec)), figures(program)) << machine;
    spec.threads = 3;
    EXPECT_EQ(figures(experiment::simulate(spec)), figures(program)) << machine;
    spec.apps = {bundle("a.gmx")};
    EXPECT_LT(experiment::simulate(spec).cycles, program.cycles) << machine;
  }
}

TEST_F(Replays, TimedCopiesTakeTheirTimeWithAndWithoutVerifying) {
  SmallProgram::Got got;
  const std::vector<std::string> set = {"sms=3", "runtime.copy_bytes_per_second=1e9"};
  (void)record_run(small_app(got), run_of({}), path("a.gmx"));
  const RunResult program = experiment::simulate(run_of({small_app(got)}, "dai18-maxwell", set));
  RunSpec spec = run_of({bundle("a.gmx", ":host_time=1")}, "dai18-maxwell", set);
  EXPECT_EQ(figures(experiment::simulate(spec)), figures(program));
  spec.verify = true;
  EXPECT_EQ(figures(experiment::simulate(spec)), figures(program));
  EXPECT_GT(program.cycles, experiment::simulate(run_of({small_app(got)})).cycles);
}

TEST_F(Replays, HostTimeIsTimeOfTheCoreClock) {
  Writer writer(path("t.gmx"), Address{1} << kAppShift);
  writer.add(HostTime{1'000'000});
  writer.finish();
  RunSpec spec = run_of({bundle("t.gmx", ":host_time=0.5")});
  const double cycles = 500e-6 * spec.machine.clocks.core * 1e6;
  const auto measured = static_cast<double>(experiment::simulate(spec).cycles);
  EXPECT_GE(measured, cycles);
  EXPECT_LE(measured, cycles + 200);
  spec.apps = {bundle("t.gmx")};
  EXPECT_LT(experiment::simulate(spec).cycles, 200U);
}

// The addresses of its program lie in the range of application 0; it runs as any.
TEST_F(Replays, BesideOthersAsTheProgramWouldRun) {
  SmallProgram::Got got;
  (void)record_run(small_app(got), run_of({}), path("a.gmx"));
  for (const char* policy :
       {"leftover", "even", "spatial", "time-slice:slice=500,preempt=switch,context=traffic"}) {
    const auto run = [&](const AppSpec& app, std::size_t place) {
      RunSpec spec = run_of({experiment::builtin_app("add:loops=2,blocks=40")});
      spec.apps.insert(spec.apps.begin() + static_cast<std::ptrdiff_t>(place), app);
      spec.policy = policy::parse_choice(policy);
      spec.cycles = 90'000;
      spec.verify = true;
      return experiment::simulate(spec);
    };
    for (const std::size_t place : {0U, 1U}) {
      const RunResult result = run(bundle("a.gmx", ":host_time=1"), place);
      EXPECT_GE(result.apps[place].completions, 2U) << policy;
      EXPECT_EQ(figures(result), figures(run(small_app(got), place))) << policy << place;
    }
  }
  RunSpec twice = run_of({bundle("a.gmx"), bundle("a.gmx")});
  twice.verify = true;
  twice.cycles = 90'000;
  EXPECT_GE(experiment::simulate(twice).apps[1].completions, 2U);
}

class OfBuiltIn : public testing::TestWithParam<const char*> {};

// Textures, trees, atomics, and printf: what the host programs do, their bundles do.
TEST_P(OfBuiltIn, TheSameCyclesAlone) {
  gpumux::test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.gmx";
  const AppSpec app = experiment::builtin_app(GetParam());
  const RunResult program = record_run(app, run_of({}, "v100", {"sms=4"}), path);
  const auto opened = Bundle::open(path);
  RunSpec spec = run_of({experiment::bundle_app("a.gmx", opened)}, "v100", {"sms=4"});
  spec.verify = opened->results() != 0;
  EXPECT_EQ(figures(experiment::simulate(spec)), figures(program));
}

/// But those of papers' tables: what their blocks count for is not the program's, and in no bundle.
std::vector<const char*> programs() {
  std::vector<const char*> names;
  for (const char* app : gpumux::test::kSmallApps)
    if (std::string(app).find('/') == std::string::npos) names.push_back(app);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Small, OfBuiltIn, testing::ValuesIn(programs()));

TEST_F(Replays, VerifyNoticesOneByte) {
  SmallProgram::Got got;
  (void)record_run(small_app(got), run_of({}), path("a.gmx"));
  // Records again all but for one result.
  const auto bundle = Bundle::open(path("a.gmx"));
  Reader reader(bundle);
  Writer writer(path("b.gmx"), bundle->addresses().base);
  std::uint64_t results = 0;
  for (Record record; reader.next(record);) {
    const auto keep = [&](Content& content) {
      const std::string bytes = bundle->content(content);
      content = writer.keep(std::as_bytes(std::span(bytes)));
    };
    if (auto* r = std::get_if<LoadModule>(&record)) keep(r->ptx);
    if (auto* r = std::get_if<CopyToDevice>(&record)) keep(r->from);
    if (auto* r = std::get_if<CopyToSymbol>(&record)) keep(r->from);
    if (auto* r = std::get_if<HostWrite>(&record)) keep(r->from);
    if (auto* r = std::get_if<Result>(&record); r != nullptr && ++results == 2) r->digest.high ^= 1;
    writer.add(record);
  }
  EXPECT_EQ(results, 3U);
  writer.finish();
  RunSpec spec = run_of({experiment::bundle_app(path("b.gmx"), "", true)});
  (void)experiment::simulate(spec);  // nobody asked
  spec.verify = true;
  try {
    (void)experiment::simulate(spec);
    FAIL();
  } catch (const SimulationFault& fault) {
    EXPECT_NE(std::string(fault.what()).find("copy 2 from the device, 4000 bytes at 0x1000000"),
              std::string::npos)
        << fault.what();
  }
}

TEST_F(Replays, ACooperativeLaunchMustFit) {
  Writer writer(path("c.gmx"), Address{1} << kAppShift);
  const std::string ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
  writer.add(LoadModule{"k.ptx", writer.keep(std::as_bytes(std::span(ptx))), {}});
  writer.add(Launch{0, "k", {145}, {1024}, 0, true, "", 0, 0});
  writer.finish();
  // Three blocks of 1024 threads on an SM.
  (void)experiment::simulate(run_of({bundle("c.gmx")}, "dai18-maxwell", {"sms=49"}));
  try {
    (void)experiment::simulate(run_of({bundle("c.gmx")}, "dai18-maxwell", {"sms=48"}));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("a cooperative launch of 145 blocks"), std::string::npos)
        << error.what();
  }
}

TEST_F(Replays, VariablesMustBeThoseOfTheModule) {
  const std::string ptx =
      ".version 9.0\n.target sm_75\n.address_size 64\n.global .u32 v;\n.visible .entry k() { ret; }\n";
  const Address base = Address{1} << kAppShift;
  const auto error = [&](std::vector<workload::PlacedVariable> variables) -> std::string {
    Writer writer(path("v.gmx"), base);
    writer.add(LoadModule{"k.ptx", writer.keep(std::as_bytes(std::span(ptx))), std::move(variables)});
    writer.finish();
    try {
      (void)experiment::simulate(run_of({bundle("v.gmx")}));
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error({{"v", base + 8192, 4}}), "");
  EXPECT_EQ(error({}), "");
  EXPECT_NE(error({{"v", base + 8192, 8}}).find("variable v has 4 bytes, and 8 are placed at 0x10000002000"),
            std::string::npos);
  EXPECT_NE(error({{"w", base + 8192, 4}}).find("no variable w of 4 bytes"), std::string::npos);
  EXPECT_NE(error({{"v", base + 16, 4}}).find("lies outside of device memory"), std::string::npos);
}

TEST_F(Replays, Settings) {
  (void)small_bundle(path("a.gmx"));
  const auto error = [&](const std::string& text, bool verify = false) -> std::string {
    try {
      (void)experiment::bundle_app(text, folder_.path(), verify);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("a.gmx", true), "");
  EXPECT_EQ(error("a.gmx:host_time=2.5"), "");
  EXPECT_NE(error("a.gmx:host_tim=2").find("host_time"), std::string::npos);
  EXPECT_NE(error("a.gmx:host_time=x").find("must be a number from 0 to 1000"), std::string::npos);
  EXPECT_NE(error("a.gmx:host_time=-1").find("must be a number"), std::string::npos);
  EXPECT_NE(error("none.gmx").find("none.gmx: error: cannot be read (No such file"), std::string::npos);
  Writer writer(path("n.gmx"), Address{1} << kAppShift);
  writer.finish();
  EXPECT_EQ(error("n.gmx"), "");
  EXPECT_NE(error("n.gmx", true).find("--verify has nothing to check"), std::string::npos);
  // What determines its runs.
  EXPECT_NE(bundle("a.gmx").identity, bundle("n.gmx").identity);
  EXPECT_NE(bundle("a.gmx").identity, bundle("a.gmx", ":host_time=1").identity);
}

}  // namespace
}  // namespace gpumux::bundle::test
