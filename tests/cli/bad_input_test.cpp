// Malicious files and arguments: exit code 2, one line with the place and the error, and no result.
#include <string>
#include <vector>

#include "program.hpp"

namespace gpumux::test {
namespace {

const std::string kFaults = std::string(GPUMUX_SOURCE_DIR) + "/tests/cli/data/faults.ptx";
// Of the kernel fine(int* y, int i, float f).
const std::string kFine = kFaults + ":fine";

using Args = std::vector<std::string>;

Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

const Args kShape = {"--grid", "1", "--block", "32"};
const Args kGoodArgs = {"--arg", "out:i32[32]=y.bin", "--arg", "i32:3", "--arg", "f32:0.5"};
const Args kGoodRun = with(with({kFine}, kShape), kGoodArgs);

class BadInput : public CliTest {
 protected:
  /// `start` is how the line begins, `part` what it also says.
  void expect_error(Args args, const std::string& start, const std::string& part) const {
    args = with({"run"}, args);
    if (std::find(args.begin(), args.end(), "--json") == args.end()) {
      args.insert(args.end(), {"--json", "a.json"});
    }
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(lines(o.err), 1U) << o.err;
    EXPECT_EQ(o.err.find(start), 0U) << start << " does not begin " << o.err;
    EXPECT_NE(o.err.find("error: "), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("error: "), o.err.rfind("error: ")) << "marked twice: " << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << part << " is not in " << o.err;
    EXPECT_LT(o.err.size(), 600U) << o.err;
    for (const char* name : {"a.json", "s.csv", "y.bin"}) EXPECT_FALSE(exists(name)) << name;
  }
  /// A kernel of a PTX file with this text.
  void expect_ptx_error(const std::string& text, const std::string& start, const std::string& part) const {
    write_file_atomically(path("k.ptx"), text);
    expect_error(with({"k.ptx:k"}, kShape), start, part);
  }
  /// A machine file with this text, with an application that would run.
  void expect_machine_error(const std::string& text, const std::string& start,
                            const std::string& part) const {
    write_file_atomically(path("m.toml"), text);
    expect_error({"add", "--machine", "m.toml"}, start, part);
  }
};

const std::string kHeader = ".version 7.0\n.target sm_75\n.address_size 64\n";

TEST_F(BadInput, TheGoodCaseIsGood) {
  const Outcome o = gpumux(with({"run", "--set", "sms=2", "--json", "a.json"}, kGoodRun));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(path("y.bin")).size(), 128U);
}

TEST_F(BadInput, PtxThatIsNoPtx) {
  expect_ptx_error("", "k.ptx:1:1: error: ", "");
  expect_ptx_error("\n\n", "k.ptx:", "");
  expect_ptx_error("hello world\n", "k.ptx:1:1: error: ", ".version");
  expect_ptx_error(kHeader + ".visible .entry k(\n{ ret; }\n", "k.ptx:5:1: error: ", "");
  expect_ptx_error(kHeader + ".visible .entry k()\n{\n ret\n}\n", "k.ptx:7:1: error: ", "");
  expect_ptx_error(kHeader + ".visible .entry k()\n{\n  frobnicate.u32 %r1, 2;\n}\n",
                   "k.ptx:6:3: error: ", "frobnicate");
  expect_ptx_error(kHeader + ".visible .entry k()\n{\n  mov.u32 %r1, 2;\n}\n", "k.ptx:6:", "%r1");
  expect_ptx_error(kHeader + ".visible .entry k()\n{\n  bra nowhere;\n}\n", "k.ptx:6:", "nowhere");
  expect_ptx_error(kHeader + ".visible .entry k()\n{\n", "k.ptx:", "");
  expect_ptx_error(kHeader + "/* no end", "k.ptx:4:1: error: ", "");
}

TEST_F(BadInput, PtxOfBinaryGarbage) {
  std::string garbage;
  std::uint32_t state = 1;
  for (int i = 0; i < 4096; ++i) {
    state = state * 1664525U + 1013904223U;
    garbage += static_cast<char>(state >> 24U);
  }
  expect_ptx_error(garbage, "k.ptx:1:", "");
  expect_ptx_error(std::string(1000, '\0'), "k.ptx:1:1: error: ", "");
  expect_ptx_error(std::string("\x7f"
                               "ELF\x02\x01\x01",
                               7) +
                       std::string(64, '\0'),
                   "k.ptx:1:1: error: ", "");
}

TEST_F(BadInput, ATruncatedFile) {
  const std::string whole = read_file(kFaults);
  std::uint32_t tried = 0;
  for (std::size_t size = 100; size < whole.size(); size += 1511) {
    // Cut between two functions it is a whole module without the kernel.
    expect_ptx_error(whole.substr(0, size), "k.ptx", "");
    ++tried;
  }
  EXPECT_GE(tried, 5U);
}

TEST_F(BadInput, PtxThatIsNoFile) {
  std::filesystem::create_directories(path("folder.ptx"));
  expect_error(with({"folder.ptx:k"}, kShape), "folder.ptx: error: ", "is a folder");
  expect_error(with({"none.ptx:k"}, kShape), "none.ptx: error: ", "cannot be read");
  expect_error({"folder.ptx"}, "error: folder.ptx: ", "say which kernel");
}

TEST_F(BadInput, Kernels) {
  expect_error(with({kFaults + ":fin"}, kShape), kFaults + ": error: ", "did you mean 'fine'?");
  expect_error(with({kFaults + ":"}, kShape), kFaults, "kernel");
}

TEST_F(BadInput, CountsAndTypesOfArguments) {
  const Args none = with({kFine}, kShape);
  const auto bad = [&](const Args& args, const std::string& part) {
    Args all = none;
    for (const std::string& arg : args) all.insert(all.end(), {"--arg", arg});
    expect_error(all, "error: ", part);
  };
  bad({}, "the kernel has 3 parameters; 0 --arg were given");
  bad({"zero:i32[32]"}, "the kernel has 3 parameters; 1 --arg was given");
  bad({"zero:i32[32]", "i32:1", "f32:1", "f32:1"}, "the kernel has 3 parameters; 4");
  bad({"zero:i32[32]", "f32:1", "f32:1"}, "parameter 2 (fine_param_1, .u32) is an integer");
  bad({"zero:i32[32]", "i32:1", "i32:1"}, "parameter 3 (fine_param_2, .f32) is a floating-point");
  bad({"zero:i32[32]", "i64:1", "f32:1"}, "has 4 bytes; this argument has 8");
  bad({"i32:1", "i32:1", "f32:1"}, "has 8 bytes; this argument has 4");
  bad({"zero:i32[32]", "zero:i32[32]", "f32:1"}, "is no pointer");
  bad({"zero:i32[32]", "i32:1.5", "f32:1"}, "'1.5' is no i32");
  bad({"zero:i32[32]", "i32:3000000000", "f32:1"}, "'3000000000' is no i32");
  bad({"zero:i32[32]", "i32:", "f32:1"}, "a value must follow 'i32:'");
  bad({"zero:i32[32]", "int:1", "f32:1"}, "int");
  bad({"zero:i32[32]", "i32:1", "f32:one"}, "'one' is no f32");
}

TEST_F(BadInput, Buffers) {
  write_file_atomically(path("x.bin"), std::string(130, 'x'));
  write_file_atomically(path("e.bin"), "");
  write_file_atomically(path("x.txt"), "1\n2\nthree\n");
  const auto bad = [&](const std::string& arg, const std::string& start, const std::string& part) {
    expect_error(with(with({kFine}, kShape), {"--arg", arg, "--arg", "i32:3", "--arg", "f32:0.5"}), start,
                 part);
  };
  bad("in:i32=x.bin", "x.bin: error: ", "has 130 bytes, no whole number of i32");
  bad("in:i16[64]=x.bin", "x.bin: error: ", "has 65 elements of i16");
  bad("in:i32=e.bin", "e.bin: error: ", "is empty");
  bad("in:none.bin", "none.bin: error: ", "cannot be read");
  bad("in:i32=x.txt", "x.txt:3:1: error: ", "'three' is no i32");
  bad("in:x.txt", "error: --arg in:x.txt: ", "type");
  bad("out:i32[32]", "error: --arg out:i32[32]: ", "out:TYPE[N]=FILE");
  bad("out:i32=y.bin", "error: --arg ", "out:TYPE[N]=FILE");
  bad("out:i32[0]=y.bin", "error: --arg ", "N 1 to 4294967296");
  bad("zero:i32[-1]", "error: --arg ", "N 1 to 4294967296");
  bad("zero:f32[99999999999999999999]", "error: --arg ", "N 1 to 4294967296");
  bad("zero:f32[4294967297]", "error: --arg ", "N 1 to 4294967296");
  bad("zero:q32[4]", "error: --arg ", "TYPE is one of");
  bad("inout:i32=x.bin", "error: --arg ", "IN,OUT");
  bad("out:i32[32]=a.json", "a.json: error: ", "would be written twice");
}

// Memory that is only reserved costs nothing, so a huge buffer works as on a GPU with as much memory.
TEST_F(BadInput, HugeBuffersAreReservedOrRefused) {
  const Args huge =
      with(with({kFine}, kShape), {"--arg", "zero:f64[4294967296]", "--arg", "i32:3", "--arg", "f32:0.5"});
  const Outcome o = gpumux(with({"run", "--set", "sms=2", "--quiet"}, huge));
  EXPECT_EQ(o.code, 0) << o.err;
  expect_error(with(with({kFaults + ":global_read"}, kShape),
                    {"--arg", "zero:f64[4294967296]", "--arg", "zero:f64[4294967296]"}),
               "error: --arg zero:f64[4294967296]: ", "the device's memory holds");
}

TEST_F(BadInput, Launches) {
  const auto bad = [&](const Args& shape, const std::string& part) {
    expect_error(with(with({kFine}, shape), kGoodArgs), "error: ", part);
  };
  bad({"--grid", "0", "--block", "32"}, "--grid '0' must be");
  bad({"--grid", "1,0", "--block", "32"}, "--grid '1,0' must be");
  bad({"--grid", "1,1,1,1", "--block", "32"}, "must be X, X,Y or X,Y,Z");
  bad({"--grid", "-1", "--block", "32"}, "--grid '-1' must be");
  bad({"--grid", "x", "--block", "32"}, "--grid 'x' must be");
  bad({"--grid", "1,65536", "--block", "32"}, "too large");
  bad({"--grid", "99999999999", "--block", "32"}, "--grid '99999999999'");
  bad({"--grid", "1", "--block", "0"}, "--block '0' must be");
  bad({"--grid", "1", "--block", "1025"}, "too large");
  bad({"--grid", "1", "--block", "32,33"}, "too large");
  bad({"--grid", "1", "--block", "1,1,65"}, "too large");
  bad({"--grid", "1"}, "needs --block");
  bad({"--block", "32"}, "needs --grid");
  bad({"--grid", "1", "--grid", "2", "--block", "32"}, "--grid is given twice");
  bad({"--grid", "1", "--block", "32", "--shared", "97K"}, "shared memory");
  bad({"--grid", "1", "--block", "32", "--shared", "2M"}, "--shared '2M'");
  bad({"--grid", "1", "--block", "32", "--shared", "much"}, "--shared 'much'");
  bad({"--grid", "1", "--block", "1024", "--set", "sm.registers=1024"}, "registers");
}

TEST_F(BadInput, MachineFiles) {
  expect_machine_error("sms = 0\n", "m.toml:1:7: error: ", "1 to 1024");
  expect_machine_error("sms = \"two\"\n", "m.toml:1:7: error: ", "a whole number");
  expect_machine_error("sms = 2\n[l1]\nsiez = 3\n", "m.toml:3:1: error: ", "did you mean 'size'?");
  expect_machine_error("[sm]\nmax_warps = 16\nmax_threads = 1024\n",
                       "m.toml:3:15: error: ", "sm.max_warps = 16 holds 512 threads");
  expect_machine_error("[l1]\nsize = \"10000\"\n", "m.toml:2:8: error: ", "no whole number of sets");
  expect_machine_error("[dram]\nRCD = 100\n", "m.toml:2:7: error: ", "exceeds dram.RAS");
  expect_machine_error("[dram]\nREFI = 1000\n", "m.toml:2:8: error: ", "refresh");
  expect_machine_error("[dram]\naddress_map = \"RBX\"\n",
                       "m.toml:2:15: error: ", "'X' is no letter of a bit");
  expect_machine_error("sms = = 3\n", "m.toml:1:", "");
  expect_machine_error("base = \"none\"\n", "m.toml:1:", "none");
  expect_machine_error(std::string("sms = 2\n\0\n", 10), "m.toml:2:1: error: ", "");
  std::filesystem::create_directories(path("f.toml"));
  expect_error({"add", "--machine", "f.toml"}, "f.toml: error: ", "folder");
  expect_error({"add", "--set", "l1.size=10000"}, "--set l1.size=10000: error: ", "no whole number of sets");
  expect_error({"add", "--set", "sms"}, "--set sms: error: ", "KEY=VALUE");
}

TEST_F(BadInput, WorkloadFiles) {
  const auto bad = [&](const std::string& text, const std::string& start, const std::string& part) {
    write_file_atomically(path("w.toml"), text);
    expect_error({"w.toml"}, start, part);
  };
  bad("", "w.toml", "apps");
  bad("[[apps]]\napp = 3\n", "w.toml:2:7: error: ", "");
  bad("[[apps]]\nap = \"add\"\n", "w.toml:2:1: error: ", "unknown key in [[apps]] 'ap'");
  bad("cycles = -5\n[[apps]]\napp = \"add\"\n", "w.toml:1:10: error: ", "");
  bad("[[apps]]\napp = \"add\"\ngrid = 3\n", "", "--grid is for kernels of PTX files");
  bad("policy = \"evn\"\n[[apps]]\napp = \"add\"\n", "", "did you mean 'even'?");
}

TEST_F(BadInput, OptionsBoundToTheWrongApplication) {
  expect_error(with(kGoodRun, {"add", "--arg", "i32:5"}), "error: --arg is for kernels of PTX files", "add");
  expect_error(with({"add", "--arg", "i32:5"}, kGoodRun), "error: --arg is for kernels of PTX files", "add");
  // The last argument of the first kernel is given to the second.
  Args moved = with(with({kFine}, kShape), {"--arg", "zero:i32[32]", "--arg", "i32:3"});
  moved = with(with(moved, {kFine}), kShape);
  moved = with(with(moved, {"--arg", "f32:0.5"}), {"--arg", "zero:i32[32]", "--arg", "i32:3"});
  expect_error(moved, "error: " + kFine + ": ", "the kernel has 3 parameters; 2");
  expect_error(with(kGoodRun, kGoodRun), "y.bin: error: ", "would be written twice");
}

TEST_F(BadInput, PoliciesAndResults) {
  expect_error(with(kGoodRun, {"--policy", "evn"}), "error: unknown policy 'evn'", "did you mean 'even'?");
  expect_error(with(kGoodRun, {"--policy", ""}), "error: ", "policy");
  expect_error(with(kGoodRun, {"--policy", "even,warps=x"}), "error: ", "x");
  expect_error(with(kGoodRun, {"--policy", "even-smil:k0=0"}),
               "error: ", "k0='0' must be an integer from 1 to 24");
  expect_error(with(kGoodRun, {"--policy", "even-smil:k1=3"}),
               "error: ", "k1=3, but the run has 1 application");
  expect_error(with(kGoodRun, {"--policy", "even,memory=x"}), "error: ", "unknown memory scheme 'x'");
  expect_error(with(kGoodRun, {"--json", "/proc/a.json"}), "/proc/a.json: error: cannot be written", "");
  expect_error(with(kGoodRun, {"--json", "none/a.json"}), "none/a.json: error: cannot be written", "none");
  expect_error(with(kGoodRun, {"--json", "."}), ".: error: ", "is a folder");
  expect_error(with(kGoodRun, {"--json", "b", "--stats", "./b"}), "./b: error: ", "would be written twice");
}

}  // namespace
}  // namespace gpumux::test
