// A user's kernel: arguments in every form, input and output files, and errors that name the wrong part.
#include "experiment/file_program.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/profile.hpp"
#include "temporary_folder.hpp"

namespace gpumux::experiment {
namespace {

std::string source(const char* name) { return std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/" + name; }
const std::string& temporary_folder() {
  static const test::TemporaryFolder folder;
  return folder.path();
}
std::string temporary(const std::string& name) { return temporary_folder() + "/" + name; }

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

FileKernelSpec spec(const std::string& kernel, std::vector<std::string> args) {
  FileKernelSpec s;
  s.path = source("kernel.ptx");
  s.kernel = kernel;
  s.text = "kernel.ptx:" + kernel;
  s.grid = "2";
  s.block = "32";
  s.args = std::move(args);
  return s;
}

std::string message_of(const FileKernelSpec& s) {
  try {
    (void)file_kernel(s);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

RunResult run(const FileProgram& kernel) {
  RunSpec run;
  run.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
  run.policy = policy::parse_choice("leftover");
  run.apps = {kernel.app};
  return simulate(run);
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i) * 0.25F);
  return values;
}

TEST(FileKernel, RunsOnRawFiles) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const FileProgram kernel = file_kernel(
      spec("scale", {"in:" + temporary("x.bin"), "out:f32[64]=" + temporary("y.bin"), "f32:-1.5", "i32:50"}));
  EXPECT_FALSE(kernel.outputs->complete);
  const RunResult result = run(kernel);
  EXPECT_EQ(result.apps[0].completions, 1U);
  ASSERT_TRUE(kernel.outputs->complete);
  ASSERT_EQ(kernel.outputs->files.size(), 1U);
  EXPECT_EQ(kernel.outputs->files[0].path, temporary("y.bin"));
  std::vector<float> expected = ramp(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = i < 50 ? expected[i] * -1.5F : 0.0F;
  EXPECT_EQ(kernel.outputs->files[0].content, bytes_of(expected));
}

TEST(FileKernel, ReadsAndWritesTextFiles) {
  write_file_atomically(temporary("x.txt"), "1\n0.1\n\n-2e3\n  16777216\ninf\n");
  FileKernelSpec s = spec(
      "scale", {"in:f32[5]=" + temporary("x.txt"), "out:f32[5]=" + temporary("y.txt"), "f32:1", "i32:5"});
  const FileProgram kernel = file_kernel(s);
  (void)run(kernel);
  EXPECT_EQ(kernel.outputs->files.at(0).content, "1\n0.1\n-2000\n16777216\ninf\n");
}

TEST(FileKernel, PassesStructuresByValueAndUpdatesInPlace) {
  write_file_atomically(temporary("by.bin"), bytes_of(std::vector<std::int32_t>{1000, -1}));
  write_file_atomically(temporary("in.txt"), "1\n2\n-5\n2147482647\n");
  FileKernelSpec s = spec("shift", {"inout:i32[4]=" + temporary("in.txt") + "," + temporary("out.txt"),
                                    "bytes:" + temporary("by.bin")});
  s.grid = "1";
  s.block = "4";
  const FileProgram kernel = file_kernel(s);
  (void)run(kernel);
  EXPECT_EQ(kernel.outputs->files.at(0).content, "1000\n1001\n994\n2147483646\n");
}

TEST(FileKernel, ResolvesFilesAgainstItsFolder) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  FileKernelSpec s = spec("scale", {"in:x.bin", "zero:f32[64]", "f32:2", "u32:64"});
  s.folder = temporary_folder();
  EXPECT_EQ(message_of(s), "");
}

TEST(FileKernel, IdentityFollowsContentNotNames) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  write_file_atomically(temporary("z.bin"), bytes_of(ramp(64)));
  const auto identity = [](const std::string& file, const std::string& number) {
    return file_kernel(spec("scale", {"in:" + file, "zero:f32[64]", "f32:" + number, "i32:64"})).app.identity;
  };
  EXPECT_EQ(identity(temporary("x.bin"), "2"), identity(temporary("z.bin"), "2"));
  EXPECT_NE(identity(temporary("x.bin"), "2"), identity(temporary("x.bin"), "3"));
  write_file_atomically(temporary("z.bin"), bytes_of(ramp(65)));
  EXPECT_NE(identity(temporary("x.bin"), "2"), identity(temporary("z.bin"), "2"));
}

TEST(FileKernel, SaysWhatIsWrongWithItsArguments) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  write_file_atomically(temporary("odd.bin"), "abc");
  write_file_atomically(temporary("empty.bin"), "");
  write_file_atomically(temporary("words.txt"), "1\ntwo\n");
  const std::string in = "in:" + temporary("x.bin");
  const auto with = [&](const std::string& first) {
    return message_of(spec("scale", {first, "zero:f32[64]", "f32:1", "i32:64"}));
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(message_of(spec("scale", {in})), "the kernel has 4 parameters; 1 --arg was given");
  has(message_of(spec("scale", {})), "the kernel has 4 parameters; 0 --arg were given");
  has(message_of(spec("scle", {})), "unknown kernel 'scle'; did you mean 'scale'?; known: ");
  has(message_of(spec("scale", {in, "zero:f32[64]", "i32:1", "i32:64"})), "is a floating-point number");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:1", "f32:64"})), "is an integer");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:1", "i64:64"})), "has 4 bytes; this argument has 8");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:1", "zero:i32[1]"})), "is no pointer");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:1", "i32:2147483648"})), "'2147483648' is no i32");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:one", "i32:64"})), "'one' is no f32");
  has(message_of(spec("scale", {in, "zero:f32[64]", "f32:1e99", "i32:64"})), "'1e99' is no f32");
  has(with("i33:5"), "unknown kind of argument 'i33'; did you mean 'i32'?");
  has(with("i32:"), "a value must follow");
  has(with("in:" + temporary("missing.bin")), "cannot be read");
  has(with("in:" + temporary("empty.bin")), "is empty");
  has(with("in:f32=" + temporary("odd.bin")), "has 3 bytes, no whole number of f32");
  has(with("in:f32[63]=" + temporary("x.bin")), "has 64 elements of f32");
  has(with("in:f33[63]=" + temporary("x.bin")), "is no TYPE[N]");
  has(with("in:f32[0]=" + temporary("x.bin")), "is no TYPE[N]");
  has(with("in:" + temporary("words.txt")), "needs their type");
  has(with("in:f32=" + temporary("words.txt")), "words.txt:2:1: error: 'two' is no f32");
  has(with("out:f32[64]"), "write out:TYPE[N]=FILE");
  has(with("out:" + temporary("y.bin")), "write out:TYPE[N]=FILE");
  has(with("zero:f32"), "write zero:TYPE[N]");
  has(with("inout:f32=" + temporary("x.bin")), "two file names");
  has(with("bytes:" + temporary("odd.bin")), "has 8 bytes; this argument has 3");
}

FileKernelSpec with_symbols(const std::string& kernel, std::vector<std::string> args,
                            std::vector<std::string> symbols) {
  FileKernelSpec s = spec(kernel, std::move(args));
  s.path = source("symbols.ptx");
  s.text = "symbols.ptx:" + kernel;
  s.symbols = std::move(symbols);
  s.grid = "1";
  s.block = "4";
  return s;
}

std::vector<std::string> weigh_args() {
  return {"out:f32[4]=" + temporary("y.txt"), "in:f32=" + temporary("four.txt"), "i32:4"};
}

TEST(FileKernel, SetsAndReadsVariablesOfTheModule) {
  write_file_atomically(temporary("four.txt"), "1\n2\n3\n4\n");
  write_file_atomically(temporary("factors.bin"), bytes_of(std::vector<float>{10, 20, 30, 40}));
  const FileProgram kernel =
      file_kernel(with_symbols("weigh", weigh_args(),
                               {"factors=in:" + temporary("factors.bin"), "offset=i32:-1",
                                "launches=out:u32[1]=" + temporary("count.txt")}));
  EXPECT_EQ(kernel.outputs->paths.size(), 2U);
  (void)run(kernel);
  ASSERT_EQ(kernel.outputs->files.size(), 2U);
  EXPECT_EQ(kernel.outputs->files[0].content, "9\n39\n89\n159\n");
  EXPECT_EQ(kernel.outputs->files[1].content, "8\n");  // starts at the 7 of the source
}

TEST(FileKernel, AShorterContentFillsTheBeginningOfAVariable) {
  write_file_atomically(temporary("four.txt"), "1\n2\n3\n4\n");
  write_file_atomically(temporary("two.bin"), bytes_of(std::vector<float>{10, 20}));
  write_file_atomically(temporary("count.txt"), "100\n");
  const FileProgram kernel = file_kernel(
      with_symbols("deep::weigh", weigh_args(),
                   {"factors=in:" + temporary("two.bin"),
                    "launches=inout:u32=" + temporary("count.txt") + "," + temporary("counted.txt")}));
  (void)run(kernel);
  EXPECT_EQ(kernel.outputs->files.at(0).content, "15\n45\n5\n5\n");
  EXPECT_EQ(kernel.outputs->files.at(1).content, "101\n");
}

TEST(FileKernel, VariablesBelongToTheIdentity) {
  write_file_atomically(temporary("four.txt"), "1\n2\n3\n4\n");
  const auto identity = [](const std::string& value) {
    return file_kernel(with_symbols("weigh", weigh_args(), {"offset=i32:" + value})).app.identity;
  };
  EXPECT_EQ(identity("1"), identity("1"));
  EXPECT_NE(identity("1"), identity("2"));
}

TEST(FileKernel, SaysWhatIsWrongWithItsVariables) {
  write_file_atomically(temporary("four.txt"), "1\n2\n3\n4\n");
  const auto with = [&](const std::string& symbol) {
    return message_of(with_symbols("weigh", weigh_args(), {symbol}));
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(with("offset"), "--symbol offset: write NAME=ARG");
  has(with("=i32:4"), "write NAME=ARG");
  has(with("ofset=i32:4"), "unknown variable 'ofset'; did you mean 'offset'?; known: ");
  has(with("offset=i64:4"), "--symbol offset=i64:4: the variable has 4 bytes; this has 8");
  has(with("offset=i32:four"), "--symbol offset i32:four: 'four' is no i32");
  has(with("offset=out:i32[1]=" + temporary("z.bin")), "a constant cannot change");
  has(with("offset=same:1"), "same: is for --arg");
  EXPECT_EQ(with("offset=i16:4"), "");
}

TEST(FileKernel, PassesABufferTwiceAndFromItsMiddle) {
  write_file_atomically(temporary("eight.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  const std::string buffer = "inout:f32=" + temporary("eight.txt") + "," + temporary("out.txt");
  const FileProgram kernel = file_kernel(with_symbols("strided<float, 2>", {buffer, "same:1"}, {}));
  (void)run(kernel);
  EXPECT_EQ(kernel.outputs->files.at(0).content, "1\n3\n5\n7\n5\n6\n7\n8\n");
  const FileProgram shifted = file_kernel(with_symbols("strided<float,1>", {"same:2+8", buffer}, {}));
  const FileProgram upper = file_kernel(with_symbols("strided<float,1>", {"same:2+16", buffer}, {}));
  (void)run(upper);
  EXPECT_EQ(upper.outputs->files.at(0).content, "1\n2\n3\n4\n1\n2\n3\n4\n");
  EXPECT_NE(shifted.app.identity, upper.app.identity);
}

TEST(FileKernel, SaysWhichBufferCannotBePassedAgain) {
  const auto with = [&](const std::string& again) {
    return message_of(with_symbols("strided<float, 1>", {"zero:f32[4]", again}, {}));
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(with("same:0"), "write same:N or same:N+BYTES");
  has(with("same:one"), "write same:N or same:N+BYTES");
  has(with("same:1+x"), "write same:N or same:N+BYTES");
  has(with("same:2"), "argument 2 is no buffer of its own");
  has(with("same:3"), "argument 3 is no buffer of its own");
  has(with("same:1+17"), "the buffer of argument 1 has 16 bytes");
  EXPECT_EQ(with("same:1+16"), "");
}

TEST(FileKernel, SaysWhatIsWrongWithItsLaunch) {
  FileKernelSpec s = spec("outside", {"zero:i32[1]"});
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  s.grid = "";
  has(message_of(s), "kernel.ptx:outside: needs --grid");
  s.grid = "0";
  has(message_of(s), "--grid '0' must be");
  s.grid = "1,2,3,4";
  has(message_of(s), "--grid '1,2,3,4' must be");
  s.grid = "1,65536";
  has(message_of(s), "is too large");
  s.grid = "1";
  s.block = "";
  has(message_of(s), "needs --block");
  s.block = "1025";
  has(message_of(s), "1024 threads in all");
  s.block = "32,32,2";
  has(message_of(s), "1024 threads in all");
  s.block = "32";
  s.shared = "4Q";
  has(message_of(s), "--shared '4Q' must be a size");
  s.shared = "";
  s.path = temporary("missing.ptx");
  has(message_of(s), "cannot be read");
  write_file_atomically(temporary("bad.ptx"),
                        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entyr k()\n");
  s.path = temporary("bad.ptx");
  has(message_of(s), "bad.ptx:4:");
  EXPECT_EQ(message_of(spec("outside", {"zero:i32[1]"})), "");
}

TEST(FileKernel, AWrongAccessIsTheProgramsFault) {
  FileKernelSpec s = spec("outside", {"zero:i32[1]"});
  const FileProgram kernel = file_kernel(s);
  EXPECT_THROW((void)run(kernel), SimulationFault);
  EXPECT_FALSE(kernel.outputs->complete);
}

/// scale(x, y, a, n): y = a * x.
FileKernelSpec scale(const std::string& from, const std::string& to, const std::string& factor) {
  return spec("scale", {from, to, "f32:" + factor, "i32:64"});
}

FileProgramSpec program(std::vector<FileKernelSpec> launches) {
  FileProgramSpec s;
  s.text = "chain";
  s.buffers = {{"x", "in:f32=" + temporary("x.bin")},
               {"y", "zero:f32[64]"},
               {"z", "out:f32[64]=" + temporary("z.bin")}};
  s.launches = std::move(launches);
  return s;
}

std::vector<float> output_of(const FileProgram& program) {
  EXPECT_TRUE(program.outputs->complete);
  EXPECT_EQ(program.outputs->files.size(), 1U);
  std::vector<float> values(program.outputs->files.at(0).content.size() / sizeof(float));
  std::memcpy(values.data(), program.outputs->files.at(0).content.data(), values.size() * sizeof(float));
  return values;
}

std::vector<float> times(float factor) {
  std::vector<float> values = ramp(64);
  for (float& value : values) value *= factor;
  return values;
}

TEST(FileProgram, LaunchesOfAStreamRunInOrderAndShareBuffers) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const FileProgram chain =
      file_program(program({scale("buffer:x", "buffer:y", "2"), scale("buffer:y", "buffer:z", "3")}));
  const RunResult result = run(chain);
  EXPECT_EQ(result.apps[0].app, "chain");
  EXPECT_EQ(output_of(chain), times(6));
}

TEST(FileProgram, RoundsFollowEachOther) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  FileProgramSpec s = program({scale("buffer:x", "buffer:x", "2"), scale("buffer:x", "buffer:z", "1")});
  s.launches[1].stream = 1;
  s.launches[1].after = {1};
  s.repeat = 3;
  const FileProgram rounds = file_program(s);
  const RunResult result = run(rounds);
  EXPECT_EQ(output_of(rounds), times(8));
  EXPECT_EQ(result.apps[0].counters.blocks_completed, 2U * 2U * 3U);
}

TEST(FileProgram, StreamsRunSideBySideUnlessOneWaits) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const auto cycles = [](std::uint64_t stream, std::vector<std::uint64_t> after) {
    FileProgramSpec s = program({scale("buffer:x", "buffer:y", "2"), scale("buffer:x", "buffer:z", "3")});
    s.launches[1].stream = stream;
    s.launches[1].after = std::move(after);
    const FileProgram made = file_program(s);
    const Cycle end = run(made).cycles;
    EXPECT_EQ(output_of(made), times(3));
    return end;
  };
  const Cycle in_order = cycles(0, {});
  EXPECT_EQ(cycles(1, {1}), in_order);
  EXPECT_LT(cycles(1, {}), in_order);
}

TEST(FileProgram, KernelsOfSeveralFilesAndOffsets) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  FileKernelSpec strided = spec("strided<float, 1>", {"buffer:z", "buffer:y+128"});
  strided.path = source("symbols.ptx");
  const FileProgram both = file_program(program({scale("buffer:x", "buffer:y", "1"), strided}));
  EXPECT_NO_THROW((void)run(both));
  EXPECT_NE(both.app.identity, file_program(program({scale("buffer:x", "buffer:y", "1")})).app.identity);
}

TEST(FileProgram, FilesMayBeInMemory) {
  FileProgramSpec s = program({scale("buffer:x", "buffer:z", "2")});
  s.buffers[0].second = "in:f32[64]=array:0";
  s.buffers[2].second = "out:f32[64]=array:1";
  const FilesInMemory files = {{"array:0", bytes_of(ramp(64))}};
  s.files = &files;
  const FileProgram made = file_program(s);
  (void)run(made);
  EXPECT_EQ(made.outputs->files.at(0).path, "array:1");
  EXPECT_EQ(output_of(made), times(2));
}

TEST(FileProgram, TheIdentityTellsProgramsApart) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const FileKernelSpec k = scale("buffer:x", "buffer:y", "2");
  std::map<std::string, std::string> seen;  // identity -> what has it
  const auto is_new = [&](const char* what, const FileProgramSpec& s) {
    const auto [known, inserted] = seen.emplace(file_program(s).app.identity, what);
    EXPECT_TRUE(inserted) << what << " has the identity of " << known->second;
  };
  is_new("three launches", program({k, k, k}));
  FileProgramSpec s = program({k, k, k});
  s.launches[1].stream = s.launches[2].stream = 1;
  is_new("two streams", s);
  s.launches[1].after = {1};
  is_new("the second waits", s);
  s.launches[1].after = {};
  s.launches[2].after = {1};
  is_new("the third waits", s);
  s.repeat = 2;
  is_new("two rounds", s);
  s = program({k, k, k});
  s.buffers[2].second = "zero:f32[64]";
  is_new("nothing is read back", s);
  s.launches[1].args[1] = "buffer:z";
  is_new("another buffer", s);
  s.launches[1].args[1] = "buffer:z+128";
  is_new("its second half", s);
  // A copy of the module has variables of its own; the same file by another path has not.
  write_file_atomically(temporary("copy.ptx"), read_file(source("kernel.ptx")));
  s = program({k, k, k});
  s.launches[1].path = temporary("copy.ptx");
  is_new("a copied module", s);
  s.launches[1].path = std::string(GPUMUX_SOURCE_DIR) + "/tests/../tests/experiment/kernel.ptx";
  EXPECT_TRUE(seen.contains(file_program(s).app.identity));
  // What streams are called does not matter.
  s = program({k, k, k});
  s.launches[1].stream = s.launches[2].stream = 7;
  s.launches[2].after = {1};
  s.repeat = 2;
  EXPECT_EQ(seen[file_program(s).app.identity], "two rounds");
}

TEST(FileProgram, BaselinesAndProfilesLeaveOutputsAlone) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const FileProgram made = file_program(program({scale("buffer:x", "buffer:z", "2")}));
  RunSpec run;
  run.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
  run.policy = policy::parse_choice("ws");
  run.apps = {made.app, builtin_app("add:blocks=1")};
  (void)isolated_ipcs(run, "");
  policy::ProfileRequest request;
  request.depth = policy::ProfileRequest::Depth::Curve;
  request.cycles = 5000;
  (void)profiles(run, request, "");
  EXPECT_FALSE(made.outputs->complete);
  EXPECT_TRUE(made.outputs->files.empty());
  (void)simulate(run);
  EXPECT_EQ(output_of(made), times(2));
}

TEST(FileProgram, ZeroGivesAVariableWithAValueZeroes) {
  write_file_atomically(temporary("four.txt"), "1\n2\n3\n4\n");
  const auto with =
      [](const std::vector<std::string>& symbols) {  // weigh() adds offset, which the module sets
        const FileProgram kernel = file_kernel(with_symbols("weigh", weigh_args(), symbols));
        (void)run(kernel);
        return kernel.outputs->files.at(0).content;
      };
  EXPECT_EQ(with({"offset=zero:i32[1]"}), with({"offset=i32:0"}));
  EXPECT_NE(with({"offset=zero:i32[1]"}), with({}));
}

TEST(FileProgram, SaysWhatIsWrong) {
  write_file_atomically(temporary("x.bin"), bytes_of(ramp(64)));
  const auto message = [](const FileProgramSpec& s) {
    try {
      (void)file_program(s);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto has = [&](const FileProgramSpec& s, const std::string& part) {
    EXPECT_NE(message(s).find(part), std::string::npos) << message(s);
  };
  has(program({scale("buffer:q", "buffer:y", "2")}), "--arg buffer:q: unknown buffer 'q'; known: x, y, z");
  has(program({scale("buffer:", "buffer:y", "2")}), "write buffer:NAME or buffer:NAME+BYTES");
  has(program({scale("buffer:x+257", "buffer:y", "2")}), "the buffer x has 256 bytes");
  has(program(
          {scale("buffer:x", "buffer:y", "2"), spec("scale", {"buffer:x", "buffer:y", "buffer:z", "i32:1"})}),
      "is no pointer");
  FileProgramSpec s = program({scale("buffer:x", "buffer:y", "2"), scale("buffer:x", "buffer:y", "2")});
  EXPECT_EQ(message(s), "");
  s.launches[1].after = {2};
  s.launches[1].where = {"w.toml", 7, 1};
  has(s,
      "w.toml:7:1: error: kernel.ptx:scale: 'after' 2 is no earlier launch; the first is 1, and this is 2");
  s.launches[1].after = {};
  s.launches[1].stream = 128;
  has(s, "stream 128 is not one of 0 to 127");
  s.launches[1].stream = 0;
  s.repeat = 100'000;
  has(s, "100000 rounds of 2 launches are more than 100000");
  s.repeat = (std::uint64_t{1} << 63U) + 1;
  has(s, "rounds of 2 launches are more than 100000");
  s.repeat = 1;
  s.buffers[1].second = "i32:5";
  has(s, "buffer y: 'i32:5' is no buffer");
  s.buffers[1].second = "same:1";
  has(s, "is no buffer");
  s.buffers[1] = {"a b", "zero:f32[64]"};
  has(s, "a buffer's name has no spaces");
  s.buffers[1] = {"y", "out:f32[64]=" + temporary("z.bin")};
  has(s, "two buffers are written to it");
}

TEST(FileKernel, NamesSplitAtTheKernel) {
  std::string path;
  std::string kernel;
  EXPECT_TRUE(split_kernel("dir/a.ptx:k", path, kernel));
  EXPECT_EQ(path, "dir/a.ptx");
  EXPECT_EQ(kernel, "k");
  EXPECT_FALSE(split_kernel("hotspot:size=4", path, kernel));
  EXPECT_FALSE(split_kernel("a.ptx", path, kernel));
}

}  // namespace
}  // namespace gpumux::experiment
