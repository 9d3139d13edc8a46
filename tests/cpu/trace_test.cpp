// Trace files: every kind of file gives the same records, repeatedly. Damaged files are refused with the
// place of the damage.
#include <gtest/gtest.h>

#include <cstring>

#include "cpu/trace/file_trace.hpp"
#include "cpu/trace/trace_writer.hpp"
#include "tests/cpu/trace_files.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux::cpu::test {
namespace {

std::vector<Record> take(TraceSource& source, std::size_t count) {
  std::vector<Record> records;
  while (records.size() < count) {
    const std::span<const Record> chunk = source.next();
    EXPECT_FALSE(chunk.empty());
    records.insert(records.end(), chunk.begin(), chunk.end());
  }
  records.resize(count);
  return records;
}

bool same_records(const std::vector<Record>& a, const std::vector<Record>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Record)) == 0;
}

class TraceFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_.path() + "/" + name;
    gpumux::test::write_bytes(path, bytes);
    return path;
  }
  static std::string error(const std::string& path) {
    return error_of([&] { (void)check_trace(path); });
  }
  gpumux::test::TemporaryFolder folder_;
};

TEST_F(TraceFiles, EveryKindGivesTheSameRecordsAgainAndAgain) {
  for (const std::size_t count : {1U, 1023U, 1024U, 1025U, 5000U}) {
    const std::vector<Record> records = random_records(count, count);
    std::vector<Record> thrice;
    for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), records.begin(), records.end());
    for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
      const std::string path = write(std::string("t") + kind.suffix, kind.compress(bytes_of(records)));
      EXPECT_EQ(check_trace(path), count) << path;
      FileTrace trace(path);
      EXPECT_TRUE(same_records(take(trace, thrice.size()), thrice)) << path;
      EXPECT_EQ(trace.restarts(), 2U);
    }
  }
}

TEST_F(TraceFiles, WhatIsWrittenIsRead) {
  for (const std::size_t count : {1U, 4095U, 4096U, 4097U, 20000U}) {
    const std::vector<Record> records = random_records(count, count);
    for (const char* name : {"t", "t.zst"}) {
      const std::string path = folder_.path() + "/" + name;
      TraceWriter writer(path);
      for (const Record& record : records) writer.add(record);
      EXPECT_EQ(writer.records(), count);
      writer.close();
      EXPECT_EQ(check_trace(path), count);
      FileTrace trace(path);
      EXPECT_TRUE(same_records(take(trace, count), records));
    }
  }
}

TEST_F(TraceFiles, WhatCannotBeWrittenIsSaid) {
  for (const char* name : {"t.xz", "t.gz"}) {
    EXPECT_NE(error_of([&] { TraceWriter writer(folder_.path() + "/" + name); }).find("plain or as .zst"),
              std::string::npos);
  }
  EXPECT_NE(error_of([&] { TraceWriter writer(folder_.path() + "/none/t"); }).find("cannot be written"),
            std::string::npos);
  const std::string full = error_of([&] {
    TraceWriter writer("/dev/full");
    for (const Record& record : random_records(10000, 1)) writer.add(record);
    writer.close();
  });
  EXPECT_NE(full.find("cannot be written (No space left"), std::string::npos) << full;
  // One that was never closed has no end.
  const std::string path = folder_.path() + "/open.zst";
  {
    TraceWriter writer(path);
    for (const Record& record : random_records(10000, 1)) writer.add(record);
  }
  EXPECT_NE(error(path).find("ends too early"), std::string::npos) << error(path);
}

TEST_F(TraceFiles, StreamsThatFollowEachOtherAreOneTrace) {
  const std::vector<Record> records = random_records(3000, 1);
  const std::string bytes = bytes_of(records);
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    // The first ends within a record.
    const std::string path = write(std::string("two") + kind.suffix, kind.compress(bytes.substr(0, 70001)) +
                                                                         kind.compress(bytes.substr(70001)));
    FileTrace trace(path);
    EXPECT_TRUE(same_records(take(trace, records.size()), records)) << path;
    EXPECT_EQ(check_trace(path), records.size());
  }
}

TEST_F(TraceFiles, FilesThatAreNoneAreRefused) {
  EXPECT_NE(error(folder_.path() + "/none").find("cannot be read (No such file"), std::string::npos);
  EXPECT_NE(error(folder_.path()).find("is a folder"), std::string::npos);
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    const std::string nothing = error(write(std::string("empty") + kind.suffix, ""));
    EXPECT_NE(nothing.find("byte 0: is empty"), std::string::npos) << nothing;
    const std::string compressed_nothing = error(write(std::string("none") + kind.suffix, kind.compress("")));
    EXPECT_NE(compressed_nothing.find("byte 0: is empty"), std::string::npos) << compressed_nothing;
  }
  const std::string text(4096, 'x');
  EXPECT_NE(error(write("t.xz", text)).find("it is not in xz format"), std::string::npos);
  EXPECT_NE(error(write("t.gz", text)).find("it is not in gzip format"), std::string::npos);
  EXPECT_NE(error(write("t.zst", text)).find("it is not in zstd format"), std::string::npos);
  const std::string no_record = error(write("t", text));
  EXPECT_NE(no_record.find("byte 8: this is no ChampSim record (is_branch 120"), std::string::npos)
      << no_record;
}

TEST_F(TraceFiles, RecordsThatCannotBeAreNamedByTheirByte) {
  std::vector<Record> records = random_records(4000, 2);
  records[3210].is_branch = 2;
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    const std::string text = error(write(std::string("t") + kind.suffix, kind.compress(bytes_of(records))));
    const std::string place =
        *kind.suffix == '\0' ? "byte 205448: " : "byte 205448 of the decompressed data: ";
    EXPECT_NE(text.find(place + "this is no ChampSim record"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST_F(TraceFiles, ATraceThatEndsWithinARecordIsRefused) {
  const std::string bytes = bytes_of(random_records(2000, 3));
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, std::size_t{65}, bytes.size() - 1}) {
    for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
      const std::string text =
          error(write(std::string("t") + kind.suffix, kind.compress(bytes.substr(0, size))));
      EXPECT_NE(text.find("byte " + std::to_string(size)), std::string::npos) << text;
      EXPECT_NE(text.find("ends within a record"), std::string::npos) << text;
    }
  }
}

TEST_F(TraceFiles, TruncatedCompressionIsNamedByTheByteAtWhichTheFileEnds) {
  const std::string bytes = bytes_of(random_records(3000, 4));
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    if (*kind.suffix == '\0') continue;
    const std::string whole = kind.compress(bytes);
    for (std::size_t size = 1; size < whole.size(); size += 1 + size * 3 / 4) {
      const std::string text = error(write(std::string("t") + kind.suffix, whole.substr(0, size)));
      EXPECT_NE(text.find("byte " + std::to_string(size) + ": the "), std::string::npos) << text;
      EXPECT_NE(text.find("data ends too early"), std::string::npos) << text;
    }
    const std::string last = error(write(std::string("t") + kind.suffix, whole.substr(0, whole.size() - 1)));
    EXPECT_NE(last.find("data ends too early"), std::string::npos) << last;
  }
}

TEST_F(TraceFiles, ChangedCompressionIsRefusedAtItsPlace) {
  const std::string bytes = bytes_of(random_records(3000, 5));
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    if (*kind.suffix == '\0') continue;
    std::string changed = kind.compress(bytes);
    const std::size_t place = changed.size() / 2;
    for (std::size_t i = 0; i < 16; ++i) changed[place + i] = static_cast<char>(~changed[place + i]);
    const std::string path = write(std::string("t") + kind.suffix, changed);
    const std::string text = error(path);
    // Noticed there, or where the block's checksum is; or what comes out is no record.
    ASSERT_EQ(text.find(path + ": error: byte "), 0U) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_TRUE(text.find("is damaged") != std::string::npos ||
                text.find("no ChampSim record") != std::string::npos)
        << text;
  }
}

TEST_F(TraceFiles, WhatFollowsACompressedTraceIsRefused) {
  const std::string bytes = bytes_of(random_records(100, 6));
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    if (*kind.suffix == '\0') continue;
    const std::string text =
        error(write(std::string("t") + kind.suffix, kind.compress(bytes) + "something else"));
    EXPECT_NE(text.find("error: byte "), std::string::npos) << kind.suffix << text;
  }
}

TEST_F(TraceFiles, AnyChangedByteGivesRecordsOrAnError) {
  const std::string bytes = bytes_of(random_records(40, 7));
  Random random(8);
  for (const gpumux::test::Compression& kind : gpumux::test::kCompressions) {
    const std::string whole = kind.compress(bytes);
    for (int i = 0; i < 100; ++i) {
      std::string changed = whole;
      const std::size_t at = random.below(static_cast<std::uint32_t>(changed.size()));
      changed[at] = static_cast<char>(changed[at] ^ (1 + random.below(255)));
      const std::string text = error(write(std::string("t") + kind.suffix, changed));
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace gpumux::cpu::test
