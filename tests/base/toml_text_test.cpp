#include "base/toml_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace gpumux {
namespace {

std::string error_of(std::string_view text) {
  try {
    (void)parse_toml(text, "a.toml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(TomlText, StringsAndCommentsMayHaveAnyCharacter) {
  EXPECT_EQ(error_of("a = \"\u00fc\" # \u00fc\nb = '\u00fc'\n"), "");
  EXPECT_EQ(error_of(R"(a = "\"ü" )"), "");
  EXPECT_EQ(error_of("a = \"\"\"\n\u00fc \\\"\"\"\"\"\nb = '''\u00fc''''\nc = 1\n"), "");
  EXPECT_EQ(error_of("\"\u00fc\" = 1\n\"\u00fb\" = 2\n"), "");  // different keys
  EXPECT_EQ(error_of("\xef\xbb\xbf"
                     "a = 1\n"),
            "");
}

TEST(TomlText, NothingElseDoes) {
  EXPECT_EQ(error_of("\u00fc = 1"),
            "a.toml:1:1: error: a character outside ASCII belongs into quotes or a comment");
  EXPECT_EQ(error_of("a = 1\nb = \u00a0\n").substr(0, 11), "a.toml:2:5:");
  EXPECT_EQ(error_of("a = \"never closed\n\u00fc").substr(0, 11), "a.toml:2:1:");
  EXPECT_EQ(error_of("a = '\\'\u00fc").substr(0, 11), "a.toml:1:8:");
  // The quote is inside a value, so what follows is in no string.
  EXPECT_EQ(error_of("a =0\"\u00a7 4\"").substr(0, 11), "a.toml:1:5:");
  EXPECT_EQ(error_of("a = \"\u00a7\"\u0020\"\u00a7\"").substr(0, 11), "a.toml:1:9:");
  // Columns are those of the text, in characters.
  EXPECT_EQ(error_of("a = \"\u00fc\u00fc\"\nb = \"\u00fc\" c\n").substr(0, 11), "a.toml:2:9:");
  EXPECT_EQ(error_of("a = [\"\u00fc\", ?]\n").substr(0, 12), "a.toml:1:11:");
}

}  // namespace
}  // namespace gpumux
