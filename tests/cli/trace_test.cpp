// Traces on the command line: convert, runs alone and with other applications, inspect.
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "program.hpp"

namespace gpumux::test {
namespace {

/// A trace of `blocks` blocks of one warp: a load, two FADD, a store; 5 instructions each with EXIT.
std::string kernel_text(int blocks) {
  std::string text = "-kernel name = axpy\n-kernel id = 1\n-grid dim = (" + std::to_string(blocks) +
                     ",1,1)\n-block dim = (32,1,1)\n-shmem = 1024\n-nregs = 24\n-binary version = 70\n"
                     "-cuda stream id = 0\n-accelsim tracer version = 4\n#traces format = PC mask ...\n";
  for (int b = 0; b < blocks; ++b) {
    text += "#BEGIN_TB\nthread block = " + std::to_string(b) + ",0,0\nwarp = 0\ninsts = 5\n" +
            "0000 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x7f010" + std::to_string(1000 + b) + "000 4 0\n" +
            "0010 ffffffff 1 R4 FADD 2 R4 R4 0 0\n0020 ffffffff 1 R4 FADD 2 R4 R4 0 0\n" +
            "0030 ffffffff 0 STG.E.SYS 2 R2 R4 4 1 0x7f020" + std::to_string(1000 + b) + "000 4 0\n" +
            "0040 ffffffff 0 EXIT 0 0 0\n#END_TB\n";
  }
  return text;
}

class TraceCommands : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::filesystem::create_directories(path("t"));
    write_file_atomically(path("t/kernelslist.g"),
                          "MemcpyHtoD,0x7f0100000000,4096\nkernel-1.traceg\nkernel-1.traceg\n");
    write_file_atomically(path("t/kernel-1.traceg"), kernel_text(30));
  }
  [[nodiscard]] nlohmann::json result() const { return nlohmann::json::parse(read_file(path("r.json"))); }
};

constexpr std::uint64_t kInstructions = 2 * 30 * 5;

TEST_F(TraceCommands, FolderAndCompactFormGiveTheSame) {
  const Outcome convert = gpumux({"convert", "t", "-o", "t.gmt"});
  EXPECT_EQ(convert.code, 0) << convert.err;
  EXPECT_NE(convert.out.find("2 launches, 300 warp instructions"), std::string::npos) << convert.out;
  std::vector<nlohmann::json> results;
  for (const char* app : {"t", "t.gmt", "t/kernelslist.g"}) {
    const Outcome run = gpumux({"run", app, "--machine", "v100", "--set", "sms=4", "--json", "r.json"});
    ASSERT_EQ(run.code, 0) << run.err;
    nlohmann::json r = result();
    EXPECT_EQ(r["apps"][0]["warp_instructions"], kInstructions);
    r["apps"][0].erase("app");
    results.push_back(std::move(r));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_F(TraceCommands, AnyListMayBeNamedAndOthersAreMentioned) {
  write_file_atomically(path("t/kernelslist_ctx_0xb.g"), "kernel-1.traceg\n");
  const auto instructions = [&](const char* app, const std::string& note) {
    const Outcome run = gpumux({"run", app, "--machine", "v100", "--set", "sms=4", "--json", "r.json"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.err.find(note), std::string::npos) << run.err;
    return result()["apps"][0]["warp_instructions"].get<std::uint64_t>();
  };
  EXPECT_EQ(
      instructions("t", "note: t: other lists of kernels beside it are not run: t/kernelslist_ctx_0xb.g\n"),
      kInstructions);
  EXPECT_EQ(instructions("t/kernelslist_ctx_0xb.g", "are not run: t/kernelslist.g\n"), kInstructions / 2);
  const Outcome convert = gpumux({"convert", "t", "-o", "t.gmt"});
  EXPECT_NE(convert.err.find("note: t: other lists of kernels beside it are not converted: "),
            std::string::npos)
      << convert.err;
  EXPECT_EQ(gpumux({"convert", "t", "-o", "t.gmt", "--quiet"}).err, "");
  EXPECT_EQ(gpumux({"run", "t", "--machine", "v100", "--set", "sms=4", "--quiet"}).err, "");
  const Outcome compact =
      gpumux({"run", "t.gmt", "--machine", "v100", "--set", "sms=4", "--progress", "off"});
  EXPECT_EQ(compact.code, 0);
  EXPECT_EQ(compact.err, "");
}

TEST_F(TraceCommands, WhatIsNotTimedIsSaidAndCounted) {
  const std::string text = read_file(path("t/kernel-1.traceg"));
  std::string other = text;
  const std::size_t first = other.find("\n", other.find("insts = ")) + 1;
  other.replace(first, other.find("\n", first) - first, "0000 ffffffff 0 UTMALDG.2D 2 R8 R10 0 0");
  write_file_atomically(path("t/kernel-1.traceg"), other);
  const Outcome run = gpumux({"run", "t", "--machine", "v100", "--set", "sms=4", "--json", "r.json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(
      run.err.find("note: t: 2 of 300 warp instructions are not timed as on a GPU (UTMALDG): bulk copies "
                   "without addresses in the trace move no bytes\n"),
      std::string::npos)
      << run.err;
  EXPECT_EQ(result()["apps"][0]["untimed_warp_instructions"], 2);
  write_file_atomically(path("t/kernel-1.traceg"), text);
  EXPECT_EQ(gpumux({"run", "t", "--machine", "v100", "--set", "sms=4", "--json", "r.json", "--quiet"}).err,
            "");
  EXPECT_FALSE(result()["apps"][0].contains("untimed_warp_instructions"));
}

TEST_F(TraceCommands, DamagedKernelsAreLeftOutOnDemand) {
  write_file_atomically(path("t/kernelslist.g"),
                        "kernel-1.traceg\nkernel-1.traceg\nkernel-7.traceg\nMemsetD8,1\n");
  const Outcome refused = gpumux({"convert", "t", "-o", "t.gmt"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("no file kernel-7.traceg in t; gpumux convert --skip-damaged leaves out"),
            std::string::npos)
      << refused.err;
  const Outcome convert = gpumux({"convert", "t", "-o", "t.gmt", "--skip-damaged"});
  EXPECT_EQ(convert.code, 0) << convert.err;
  EXPECT_NE(convert.err.find(
                "warning: kernel kernel-7.traceg is left out: t/kernelslist.g:3: error: there is no file"),
            std::string::npos)
      << convert.err;
  EXPECT_NE(convert.err.find("warning: t/kernelslist.g:4: 'MemsetD8,1' is left out"), std::string::npos)
      << convert.err;
  EXPECT_NE(convert.err.find("1 of 3 kernels are left out\n"), std::string::npos) << convert.err;
  EXPECT_NE(convert.out.find("2 launches"), std::string::npos) << convert.out;
  write_file_atomically(path("t/kernelslist.g"), "kernel-1.traceg\nMemsetD8,1\n");
  const Outcome run = gpumux({"run", "t", "--machine", "v100", "--set", "sms=4"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.err.find("note: t/kernelslist.g:2: 'MemsetD8,1' is left out"), std::string::npos) << run.err;
}

TEST_F(TraceCommands, WithOthersUnderEveryPolicy) {
  ASSERT_EQ(gpumux({"convert", "t", "-o", "t.gmt", "--quiet"}).code, 0);
  for (const char* policy : {"sequential", "leftover", "spatial", "even"}) {
    const Outcome run = gpumux({"run", "t.gmt", "add:blocks=8,loops=1", "t", "--machine", "v100", "--set",
                                "sms=4", "--policy", policy, "--cycles", "60000", "--json", "r.json"});
    ASSERT_EQ(run.code, 0) << run.err;
    const nlohmann::json r = result();
    for (const int app : {0, 2}) {
      const std::uint64_t completions = r["apps"][app]["completions"];
      EXPECT_GE(completions, 1U) << policy;
      EXPECT_GE(r["apps"][app]["warp_instructions"].get<std::uint64_t>(), completions * kInstructions)
          << policy;
      EXPECT_GT(r["apps"][app]["normalized_ipc"].get<double>(), 0.0);
    }
  }
}

TEST_F(TraceCommands, ThreadsChangeNothing) {
  std::vector<nlohmann::json> results;
  for (const char* threads : {"1", "2", "4"}) {
    ASSERT_EQ(gpumux({"run", "t", "t", "--machine", "v100", "--cycles", "40000", "--threads", threads,
                      "--json", "r.json", "--quiet"})
                  .code,
              0);
    nlohmann::json r = result();
    results.push_back(std::move(r));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_F(TraceCommands, WorkloadFilesNameThem) {
  write_file_atomically(path("t/w.toml"), "machine = \"v100\"\n[[apps]]\napp = \"../t\"\n");
  const Outcome run = gpumux({"run", "t/w.toml", "--json", "r.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(result()["apps"][0]["warp_instructions"], kInstructions);
}

TEST_F(TraceCommands, Inspect) {
  const Outcome text = gpumux({"inspect", "t", "--machine", "v100", "--disassemble"});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"axpy", "launches       2", "24 per thread", "1024 bytes per block", "30x1x1 blocks of 32x1x1",
        "LDG.E.SYS R4, R2", "4096 bytes copied to the device"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in " << text.out;
  }
  const Outcome as_json = gpumux({"inspect", "t", "--json"});
  EXPECT_EQ(as_json.code, 0) << as_json.err;
  const nlohmann::json document = nlohmann::json::parse(as_json.out);
  EXPECT_EQ(document["warp_instructions"], kInstructions);
  EXPECT_EQ(document["kernels"][0]["instruction_mix"]["sp"], 60);
  EXPECT_GE(document["kernels"][0]["phases"]["count"], 2);
}

// What is not UTF-8 is shown with replacement characters.
TEST_F(TraceCommands, NamesOfAnyBytes) {
  write_file_atomically(
      path("t/kernel-1.traceg"),
      "-kernel name = a\xff\n" + kernel_text(30).substr(sizeof("-kernel name = axpy\n") - 1));
  EXPECT_EQ(gpumux({"inspect", "t"}).code, 0);
  EXPECT_TRUE(nlohmann::json::accept(gpumux({"inspect", "t", "--json"}).out));
  std::filesystem::rename(path("t"), path("t\xff"));
  const Outcome run =
      gpumux({"run", "--machine", "v100", "--baseline", "off", "t\xff", "--json", "run.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(nlohmann::json::accept(read_file(path("run.json"))));
}

TEST_F(TraceCommands, WrongUse) {
  const auto expect = [&](const std::vector<std::string>& args, const std::string& part) {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(lines(o.err), 1U) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  };
  expect({"run", "t", "--verify"}, "a trace holds no data");
  expect({"run", "t", "--grid", "1"}, "--grid is for kernels of PTX files; t is a trace");
  expect({"run", "none.gmt"}, "none.gmt: error: cannot be read");
  expect({"convert", "none", "-o", "x.gmt"}, "no such trace folder");
  expect({"convert", "t/none", "-o", "x.gmt"}, "no such trace folder");
  expect({"convert", "t/kernel-1.traceg", "-o", "x.gmt"},
         "neither a trace folder nor a kernelslist*.g of one");
  ASSERT_EQ(::mkfifo(path("pipe.gmt").c_str(), 0600), 0);
  expect({"run", "pipe.gmt"}, "no regular file");
  std::filesystem::create_directories(path("p"));
  ASSERT_EQ(::mkfifo(path("p/kernelslist.g").c_str(), 0600), 0);
  expect({"convert", "p", "-o", "x.gmt"}, "is a pipe");
  expect({"convert", "t", "-o", "x.bin"}, "must end in .gmt");
  expect({"convert", "t", "-o", "none/x.gmt"}, "there is no folder");
  expect({"inspect", "t", "--block", "32"}, "a trace has its own");
  expect({"run", "t", "--machine", "v100", "--set", "sm.shared_size=512"}, "no SM of v100");
  write_file_atomically(path("t/kernel-1.traceg"), kernel_text(30).substr(0, 700));
  expect({"convert", "t", "-o", "x.gmt"}, "t/kernel-1.traceg:");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find("x."), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace gpumux::test
