// Commands that need no shell.
#include "program/shell_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpumux::program {
namespace {

using Words = std::vector<std::string>;

TEST(ShellWords, AreTheProgramAndItsArguments) {
  EXPECT_EQ(plain_words("./a"), Words({"./a"}));
  EXPECT_EQ(plain_words("  ./a  1\t-x=2 "), Words({"./a", "1", "-x=2"}));
  EXPECT_EQ(plain_words("./a 'b  c' \"d'e\" f\\ g '' h'i'j"),
            Words({"./a", "b  c", "d'e", "f g", "", "hij"}));
  EXPECT_EQ(plain_words("/opt/x/a a#b c~ 50%"), Words({"/opt/x/a", "a#b", "c~", "50%"}));
}

TEST(ShellWords, AreNoneWhereAShellDoesMore) {
  for (const char* command :
       {"",          " ",       "a",          "a ./b",     "./a; exit 5", "./a && ./b", "./a | ./b",
        "./a > f",   "./a $X",  "./a \"$X\"", "./a `b`",   "./a *.txt",   "./a [ab]",   "./a {1,2}",
        "X=./a ./b", "./a 'b",  "./a \"b",    "./a \\",    "./a \"\\n\"", "(./a)",      "./a\n./b",
        "./a # b",   "./a ~/b", "~/a",        "cd /x; ./a"})
    EXPECT_FALSE(plain_words(command)) << command;
}

}  // namespace
}  // namespace gpumux::program
