// The recorder's trace of a program whose exact instructions are known.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cpu/trace/file_trace.hpp"
#include "cpu/trace/trace_writer.hpp"
#include "tests/cpu/trace_files.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux::cpu::test {
namespace {

constexpr std::uint8_t kRax = 10;
constexpr std::uint8_t kRbx = 7;
constexpr std::uint8_t kRcx = 9;
constexpr std::uint8_t kRdx = 8;
constexpr std::uint8_t kXmm1 = 65;

class Recorded : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v qemu-x86_64 > /dev/null") != 0) GTEST_SKIP() << "there is no qemu-x86_64";
    if (std::system("qemu-x86_64 -help | grep -q -e -plugin") != 0)
      GTEST_SKIP() << "qemu-x86_64 takes no plugins";
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// The exit code; what it says is in the file `said`.
  [[nodiscard]] int record(const std::string& settings, const std::string& program = GPUMUX_COUNTED) const {
    const std::string command = "qemu-x86_64 -plugin " GPUMUX_RECORDER "," + settings + " " + program +
                                " > " + path("said") + " 2>&1";
    return WEXITSTATUS(std::system(command.c_str()));
  }
  [[nodiscard]] std::string said() const {
    std::ifstream in(path("said"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] static std::vector<Record> read(const std::string& path) {
    std::vector<Record> records;
    const std::uint64_t count = check_trace(path);
    FileTrace trace(path);
    while (records.size() < count) {
      const std::span<const Record> chunk = trace.next();
      records.insert(records.end(), chunk.begin(), chunk.end());
    }
    return records;
  }
  gpumux::test::TemporaryFolder folder_;
};

void expect(const Record& record, std::array<std::uint8_t, 4> from, std::array<std::uint8_t, 2> to,
            std::uint64_t load, std::uint64_t store) {
  EXPECT_EQ(record.source_registers, from);
  EXPECT_EQ(record.destination_registers, to);
  EXPECT_EQ(record.source_memory, (std::array<std::uint64_t, 4>{load}));
  EXPECT_EQ(record.destination_memory, (std::array<std::uint64_t, 2>{store}));
}

TEST_F(Recorded, EveryInstructionWithItsRegistersAndAddresses) {
  ASSERT_EQ(record("out=" + path("t.zst")), 0) << said();
  const std::vector<Record> records = read(path("t.zst"));
  // Two before the loop, three times ten in it (three of them in the leaf), four after it.
  ASSERT_EQ(records.size(), 2U + 30 + 4);
  expect(records[0], {}, {kRcx}, 0, 0);
  expect(records[1], {}, {kRbx}, 0, 0);
  const std::uint64_t words = records[3].destination_memory[0];
  EXPECT_EQ(words % 256, 0U);
  const std::uint64_t stack = records[4].destination_memory[0];
  for (unsigned i = 0; i < 3; ++i) {
    const Record* round = &records[2 + 10 * i];
    expect(round[0], {kRbx, kRcx}, {kRax}, words + (3 - i) * 8, 0);
    expect(round[1], {kRbx, kRax}, {kFlags}, words, words);
    expect(round[2], {kStackPointer, kRax}, {kStackPointer}, 0, stack);
    expect(round[3], {kStackPointer, kInstructionPointer}, {kInstructionPointer, kStackPointer}, 0,
           stack - 8);
    EXPECT_EQ(round[3].is_branch, 1);
    EXPECT_EQ(round[3].branch_taken, 1);
    expect(round[4], {kRbx}, {kXmm1}, words, 0);
    expect(round[5], {kRbx, kXmm1}, {}, 0, words + 128);
    expect(round[6], {kStackPointer}, {kInstructionPointer, kStackPointer}, stack - 8, 0);
    EXPECT_EQ(round[6].branch_taken, 1);
    expect(round[7], {kStackPointer}, {kStackPointer, kRdx}, stack, 0);
    expect(round[8], {kRcx}, {kRcx, kFlags}, 0, 0);
    expect(round[9], {kInstructionPointer, kFlags}, {kInstructionPointer}, 0, 0);
    EXPECT_EQ(round[9].is_branch, 1);
    EXPECT_EQ(round[9].branch_taken, i < 2 ? 1 : 0);
    EXPECT_EQ(round[9].ip, records[11].ip);
    for (unsigned k = 0; k < 10; ++k) EXPECT_EQ(round[k].is_branch, k == 3 || k == 6 || k == 9 ? 1 : 0);
  }
  expect(records[32], {kRbx, kRax}, {kFlags}, words + 64, words + 64);
  EXPECT_EQ(records[33].ip, records[32].ip + 5);
}

TEST_F(Recorded, PartsOfARun) {
  ASSERT_EQ(record("out=" + path("all")), 0) << said();
  const std::vector<Record> all = read(path("all"));
  ASSERT_EQ(record("out=" + path("part") + ",skip=5,limit=7"), 0) << said();
  const std::vector<Record> part = read(path("part"));
  ASSERT_EQ(part.size(), 7U);
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(part[i].ip, all[5 + i].ip);
  // More than there is: all of it.
  ASSERT_EQ(record("out=" + path("part") + ",limit=1000000"), 0) << said();
  EXPECT_EQ(read(path("part")).size(), all.size());
}

TEST_F(Recorded, ProgramsOfThisComputer) {
  ASSERT_EQ(record("out=" + path("t.zst"), "/bin/sh -c 'echo $((6 * 7)); (echo child); exit 3'"), 3)
      << said();
  EXPECT_EQ(said(), "42\nchild\n");
  const std::vector<Record> records = read(path("t.zst"));
  EXPECT_GT(records.size(), 50000U);
  std::uint64_t loads = 0;
  std::uint64_t branches = 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    loads += records[i].source_memory[0] != 0 ? 1U : 0U;
    branches += records[i].is_branch;
    // What is no branch, or is not taken, goes on behind; but for the signal of the child's end, and the way
    // back.
    if (i == 0 || records[i - 1].branch_taken != 0) continue;
    wrong += records[i].ip - records[i - 1].ip > 15 ? 1U : 0U;
  }
  EXPECT_GT(loads, records.size() / 8);
  EXPECT_GT(branches, records.size() / 12);
  EXPECT_LE(wrong, 2U);
}

TEST_F(Recorded, WrongSettingsAreRefused) {
  const auto refused = [this](const std::string& settings, const std::string& why) {
    EXPECT_NE(record(settings), 0);
    EXPECT_NE(said().find(why), std::string::npos) << said();
  };
  refused("skip=3", "out=FILE is missing");
  refused("out=" + path("t") + ",skip=x", "'x' is no number");
  refused("out=" + path("t") + ",colour=red", "'colour=red' is no setting");
  refused("out=/nowhere/t", "/nowhere/t: error: cannot be written");
  refused("out=" + path("t.gz"), "plain or as .zst");
}

}  // namespace
}  // namespace gpumux::cpu::test
