// Faults of simulated programs: exit code 3, a message with the fault and its place, and no result.
#include <string>
#include <vector>

#include "program.hpp"

namespace gpumux::test {
namespace {

const std::string kFaultyKernels = std::string(GPUMUX_SOURCE_DIR) + "/tests/cli/data/faults.ptx";

struct Fault {
  const char* name;
  const char* kernel;
  std::vector<std::string> args;
  std::vector<std::string> parts;  // of the message
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class ProgramAtFault : public CliTest, public testing::WithParamInterface<Fault> {
 protected:
  /// Runs a kernel of faults.ptx; every file that a run may write is asked for.
  [[nodiscard]] Outcome run(const std::string& kernel, std::vector<std::string> args) const {
    args.insert(args.begin(), {"run", kFaultyKernels + ":" + kernel});
    args.insert(args.end(), {"--set", "sms=2", "--json", "a.json", "--stats", "s.csv"});
    return gpumux(args);
  }
  void expect_no_result() const {
    for (const char* name : {"a.json", "s.csv", "y.bin"}) EXPECT_FALSE(exists(name)) << name;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry.path();
    }
  }
};

TEST_P(ProgramAtFault, IsExit3WithOneLineAndNoResult) {
  const Outcome o = run(GetParam().kernel, GetParam().args);
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_EQ(lines(o.err), 1U) << o.err;
  EXPECT_EQ(o.err.substr(0, 7), "error: ");
  EXPECT_NE(o.err.find(std::string("kernel ") + GetParam().kernel + ": "), std::string::npos) << o.err;
  for (const std::string& part : GetParam().parts) {
    EXPECT_NE(o.err.find(part), std::string::npos) << part << " in " << o.err;
  }
  expect_no_result();
}

using Args = std::vector<std::string>;
const Args kOneWarp = {"--grid", "1", "--block", "32", "--arg", "out:i32[64]=y.bin"};

Args with_arguments(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The first word after a buffer of 64: thread 0 of the third block of 32.
const Args kThreeBlocks = {"--grid", "3", "--block", "32"};
const Args kBuffer = {"--arg", "out:i32[64]=y.bin"};

INSTANTIATE_TEST_SUITE_P(
    All, ProgramAtFault,
    testing::Values(
        Fault{"GlobalRead",
              "global_read",
              with_arguments(with_arguments(kThreeBlocks, {"--arg", "zero:i32[64]"}), kBuffer),
              {"invalid global read of 4 bytes at 0x", "just after the end of --arg 1, 256 bytes at 0x",
               "thread (0,0,0) of block (2,0,0)", "pc ", "faults.ptx:"}},
        Fault{"GlobalWrite",
              "global_write",
              with_arguments(kThreeBlocks, kBuffer),
              {"invalid global write of 4 bytes at 0x", "thread (0,0,0) of block (2,0,0)", "pc "}},
        Fault{
            "NullRead", "null_read", kOneWarp, {"invalid global read of 4 bytes at 0x0 ", "thread (0,0,0)"}},
        Fault{"GlobalAtomic",
              "global_atomic",
              {"--grid", "1", "--block", "64", "--arg", "out:u32[64]=y.bin"},
              {"invalid global atomic access of 4 bytes at 0x", "thread (32,0,0) of block (0,0,0)"}},
        Fault{"Misaligned",
              "misaligned",
              {"--grid", "1", "--block", "32", "--arg", "out:u8[256]=y.bin"},
              {"misaligned global write of 4 bytes at 0x", "multiple of 4", "thread (3,0,0)"}},
        Fault{"SharedEnd",
              "shared_outside",
              with_arguments(kOneWarp, {"--arg", "i32:1"}),
              {"invalid shared read of 4 bytes at 0x80", "shared memory of the block, 128 bytes",
               "thread (31,0,0)"}},
        Fault{"SharedFar",
              "shared_outside",
              with_arguments(kOneWarp, {"--arg", "i32:100000"}),
              {"invalid shared read of 4 bytes", "thread (0,0,0)"}},
        Fault{"Local",
              "local_outside",
              with_arguments(kOneWarp, {"--arg", "i32:4096"}),
              {"invalid local write of 4 bytes", "local memory of the thread", "thread (0,0,0)"}},
        Fault{"Trap", "stops", kOneWarp, {"trap, thread (5,0,0) of block (0,0,0), pc "}},
        Fault{"Assert",
              "asserts",
              kOneWarp,
              {"assertion `y[threadIdx.x] != 0 || threadIdx.x < 7` failed at faults.cu:", "thread (7,0,0)"}},
        Fault{"BarrierDeadlock",
              "block_deadlock",
              {"--grid", "1", "--block", "64", "--arg", "out:i32[64]=y.bin"},
              {"barrier deadlock in block (0,0,0): 2 of 2 warps wait", "warp 0 at barrier 1, pc ",
               "warp 1 at barrier 2, pc "}},
        Fault{"EndlessByInstructions",
              "endless",
              with_arguments(kOneWarp, {"--set", "runtime.max_warp_instructions=5000"}),
              {"endless: warp 0 of block (0,0,0) has executed 5", "pc "}}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST_F(ProgramAtFault, EndlessByCyclesSaysWhereItsWarpsAre) {
  const Outcome o = run("endless", with_arguments(kOneWarp, {"--set", "runtime.max_kernel_cycles=20000"}));
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_NE(o.err.find("kernel endless: endless: it has run for more than 20000 cycles "
                       "(runtime.max_kernel_cycles)\n"),
            std::string::npos)
      << o.err;
  EXPECT_NE(o.err.find("kernel endless (slot 0): 1 of 1 blocks dispatched, 0 done\n"), std::string::npos);
  EXPECT_NE(o.err.find("kernel endless block 0 warp 0 waits for memory data of register"), std::string::npos)
      << o.err;
  EXPECT_NE(o.err.find(" (endless+"), std::string::npos) << "the instruction's text: " << o.err;
  expect_no_result();
}

struct SourceLine {
  const char* name;
  const char* kernel;
  std::vector<std::string> args;
  std::vector<std::string> parts;
};

void PrintTo(const SourceLine& fault, std::ostream* out) { *out << fault.name; }

class SourceLines : public CliTest, public testing::WithParamInterface<SourceLine> {};

TEST_P(SourceLines, SaysWhatAStrangerWantsToKnow) {
  const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/cli/data/source_lines.ptx";
  Args args = {"run", file + ":" + GetParam().kernel, "--grid", "1", "--baseline", "off"};
  args.insert(args.end(), {"--set", "sms=2", "--set", "runtime.max_kernel_cycles=20000"});
  const Outcome o = gpumux(with_arguments(args, GetParam().args));
  EXPECT_EQ(o.code, 3) << o.err;
  for (const std::string& part : GetParam().parts)
    EXPECT_NE(o.err.find(part), std::string::npos) << part << " is not in " << o.err;
}

const Args kOneThread = {"--block", "1", "--arg", "zero:i32[64]"};
const Args kWarp = {"--block", "32", "--arg", "zero:i32[64]"};

INSTANTIATE_TEST_SUITE_P(
    All, SourceLines,
    testing::Values(
        SourceLine{"UseAfterFree",
                   "use_after_free",
                   kWarp,
                   {"(16 bytes into a block of 64 bytes at 0x", " that was freed)",
                    "(source_lines.cu:12, source_lines.ptx:"}},
        SourceLine{"DoubleFree",
                   "double_free",
                   kOneThread,
                   {"free of 0x", "(the start of a block of 64 bytes at 0x", " that was freed)",
                    "source_lines.cu:18, "}},
        SourceLine{"InlinedFromAHeader",
                   "atomic_beyond",
                   with_arguments(kWarp, {"--arg", "i32:64"}),
                   {"(just after the end of --arg 1, 256 bytes at 0x", "(source_lines.cu:23 > "}},
        SourceLine{"StackOverflow",
                   "recurses",
                   kWarp,
                   {"stack overflow: calls nest ", " bytes of local memory and stack", "source_lines.cu:"}},
        SourceLine{"WildCall",
                   "wild_call",
                   with_arguments(kWarp, {"--arg", "u64:12345"}),
                   {"call through 0x3039, which is no function's address", "source_lines.cu:45, "}},
        SourceLine{"NullCall",
                   "calls_null",
                   with_arguments(kOneThread, {"--arg", "i32:1"}),
                   {"call through 0x0, which is no function's address", "source_lines.cu:66, "}},
        SourceLine{"StackOverflowInAnArray",
                   "recurses_by_index",
                   with_arguments(kWarp, {"--set", "runtime.max_kernel_cycles=400000"}),
                   {"stack overflow: calls nest ", " bytes of local memory and stack", "source_lines.cu:"}},
        SourceLine{"BeyondAnArray",
                   "beyond_an_array",
                   kWarp,
                   {"invalid local write of 4 bytes", "source_lines.cu:"}},
        SourceLine{"LockInAWarp",
                   "lock_in_warp",
                   kWarp,
                   {"endless: it has run for more than 20000 cycles (runtime.max_kernel_cycles)\nwarp 0 of "
                    "block (0,0,0): "
                    "lanes 1 to 31 at pc ",
                    "source_lines.cu:49", ", looking again and again at 0x",
                    ", the start of the variable lock, 4 bytes at", "; lane 0 waits for them at pc "}},
        SourceLine{"WidePrint",
                   "wide_print",
                   kOneThread,
                   {"printf with a field wider than the 1048576 bytes of the device's buffer",
                    "source_lines.cu:58, "}},
        SourceLine{"NamedFile",
                   "atomic_beyond",
                   {"--block", "32", "--arg", "out:i32[8]=y.bin", "--arg", "i32:8"},
                   {"(just after the end of --arg 1 (y.bin), 32 bytes at 0x"}}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST_F(ProgramAtFault, NoFunctionIsNull) {
  const std::string kernel =
      std::string(GPUMUX_SOURCE_DIR) + "/tests/cli/data/source_lines.ptx:first_is_null";
  const Outcome o =
      gpumux({"run", kernel, "--grid", "1", "--block", "1", "--arg", "out:i32[1]=y.txt", "--set", "sms=1"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(path("y.txt")), "42\n");
}

TEST_F(ProgramAtFault, EndlessIsSaidBeforeTooManyIntervals) {
  const Outcome o = run("endless", with_arguments(kOneWarp, {"--set", "runtime.max_kernel_cycles=400000",
                                                             "--timeline", "t.json", "--series", "3"}));
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_NE(o.err.find("endless: it has run for more than 400000 cycles"), std::string::npos) << o.err;
  EXPECT_FALSE(exists("t.json"));
  expect_no_result();
}

TEST_F(ProgramAtFault, TheHeapHasTheBytesThatTheMachineSays) {
  const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/cli/data/source_lines.ptx";
  const auto blocks_of = [&](const char* heap) {
    const Outcome o =
        gpumux({"run", file + ":all_of_the_heap", "--grid", "1", "--block", "1", "--arg", "out:i32[1]=y.txt",
                "--set", "sms=2", "--set", std::string("runtime.heap_size=") + heap});
    EXPECT_EQ(o.code, 0) << o.err;
    return read_file(path("y.txt"));
  };
  EXPECT_EQ(blocks_of("8M"), "8\n");  // CUDA's default
  EXPECT_EQ(blocks_of("3M"), "3\n");
  EXPECT_EQ(blocks_of("1000K"), "0\n");
}

// A barrier of the whole grid works while all blocks are resident, and never opens when they are not.
TEST_F(ProgramAtFault, AGridBarrierNeedsAllBlocksResident) {
  const Args few = {"--grid", "4", "--block", "1024", "--arg", "zero:i32[1]", "--arg", "out:i32[8192]=y.bin",
                    "--quiet"};
  EXPECT_EQ(run("grid_barrier", few).code, 0);
  EXPECT_TRUE(exists("y.bin"));
  for (const char* name : {"a.json", "s.csv", "y.bin"}) std::filesystem::remove(path(name));

  Args many = few;
  many[1] = "8";  // two SMs hold three each
  const Outcome o = run("grid_barrier", with_arguments(many, {"--set", "runtime.max_kernel_cycles=30000"}));
  EXPECT_EQ(o.code, 3) << o.err;
  EXPECT_NE(o.err.find("6 of 8 blocks dispatched, 0 done"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("warps 1 to 31 wait for barrier 0 (31 arrivals, 32 warps run)"), std::string::npos)
      << "the other warps of a block: " << o.err;
  EXPECT_NE(o.err.find("waits for memory data of register"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find(" (grid_barrier+"), std::string::npos) << o.err;
  EXPECT_LT(lines(o.err), 30U) << o.err;
  expect_no_result();
}

// The fault of one application ends the run of both, and the message says whose it is.
TEST_F(ProgramAtFault, TheMessageNamesTheApplication) {
  const Outcome o = gpumux({"run", "add", kFaultyKernels + ":stops", "--grid", "1", "--block", "32", "--arg",
                            "out:i32[64]=y.bin", "--set", "sms=2", "--json", "a.json"});
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(lines(o.err), 1U);
  EXPECT_EQ(o.err.find("error: app " + kFaultyKernels + ":stops: kernel stops: trap"), 0U) << o.err;
  expect_no_result();
}

}  // namespace
}  // namespace gpumux::test
