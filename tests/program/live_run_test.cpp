// `gpumux run -- PROGRAM` with a program that was made without nvcc (calls/) and, if nvcc is installed, with
// the programs of tests/cuda.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace gpumux::test {
namespace {

class LiveRun : public CliTest {
 protected:
  [[nodiscard]] Outcome calls(const std::string& name, std::vector<std::string> options = {}) const {
    std::vector<std::string> args = {"run", "--machine", "rtx2060"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", GPUMUX_CALLS, name});
    return gpumux(args);
  }
  /// `launches`: it launches kernels, which a note would miss.
  void expect_fine(const std::string& name, const std::string& printed, bool launches = true) const {
    const Outcome o = calls(name);
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_EQ(o.out.find(printed), 0U) << o.out;
    EXPECT_EQ(o.err, launches ? "" : fmt::format("note: {} launched no kernel\n", program_name()));
  }
  [[nodiscard]] static std::string program_name() {
    return std::filesystem::path(GPUMUX_CALLS).filename().string();
  }
  [[nodiscard]] static std::string kept_bundle(const std::filesystem::path& program) {
    return std::filesystem::path(program).replace_extension(".gmx");
  }
  [[nodiscard]] nlohmann::json result(const std::string& file) const {
    return nlohmann::json::parse(read_file(path(file)));
  }
};

TEST_F(LiveRun, AddsVectorsAndShowsWhatItTook) {
  const Outcome o = calls("add", {"--json", "r.json"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out.find("sums are right\n"), 0U) << o.out;
  EXPECT_NE(o.out.find("calls add"), std::string::npos) << o.out;  // the table
  const nlohmann::json json = result("r.json");
  // 40 blocks of 8 warps, of which some have nothing to add.
  EXPECT_EQ(json["apps"][0]["blocks_completed"], 40);
  EXPECT_GT(json["apps"][0]["warp_instructions"], 320 * 5);
  EXPECT_GT(json["cycles"], 1000);
}

TEST_F(LiveRun, RunsRepeatByteForByte) {
  const auto text = [&](const std::string& file, std::vector<std::string> options) {
    options.insert(options.end(), {"--json", file});
    const Outcome o = calls("streams", options);
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    nlohmann::json json = result(file);
    return o.out.substr(0, o.out.find('\n')) + json.dump();
  };
  const std::string first = text("a.json", {});
  EXPECT_EQ(text("b.json", {}), first);
  EXPECT_EQ(text("c.json", {"--threads", "3"}), first);
}

TEST_F(LiveRun, PrioritiesAndConditionsDoNotDependOnThreads) {
  for (const std::string name : {"priorities-launched", "conditions"}) {
    const auto cycles = [&](const char* threads) {
      const Outcome o = calls(name, {"--threads", threads, "--json", "r.json"});
      EXPECT_EQ(o.code, 0) << o.out << o.err;
      nlohmann::json json = result("r.json");
      return json.dump();
    };
    EXPECT_EQ(cycles("1"), cycles("4")) << name;
  }
}

TEST_F(LiveRun, Copies) { expect_fine("copies", "", false); }
TEST_F(LiveRun, Arrays) { expect_fine("arrays", ""); }
TEST_F(LiveRun, Variables) { expect_fine("symbols", ""); }
TEST_F(LiveRun, ParametersOfAllSizes) { expect_fine("parameters", ""); }
TEST_F(LiveRun, MemoryThatBothSidesSee) { expect_fine("shared", ""); }
TEST_F(LiveRun, DeviceMemoryCannotBeCutOff) { expect_fine("sealed", "", false); }
TEST_F(LiveRun, MemoryThatIsFreedIsTakenAgainAtOnce) { expect_fine("taken-again", "", false); }
TEST_F(LiveRun, MemoryThatIsRegistered) { expect_fine("registered", ""); }
TEST_F(LiveRun, WhatCannotBeSharedIsRegisteredForCopies) {
  const Outcome o = calls("registered_for_copies");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  for (const char* why : {"since it lies on the stack;", "since it is a shared mapping of the program's own;",
                          "since it shares a page with other registered memory;"})
    EXPECT_NE(o.err.find(why), std::string::npos) << why << o.err;
}
TEST_F(LiveRun, StreamsAndEventsInSimulatedTime) { expect_fine("streams", "one "); }
TEST_F(LiveRun, Graphs) {
  expect_fine("graphs", "");
  expect_fine("graph-nodes", "");
}
TEST_F(LiveRun, GraphsDecideByWhatKernelsSay) { expect_fine("conditions", "1\n"); }
TEST_F(LiveRun, GraphsHaveMemory) { expect_fine("graph-memory", ""); }
TEST_F(LiveRun, WhatIsNotSupportedIsNamedAndFails) {
  const Outcome o = calls("cluster-launch");
  EXPECT_EQ(o.code, 3) << o.out;
  const std::string what = "a launch with cudaLaunchAttributeClusterDimension (thread block clusters)";
  EXPECT_EQ(o.err,
            fmt::format("gpumux: {0} is not supported\nnote: {1} launched no kernel, and asked for what is "
                        "not supported: {0}\n",
                        what, program_name()));
}
TEST_F(LiveRun, FreeingNothingInitializesTheDevice) { expect_fine("driver-after-free", "", false); }
TEST_F(LiveRun, KernelsOfGreaterPriorityComeFirst) { expect_fine("priorities", ""); }
TEST_F(LiveRun, KernelsPrintAmidTheProgramsOwnText) {
  expect_fine("print", "before\nlaunched\nblock 0 says 42\nblock 1 says 42\nafter\n");
}
TEST_F(LiveRun, TheDeviceIsTheSimulatedMachine) {
  expect_fine("properties",
              "rtx2060: 30 SMs, 7.5, warps of 32, 1024 threads, block 49152 shared, 192 bits, 3145728 L2, 16 "
              "blocks\n",
              false);
}
TEST_F(LiveRun, Occupancy) { expect_fine("occupancy", "1 blocks of 1024, 1 with 40 KB each\n", false); }
TEST_F(LiveRun, LibrariesOfTheRunTime) { expect_fine("libraries", ""); }
TEST_F(LiveRun, WhatKernelsAndStreamsAndTheDeviceAreAsked) { expect_fine("questions", "", false); }
TEST_F(LiveRun, RegistersOfMachineCode) {
  expect_fine("registers", "");
  expect_fine("units-registers", "", false);
  // One block of 256 threads fits on an SM then, and there are 40 for 30 SMs.
  const auto cycles = [&](const std::string& name) {
    EXPECT_EQ(calls(name, {"--json", "r.json"}).code, 0);
    return result("r.json")["cycles"].get<double>();
  };
  EXPECT_GT(cycles("beside-machine-code"), cycles("add") + 200);
}
TEST_F(LiveRun, PtxInEachPacking) {
  expect_fine("lz4", "sums are right\n");
  expect_fine("raw", "sums are right\n");
}

TEST_F(LiveRun, RowsThatAreLongerThanTheirPitchAreRefused) { expect_fine("pitches", "", false); }
TEST_F(LiveRun, OneDeviceIsNoPeerOfItself) { expect_fine("peers", "", false); }
TEST_F(LiveRun, FillsAndVariablesInStreamsOfThreads) { expect_fine("per-thread", "", false); }

TEST_F(LiveRun, RelocatableUnitsAreLinked) { expect_fine("units", "90 2\n"); }
TEST_F(LiveRun, WhatNoUnitDefinesIsSaid) {
  const Outcome o = calls("units-without");
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_NE(o.err.find(", unit 1:"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("variable 'offset' is used, but none of the 2 translation units defines it"),
            std::string::npos)
      << o.err;
}
TEST_F(LiveRun, TheDriverBesideTheRunTime) { expect_fine("driver", "one device\n"); }

TEST_F(LiveRun, ErrorsAreThoseOfCuda) {
  const Outcome o = calls("errors");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_EQ(o.err, "gpumux: cudaIpcGetMemHandle is not supported\n");  // once
}

TEST_F(LiveRun, CopiesTakeTheTimeOfTheLink) {
  const auto cycles = [&](const std::string& rate) {
    const Outcome o = calls("add", {"--set", "runtime.copy_bytes_per_second=" + rate, "--json", "r.json"});
    EXPECT_EQ(o.code, 0) << o.err;
    return result("r.json")["cycles"].get<double>();
  };
  // 40,000 bytes to the device, twice, and back, at 1365 MHz and 1 GB/s.
  EXPECT_NEAR(cycles("1e9") - cycles("0"), 3 * 40000 * 1.365, 2000);
}

TEST_F(LiveRun, TheProgramsExitCodeIsOurs) {
  const Outcome o = calls("code");
  EXPECT_EQ(o.code, 7);
  EXPECT_EQ(
      o.err,
      fmt::format("note: {} made no CUDA call of a shared run time: compile it with nvcc -cudart shared\n",
                  program_name()));
  const Outcome nothing = calls("nothing");
  EXPECT_EQ(nothing.code, 0);
  EXPECT_NE(nothing.err.find("launched no kernel\n"), std::string::npos) << nothing.err;
}

void expect_error(const Outcome& o, int code, const std::string& text) {
  EXPECT_EQ(o.code, code) << o.out << o.err;
  EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
  EXPECT_EQ(lines(o.err), 1U) << o.err;
}

TEST_F(LiveRun, EndsWithOneLineWhereItCannotGoOn) {
  expect_error(calls("signal"), 3, "signal 11 (Segmentation fault) ended the program");
  // A shell tells by its exit code which signal has ended the program.
  for (const char* signal : {"11 (Segmentation fault)", "6 (Aborted)", "9 (Killed)"}) {
    const std::string app =
        fmt::format("sh -c \"{} add; kill -{} \\$\\$\"; exit $?", GPUMUX_CALLS, std::atoi(signal));
    const Outcome o = gpumux({"run", "--machine", "rtx2060", "--app", app});
    EXPECT_EQ(o.code, 3) << o.out << o.err;
    EXPECT_NE(o.err.find(fmt::format("signal {} ended the program", signal)), std::string::npos) << o.err;
  }
  expect_error(calls("machine-code"), 2, "machine code of sm_90 alone");
  for (const char* name : {"wild", "misplaced", "claim", "stray"})
    EXPECT_EQ(calls(name, {"--stop-at-errors"}).code, 3) << name;
  expect_error(calls("wild", {"--stop-at-errors"}), 3, "kernel wild: invalid");
  expect_error(gpumux({"run", "hotspot", "--stop-at-errors"}), 2, "is for CUDA programs");
  expect_error(gpumux({"run", "--"}), 2, "a CUDA program is needed after --");
  expect_error(gpumux({"run", "--", "./none"}), 2, "./none: error: does not exist");
  expect_error(gpumux({"run", "--", "no-such-program-at-all"}), 2, "in PATH");
  expect_error(gpumux({"run", "--", "/etc/passwd"}), 2, "is no program");
  expect_error(calls("add", {"--verify"}), 2, "--verify has nothing to check");
  expect_error(calls("add", {"--db", "d.sqlite"}), 2, "--db");
}

TEST_F(LiveRun, CallsOfHostThreadsComeInTurn) {
  std::string said;
  for (int i = 0; i < 3; ++i)
    for (int thread = 0; thread < 4; ++thread) said += fmt::format("block 0 says {}\n", 10 * thread + i);
  for (int run = 0; run < 3; ++run) expect_fine("threads", said);
}

TEST_F(LiveRun, AnOrderThatVariesIsInTheResult) {
  const Outcome lost = calls("thinks-for-long", {"--json", "lost.json"});
  EXPECT_EQ(lost.code, 0) << lost.err;
  EXPECT_EQ(lost.err.find("gpumux: a host thread computed for long while others called"), 0U) << lost.err;
  EXPECT_NE(read_file(path("lost.json")).find("\"host_order_varies\": true"), std::string::npos);
  const Outcome kept = calls("threads", {"--json", "kept.json"});
  EXPECT_EQ(kept.err, "");
  EXPECT_EQ(read_file(path("kept.json")).find("host_order_varies"), std::string::npos);
}

/// What they print and return is checked by the program.
TEST_F(LiveRun, FaultsOfKernelsAreErrorsOfCalls) {
  const auto run = [&](const std::string& name, const std::string& says) {
    const Outcome o = calls(name);
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_NE(o.err.find(says), std::string::npos) << o.err;
    return o;
  };
  EXPECT_EQ(lines(run("wild", "kernel wild: invalid global write of 4 bytes").err), 1U);
  EXPECT_EQ(lines(run("misplaced", "misaligned global write").err), 1U);
  const Outcome claim = run("claim", "assertion");
  EXPECT_EQ(claim.err.find("kernels.cu:"), 0U) << claim.err;
  EXPECT_NE(claim.err.find("Assertion `blockIdx.x * blockDim.x + threadIdx.x <= most` failed."),
            std::string::npos);
  // Once for each instruction, and then the fault.
  const Outcome stray = run("stray", "512 bytes before the allocation of 4 bytes");
  EXPECT_NE(stray.err.find("on the same page of 2 MB\n"), std::string::npos) << stray.err;
  EXPECT_EQ(lines(stray.err), 2U) << stray.err;
}

TEST_F(LiveRun, AProcessThatForksKeepsTheSimulatedGpu) { expect_fine("fork", "sums are right\n"); }

TEST_F(LiveRun, OfTwoProcessesThatAForkMadeOneHasTheSimulatedGpu) {
  for (int i = 0; i < 8; ++i) {
    const Outcome o = calls("fork-both");
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_EQ(o.out.find("one had the device\n"), 0U) << o.out;
    EXPECT_EQ(o.err,
              "gpumux: CUDA calls of this process fail: another process of the program uses the simulated "
              "GPU; one can\n");
  }
}

TEST_F(LiveRun, WithoutGpumuxThereIsNoDevice) {
  const std::string folder =
      std::filesystem::path(GPUMUX_PROGRAM).parent_path().parent_path() / "lib/gpumux/cudart";
  const std::string command =
      fmt::format("LD_LIBRARY_PATH='{}' '{}' add >'{}' 2>&1", folder, GPUMUX_CALLS, path("out"));
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(read_file(path("out")).find("run the program as `gpumux run"), std::string::npos);
  EXPECT_NE(read_file(path("out")).find("no CUDA-capable device"), std::string::npos);
}

TEST_F(LiveRun, RunsBesideABuiltInApplication) {
  const Outcome o = gpumux({"run", "hotspot:size=61,steps=5", "--machine", "rtx2060", "--policy", "even",
                            "--json", "r.json", "--", GPUMUX_CALLS, "add"});
  EXPECT_EQ(o.code, 0) << o.err;
  // Heard once, though its baseline ran, too.
  EXPECT_EQ(o.out.find("sums are right\n"), 0U) << o.out;
  EXPECT_EQ(o.out.find("sums are right\n", 1), std::string::npos) << o.out;
  const nlohmann::json json = result("r.json");
  EXPECT_GE(json["apps"][1]["completions"], 1);
  EXPECT_GT(json["apps"][1]["normalized_ipc"], 0);
}

TEST_F(LiveRun, SeveralProgramsShareTheGpu) {
  const auto run = [this](const std::string& file) {
    const Outcome o = gpumux({"run", "--machine", "rtx2060", "--policy", "even", "--json", file, "--app",
                              GPUMUX_CALLS " streams", "--app=" GPUMUX_CALLS " parameters; exit 5"});
    EXPECT_EQ(o.code, 5) << o.err;
    nlohmann::json json = result(file);
    return json;
  };
  const nlohmann::json json = run("a.json");
  EXPECT_EQ(json["apps"].size(), 2U);
  EXPECT_EQ(json["apps"][0]["completions"], 1);
  EXPECT_EQ(run("b.json"), json);
  expect_error(gpumux({"run", "--app", ""}), 2, "--app needs a CUDA program");
}

TEST_F(LiveRun, RestartsUntilALimitAndIsHeardOnce) {
  const Outcome o = calls("add", {"--cycles", "200000", "--json", "r.json"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("sums are right\n", 1), std::string::npos) << o.out;
  EXPECT_GT(result("r.json")["apps"][0]["completions"], 2);
}

/// As nvcc links programs without -cudart shared.
TEST_F(LiveRun, ARunTimeWithinTheProgramIsReplaced) {
  for (const char* name : {"add", "symbols", "streams", "parameters", "units", "driver", "arrays"}) {
    const Outcome o = gpumux({"run", "--machine", "rtx2060", "--", GPUMUX_STATIC_CALLS, name});
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_EQ(o.err, "");
  }
  const std::string stripped = path("stripped");
  ASSERT_EQ(std::system(fmt::format("strip -o '{}' '{}'", stripped, GPUMUX_STATIC_CALLS).c_str()), 0);
  const Outcome o = gpumux({"run", "--machine", "rtx2060", "--", stripped, "add"});
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(o.err.find("no symbol table, by which its calls could be served"), std::string::npos) << o.err;
}

/// As of `nvcc -shared`, in a program of its own language.
TEST_F(LiveRun, ARunTimeWithinASharedObjectIsReplaced) {
  for (const char* program : {GPUMUX_LINKED_CALLS, GPUMUX_LOADED_CALLS}) {
    for (const char* name : {"add", "symbols", "streams", "parameters"}) {
      const Outcome o =
          gpumux({"run", "--machine", "rtx2060", "--", program, GPUMUX_STATIC_CALLS_OBJECT, name});
      EXPECT_EQ(o.code, 0) << program << o.out << o.err;
      EXPECT_EQ(o.err, "") << program;
    }
  }
  // By a relative name, too.
  std::filesystem::copy_file(GPUMUX_STATIC_CALLS_OBJECT, path("object.so"));
  const Outcome o = gpumux({"run", "--machine", "rtx2060", "--", GPUMUX_LOADED_CALLS, "./object.so", "add"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

// --- gpumux capture ------------------------------------------------------------------------------------

/// A program that is captured prints what it prints alone, and its bundle takes as long as it does.
class Capture : public LiveRun, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] Outcome capture(const std::string& name, const std::string& file) const {
    return gpumux({"capture", "-o", file, "--machine", "rtx2060", "--", GPUMUX_CALLS, name});
  }
};

TEST_P(Capture, TakesAsLongAsTheProgram) {
  const Outcome live = calls(GetParam(), {"--json", "live.json", "--quiet"});
  const Outcome captured = capture(GetParam(), "a.gmx");
  EXPECT_EQ(captured.code, 0) << captured.err;
  EXPECT_EQ(captured.out, live.out);
  EXPECT_EQ(captured.err.find("captured "), 0U) << captured.err;
  const Outcome bundle = gpumux({"run", "a.gmx", "--machine", "rtx2060", "--json", "bundle.json"});
  EXPECT_EQ(bundle.code, 0) << bundle.err;
  const nlohmann::json of_live = result("live.json");
  const nlohmann::json of_bundle = result("bundle.json");
  EXPECT_EQ(of_bundle["cycles"], of_live["cycles"]);
  EXPECT_EQ(of_bundle["apps"][0]["kernels"], of_live["apps"][0]["kernels"]);
  EXPECT_EQ(of_bundle["gpu"], of_live["gpu"]);
  EXPECT_EQ(capture(GetParam(), "b.gmx").code, 0);
  // Host addresses of registered memory are other ones in each process.
  if (GetParam() != std::string("registered")) {
    EXPECT_EQ(read_file(path("a.gmx")), read_file(path("b.gmx")));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, Capture,
                         testing::Values("add", "symbols", "parameters", "shared", "registered", "registers",
                                         "print", "raw", "units", "arrays", "graph-nodes", "conditions",
                                         "graph-memory", "priorities-launched"));

class Captures : public Capture {};

/// As long as the program until then, with what a GPU lets pass, and without the rest.
TEST_F(Captures, EndWhereKernelsFault) {
  for (const std::string name : {"stray", "claim"}) {
    const Outcome live = calls(name, {"--json", "live.json", "--quiet"});
    const Outcome captured = capture(name, "a.gmx");
    EXPECT_EQ(captured.code, 0) << captured.err;
    EXPECT_EQ(captured.out, live.out);
    EXPECT_EQ(gpumux({"run", "a.gmx", "--machine", "rtx2060", "--json", "bundle.json"}).code, 0);
    EXPECT_EQ(result("bundle.json")["cycles"], result("live.json")["cycles"]) << name;
  }
}

TEST_F(Captures, CheckWhatTheyBringBack) {
  EXPECT_EQ(capture("add", "a.gmx").code, 0);
  const Outcome o = gpumux({"run", "a.gmx", "hotspot:size=61,steps=5", "--policy", "even", "--verify"});
  EXPECT_EQ(o.code, 0) << o.err;
}

TEST_F(Captures, OfProgramsThatFailLeaveNoFile) {
  expect_error(capture("signal", "a.gmx"), 3, "signal 11 (Segmentation fault) ended the program");
  expect_error(gpumux({"capture", "-o", "a.gmx", "--stop-at-errors", "--", GPUMUX_CALLS, "wild"}), 3,
               "kernel wild: invalid");
  expect_error(capture("nothing", "a.gmx"), 2, "launched no kernel: there is nothing to capture");
  expect_error(capture("code", "a.gmx"), 2, "made no CUDA call of a shared run time");
  expect_error(capture("add", "a.bin"), 2, "a.bin: error: the name of a bundle ends in .gmx");
  expect_error(capture("add", "none/a.gmx"), 2, "none/a.gmx");
  expect_error(gpumux({"capture", "-o", "a.gmx"}), 2, "a CUDA program is needed after --");
  EXPECT_FALSE(std::filesystem::exists(path("a.gmx")));
}

TEST_F(Captures, AndRunsOfProgramsAndBundlesLookForRaces) {
  const std::string none = "note: races: none in 1 launch\n";
  const Outcome captured =
      gpumux({"capture", "-o", "a.gmx", "--races", "--machine", "rtx2060", "--", GPUMUX_CALLS, "add"});
  EXPECT_EQ(captured.code, 0);
  EXPECT_NE(captured.err.find(none), std::string::npos) << captured.err;
  EXPECT_EQ(gpumux({"run", "a.gmx", "--races", "--machine", "rtx2060"}).err, none);
  const Outcome live = calls("add", {"--races=warp"});
  EXPECT_EQ(live.code, 0);
  EXPECT_EQ(live.err, none);
}

/// As users do it: nvcc, then gpumux.
TEST_F(LiveRun, ProgramsOfNvcc) {
  std::string nvcc = "nvcc";
  if (std::system("command -v nvcc > /dev/null") != 0) nvcc = "/usr/local/cuda/bin/nvcc";
  if (std::system((nvcc + " --version > /dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "there is no nvcc";
  for (const auto& entry : std::filesystem::directory_iterator(GPUMUX_SOURCE_DIR "/tests/cuda")) {
    if (entry.path().extension() != ".cu") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string built = path(entry.path().stem().string());
    std::string sources = fmt::format("'{}'", entry.path().string());
    // A folder of its name has its other translation units.
    const std::filesystem::path others = std::filesystem::path(entry.path()).replace_extension();
    if (std::filesystem::is_directory(others))
      sources += fmt::format(" -rdc=true '{}'/*.cu", others.string());
    const std::string command =
        fmt::format("{} -cudart shared -arch=compute_75 -lcuda -o '{}' {}", nvcc, built, sources);
    ASSERT_EQ(std::system(command.c_str()), 0);
    const Outcome o = gpumux({"run", "--machine", "rtx2060", "--quiet", "--json", "live.json", "--", built});
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_NE(o.out.find("right\n"), std::string::npos) << o.out;
    EXPECT_EQ(o.err, "");
    // Kept beside it, for where there is no nvcc. GPUMUX_BUNDLES=write makes them anew.
    const std::string fresh = built + ".gmx";
    const std::string usual =
        fmt::format("{} -arch=compute_75 -lcuda -o '{}.static' {}", nvcc, built, sources);
    ASSERT_EQ(std::system(usual.c_str()), 0);
    EXPECT_EQ(gpumux({"run", "--machine", "rtx2060", "--quiet", "--", built + ".static"}).out, o.out);
    const Outcome captured = gpumux({"capture", "--machine", "rtx2060", "-o", fresh, "--", built});
    EXPECT_EQ(captured.code, 0) << captured.err;
    EXPECT_EQ(captured.out, o.out);
    if (const char* write = std::getenv("GPUMUX_BUNDLES"); write != nullptr && std::string(write) == "write")
      write_file_atomically(kept_bundle(entry.path()), read_file(fresh));
    for (const std::string& bundle : {fresh, kept_bundle(entry.path())}) {
      EXPECT_EQ(gpumux({"run", bundle, "--machine", "rtx2060", "--json", "bundle.json"}).code, 0);
      EXPECT_EQ(result("bundle.json")["cycles"], result("live.json")["cycles"]) << bundle;
    }
  }
}

/// Of those programs, without nvcc: what they bring back is what it was, alone and beside others.
TEST_F(LiveRun, BundlesOfProgramsOfNvcc) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUMUX_SOURCE_DIR "/tests/cuda")) {
    if (entry.path().extension() != ".cu") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++seen;
    const std::string bundle = kept_bundle(entry.path());
    const auto run = [&](std::vector<std::string> args) {
      args.insert(args.begin(), {"run", bundle, "--machine", "rtx2060", "--verify"});
      const Outcome o = gpumux(args);
      EXPECT_EQ(o.code, 0) << o.err;
      return o.out;
    };
    run({"--json", "one.json"});
    run({"--json", "two.json"});
    nlohmann::json one = result("one.json"), two = result("two.json");
    EXPECT_EQ(one, two);
    run({"hotspot:size=61,steps=5", "--policy", "even"});
    run({"hotspot:size=61,steps=5", "--policy", "smk-p"});
  }
  EXPECT_EQ(seen, 11);
}

}  // namespace
}  // namespace gpumux::test
