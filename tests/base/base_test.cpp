#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace gpumux {
namespace {

TEST(Text, NumbersMustFillTheWholeText) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("0x10"), 16);
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(parse_int("9223372036854775808"));
  EXPECT_FALSE(parse_int("12a"));
  EXPECT_FALSE(parse_int(""));
  EXPECT_FALSE(parse_uint("-1"));
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_FALSE(parse_double("1.5x"));
}

TEST(Text, BytesTakeBinarySuffixes) {
  EXPECT_EQ(parse_bytes("48K"), 48U * 1024);
  EXPECT_EQ(parse_bytes("48k"), 48U * 1024);
  EXPECT_EQ(parse_bytes("48KB"), 48U * 1024);
  EXPECT_EQ(parse_bytes("48KiB"), 48U * 1024);
  EXPECT_EQ(parse_bytes("2M"), 2U << 20U);
  EXPECT_EQ(parse_bytes("77"), 77U);
  EXPECT_EQ(parse_bytes("77B"), 77U);
  EXPECT_FALSE(parse_bytes("K"));
  EXPECT_FALSE(parse_bytes("KiB"));
  EXPECT_FALSE(parse_bytes("48iB"));
  EXPECT_FALSE(parse_bytes("48KBB"));
  EXPECT_FALSE(parse_bytes("1T"));
  EXPECT_FALSE(parse_bytes("99999999999999999G"));
}

TEST(Text, SuggestsTheNearestChoice) {
  const std::vector<std::string> known = {"hotspot", "kmeans", "bfs"};
  EXPECT_EQ(nearest_choice("hotsopt", known), "hotspot");
  EXPECT_EQ(nearest_choice("bsf", known), "bfs") << "a swap is one edit";
  EXPECT_EQ(nearest_choice("sgemm", known), "");
  EXPECT_EQ(unknown_choice("app", "kmean", known),
            "unknown app 'kmean'; did you mean 'kmeans'?; known: hotspot, kmeans, bfs");
  std::vector<std::string> many = known;
  while (many.size() < 132) many.push_back("app" + std::to_string(many.size()));
  EXPECT_EQ(unknown_choice("app", "kmean", many), "unknown app 'kmean'; did you mean 'kmeans'?");
  EXPECT_EQ(unknown_choice("app", "sgemm", many),
            "unknown app 'sgemm'; 132 are known, such as hotspot, kmeans and bfs");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(trim("  x y \n"), "x y");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Files, WriteReplacesTheWholeFileAndLeavesNothingElse) {
  const std::string folder = testing::TempDir() + "/gpumux_files_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a.txt";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  EXPECT_EQ(read_file(path), "two");
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  std::filesystem::remove_all(folder);
}

TEST(Files, ErrorsNameThePath) {
  const auto message = [](auto&& action) {
    try {
      action();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string folder = testing::TempDir() + "/gpumux_paths_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string missing = folder + "/missing/x";
  EXPECT_EQ(message([&] { (void)read_file(missing); }),
            missing + ": error: cannot be read (No such file or directory)");
  EXPECT_NE(message([&] { (void)read_file(folder); }).find("is a folder"), std::string::npos);
  EXPECT_NE(message([&] { write_file_atomically(missing, "a"); }).find("cannot be written"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Files, LinksAndPipesStayWhatTheyAre) {
  const std::string folder = testing::TempDir() + "/gpumux_links_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  write_file_atomically(folder + "/a.txt", "one");
  std::filesystem::create_symlink("a.txt", folder + "/link");
  write_file_atomically(folder + "/link", "two");
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(read_file(folder + "/a.txt"), "two");
  std::filesystem::create_symlink("new.txt", folder + "/to_new");
  write_file_atomically(folder + "/to_new", "four");
  EXPECT_EQ(read_file(folder + "/new.txt"), "four");
  std::filesystem::create_symlink("b", folder + "/a");
  std::filesystem::create_symlink("a", folder + "/b");
  EXPECT_THROW(write_file_atomically(folder + "/a", ""), UserError);
  const int descriptor = ::open((folder + "/a.txt").c_str(), O_WRONLY | O_APPEND);
  write_file_atomically("/dev/fd/" + std::to_string(descriptor), "five");
  ::close(descriptor);
  EXPECT_EQ(read_file(folder + "/a.txt"), "twofive");
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(replaceable(pipe));
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  write_file_atomically(pipe, "three");
  std::array<char, 8> bytes{};
  EXPECT_EQ(::read(reader, bytes.data(), bytes.size()), 5);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove_all(folder);
}

TEST(Error, LocationsShowWhatIsKnown) {
  EXPECT_EQ(SourceLocation({"a.ptx", 3, 14}).text(), "a.ptx:3:14");
  EXPECT_EQ(SourceLocation({"a.ptx", 3, 0}).text(), "a.ptx:3");
  EXPECT_EQ(SourceLocation({"a.ptx", 0, 0}).text(), "a.ptx");
  EXPECT_THROW(GPUMUX_CHECK(1 > 2), InternalError);
}

TEST(Hash, DependsOnContentOrderAndBoundaries) {
  const auto hash = [](std::initializer_list<std::string_view> parts) {
    ContentHash h;
    for (const std::string_view part : parts) h.add(part);
    return h.hex();
  };
  EXPECT_EQ(hash({"ab", "c"}), hash({"ab", "c"}));
  EXPECT_NE(hash({"ab", "c"}), hash({"a", "bc"}));
  EXPECT_NE(hash({"ab", "c"}), hash({"c", "ab"}));
  EXPECT_EQ(hash({"x"}).size(), 32U);
}

TEST(Random, IsTheSameEverywhereAndInRange) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.next(), b.next());
    EXPECT_LT(a.below(10), 10U);
    (void)b.below(10);
    const float u = a.unit();
    (void)b.unit();
    EXPECT_GE(u, 0.0F);
    EXPECT_LT(u, 1.0F);
  }
}

}  // namespace
}  // namespace gpumux
