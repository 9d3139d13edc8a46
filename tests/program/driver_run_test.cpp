// `gpumux run -- PROGRAM` with a program that loads PTX itself through CUDA's driver (driver/).
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace gpumux::test {
namespace {

class DriverRun : public CliTest {
 protected:
  [[nodiscard]] Outcome calls(const std::string& name, std::vector<std::string> options = {}) const {
    std::vector<std::string> args = {"run", "--machine", "rtx2060"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", GPUMUX_DRIVER_CALLS, name});
    return gpumux(args);
  }
  [[nodiscard]] static std::string note() {
    return fmt::format("note: {} launched no kernel\n",
                       std::filesystem::path(GPUMUX_DRIVER_CALLS).filename().string());
  }
  void expect_fine(const std::string& name, const std::string& printed, const std::string& said = "") const {
    const Outcome o = calls(name, {"--quiet"});
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_EQ(o.out.find(printed), 0U) << o.out;
    EXPECT_EQ(o.err, said);
  }
  [[nodiscard]] nlohmann::json result(const std::string& file) const {
    return nlohmann::json::parse(read_file(path(file)));
  }
};

TEST_F(DriverRun, AddsVectorsByAllKindsOfLaunches) {
  const Outcome o = calls("add", {"--json", "r.json"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out.find("sums are right\n"), 0U) << o.out;
  EXPECT_EQ(result("r.json")["apps"][0]["blocks_completed"], 3 * 40);
}
TEST_F(DriverRun, PtxInTheProgramsText) { expect_fine("own-text", ""); }
TEST_F(DriverRun, VariablesAndConstantsByAddress) { expect_fine("variables", ""); }
TEST_F(DriverRun, FilesFatBinariesLibrariesAndTheLinker) {
  expect_fine("images", "",
              fmt::format("gpumux: {}.compute_75.ptx:1:1: error: PTX begins with .version\n",
                          std::filesystem::path(GPUMUX_DRIVER_CALLS).filename().string()));
}
TEST_F(DriverRun, CopiesFillsAndPointers) { expect_fine("memory", "", note()); }
TEST_F(DriverRun, MemoryThatTheProgramMapsItself) {
  expect_fine("virtual-memory", "", "gpumux: cuMemCreate of memory of the host is not supported\n");
}
TEST_F(DriverRun, StreamsEventsAndGraphs) { expect_fine("streams", "one "); }
TEST_F(DriverRun, NodesOfGraphs) { expect_fine("graphs", ""); }
TEST_F(DriverRun, ContextsAndTheirMemory) { expect_fine("contexts", "", note()); }
TEST_F(DriverRun, TheDeviceAndItsKernels) {
  expect_fine("properties", "rtx2060: 30 SMs, 7.5, 1024 threads, block 49152 shared\n");
}
TEST_F(DriverRun, FunctionsByName) { expect_fine("entry-points", "", note()); }

TEST_F(DriverRun, ErrorsAreThoseOfCuda) {
  const Outcome o = calls("errors");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  // Of the compiler's log: where in the text.
  EXPECT_NE(o.out.find(".ptx:24:9: error: kernel scale:"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("mul.lo.f99"), std::string::npos) << o.out;
  EXPECT_EQ(o.err, "gpumux: cuMemAlloc is not supported\ngpumux: cuIpcGetMemHandle is not supported\n" +
                       note());  // each once
}

TEST_F(DriverRun, ALibraryWithARunTimeOfItsOwnIsNamed) {
  const Outcome o = calls("export-table");
  EXPECT_EQ(o.code, 3) << o.out << o.err;
  const std::string name = std::filesystem::path(GPUMUX_DRIVER_CALLS).filename().string();
  EXPECT_EQ(
      o.err,
      fmt::format(
          "gpumux: {0} brings a CUDA run time of its own, which is not supported: NVIDIA's libraries have "
          "machine code without PTX; compile your own with -cudart shared\n"
          "note: {0} launched no kernel: those of {0} cannot be simulated\n",
          name));
}

TEST_F(DriverRun, PtxThatIsWrongIsSaidWhereThereIsNoLog) {
  const Outcome o = calls("wrong-text");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find(".ptx:3:1: error: unknown directive '.nonsense'\n"), std::string::npos) << o.err;
}

TEST_F(DriverRun, MachineCodeAloneEndsTheRun) {
  const Outcome o = calls("machine-code");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("machine code alone, which is not executed here"), std::string::npos) << o.err;
}

TEST_F(DriverRun, WithoutGpumuxThereIsNoDevice) {
  const std::string folder =
      std::filesystem::path(GPUMUX_PROGRAM).parent_path().parent_path() / "lib/gpumux/cudart";
  const std::string command =
      fmt::format("LD_LIBRARY_PATH='{}' '{}' add >'{}' 2>&1", folder, GPUMUX_DRIVER_CALLS, path("out"));
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(read_file(path("out")).find("run the program as `gpumux run"), std::string::npos);
  EXPECT_NE(read_file(path("out")).find("CUDA_ERROR_NO_DEVICE"), std::string::npos);
}

/// What is recorded takes as long, and brings back the same.
class DriverCapture : public DriverRun, public testing::WithParamInterface<const char*> {};

TEST_P(DriverCapture, TakesAsLongAsTheProgram) {
  const std::string name = GetParam();
  const Outcome live = calls(name, {"--json", "live.json", "--quiet"});
  EXPECT_EQ(live.code, 0) << live.err;
  const Outcome captured =
      gpumux({"capture", "-o", "a.gmx", "--machine", "rtx2060", "--", GPUMUX_DRIVER_CALLS, name});
  EXPECT_EQ(captured.code, 0) << captured.err;
  EXPECT_EQ(captured.out, live.out);
  const Outcome bundle =
      gpumux({"run", "a.gmx", "--machine", "rtx2060", "--verify", "--json", "bundle.json"});
  EXPECT_EQ(bundle.code, 0) << bundle.err;
  EXPECT_GT(result("live.json")["cycles"], 1000);
  EXPECT_EQ(result("bundle.json")["cycles"], result("live.json")["cycles"]);
  EXPECT_EQ(result("bundle.json")["apps"][0]["kernels"], result("live.json")["apps"][0]["kernels"]);
  EXPECT_EQ(result("bundle.json")["gpu"], result("live.json")["gpu"]);
}

INSTANTIATE_TEST_SUITE_P(Calls, DriverCapture,
                         testing::Values("add", "own-text", "variables", "images", "virtual-memory"));

}  // namespace
}  // namespace gpumux::test
