// Reads compressed files as bytes: whole, concatenated and damaged files. tests/cpu and tests/trace read more
// compressed files.
#include "base/byte_stream.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "tests/compressed.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux {
namespace {

/// All of it, in calls of `piece` bytes.
std::string read_all(const std::string& path, std::size_t piece) {
  const std::unique_ptr<ByteStream> bytes = open_bytes(path);
  std::string all;
  std::string buffer(piece, '\0');
  while (true) {
    const std::size_t got = bytes->read(buffer.data(), piece);
    all.append(buffer, 0, got);
    if (got < piece) break;
  }
  EXPECT_EQ(bytes->read(buffer.data(), piece), 0U) << "at the end for good";
  return all;
}

std::string some_text() {
  Random random(5);
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += std::to_string(random.below(1'000'000)) + "\n";
  return text;
}

class Bytes : public testing::TestWithParam<test::Compression> {
 protected:
  std::string write(const std::string& bytes) {
    std::string path = folder_.path() + "/file" + GetParam().suffix;
    test::write_bytes(path, bytes);
    return path;
  }
  [[nodiscard]] static std::string compressed(const std::string& bytes) { return GetParam().compress(bytes); }
  test::TemporaryFolder folder_;
};

TEST_P(Bytes, AreThoseThatWereCompressed) {
  const std::string text = some_text();
  const std::string path = write(compressed(text));
  for (const std::size_t piece : {std::size_t{1000}, text.size(), 2 * text.size()})
    EXPECT_EQ(read_all(path, piece), text) << piece;
  EXPECT_EQ(read_all(write(compressed(text) + compressed("more")), 4096), text + "more");
}

TEST_P(Bytes, SayWhereAFileIsCutAndWhatCameBefore) {
  if (*GetParam().suffix == '\0') GTEST_SKIP() << "any plain file is whole";
  const std::string text = some_text();
  const std::string whole = compressed(text);
  const std::size_t cut = whole.size() * 3 / 4;
  const std::string path = write(whole.substr(0, cut));
  std::string buffer(text.size(), '\0');
  try {
    (void)open_bytes(path)->read(buffer.data(), buffer.size());
    ADD_FAILURE() << "it was read";
  } catch (const DamagedFile& damage) {
    EXPECT_EQ(damage.byte(), cut);
    EXPECT_NE(damage.reason().find("data ends too early"), std::string::npos) << damage.reason();
    EXPECT_EQ(damage.what(), path + ": error: byte " + std::to_string(cut) + ": " + damage.reason());
    // About as much of the text as of the file, as far as its blocks are whole; and that is right.
    EXPECT_GT(damage.given(), text.size() / 3);
    EXPECT_LT(damage.given(), text.size());
    EXPECT_EQ(buffer.substr(0, damage.given()), text.substr(0, damage.given()));
  }
}

TEST_P(Bytes, OfAnotherFormatOrOfNoneAreRefused) {
  if (*GetParam().suffix == '\0') GTEST_SKIP() << "any plain file is whole";
  const auto error = [&](const std::string& bytes) -> std::string {
    const std::string path = write(bytes);
    try {
      (void)read_all(path, 100);
    } catch (const DamagedFile& damage) {
      EXPECT_EQ(damage.given(), 0U);
      return damage.reason();
    }
    return "none";
  };
  EXPECT_EQ(error(std::string(100, 'x')).find("it is not in "), 0U);
  EXPECT_EQ(error("").find("is empty; "), 0U);
  EXPECT_EQ(error(compressed("")), "none");
}

INSTANTIATE_TEST_SUITE_P(All, Bytes, testing::ValuesIn(test::kCompressions), [](const auto& kind) {
  const std::string suffix = kind.param.suffix;
  return suffix.empty() ? "plain" : suffix.substr(1);
});

TEST(ByteStream, FilesThatCannotBeOpenedAreErrorsOfOneLine) {
  const test::TemporaryFolder folder;
  for (const char* suffix : {"", ".xz", ".gz", ".zst"}) {
    const std::string path = folder.path() + "/none" + suffix;
    try {
      (void)open_bytes(path);
      ADD_FAILURE() << path;
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), path + ": error: cannot be read (No such file or directory)");
    }
  }
  EXPECT_THROW((void)open_bytes(folder.path()), UserError);
}

}  // namespace
}  // namespace gpumux
