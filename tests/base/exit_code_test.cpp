#include "base/exit_code.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>

#include "base/error.hpp"

namespace gpumux {
namespace {

Failure failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    return current_failure();
  }
  return {kFine, ""};
}

TEST(ExitCode, OneIsAFaultOfOursAlone) {
  const auto expect = [](int code, const std::string& text, const std::function<void()>& work) {
    const Failure failure = failure_of(work);
    EXPECT_EQ(failure.exit_code, code) << failure.text;
    EXPECT_EQ(failure.text.substr(0, text.size()), text);
  };
  expect(2, "error: wrong", [] { throw UserError("wrong"); });
  expect(3, "error: trap", [] { throw SimulationFault("error: trap"); });
  expect(1, "internal error: bug", [] { throw InternalError("bug"); });
  expect(1, "internal error: ", [] { (void)std::string().at(1); });
  expect(1, "internal error: ", [] { throw 3; });  // NOLINT
  expect(2, "error: out of memory", [] { throw std::bad_alloc(); });
  for (const int want : {EAGAIN, ENOMEM, EMFILE, ENOSPC, EFBIG, EPIPE}) {
    expect(2, "error: ", [&] { throw std::system_error(want, std::generic_category(), "what"); });
  }
  expect(1, "internal error: ", [] { throw std::system_error(EINVAL, std::generic_category(), "what"); });
}

TEST(Bounded, LongLinesLoseTheirMiddle) {
  EXPECT_EQ(bounded("short\nlines"), "short\nlines");
  const std::string x(5000, 'x');
  const std::string short_one = bounded("a\n" + x + "\nb");
  EXPECT_EQ(short_one.substr(0, 3), "a\nx");
  EXPECT_EQ(short_one.substr(short_one.size() - 3), "x\nb");
  EXPECT_NE(short_one.find(" [... 3400 bytes ...] "), std::string::npos);
  std::string umlauts;
  for (int i = 0; i < 2500; ++i) umlauts += "\u00fc";
  const std::string cut = bounded("1" + umlauts);  // 1200 is inside a character
  EXPECT_NE(cut.find("\u00fc [... "), std::string::npos);
  EXPECT_NE(cut.find(" bytes ...] \u00fc"), std::string::npos);
}

TEST(UserErrors, AreOneBoundedLine) {
  const std::string lines(100'000, '\n');
  EXPECT_STREQ(UserError("a\tb\x1b[31m\nc").what(), "error: a\\x09b\\x1b[31m\\nc");
  EXPECT_STREQ(UserError({"x\ny", 3, 4}, "c\xc3\xbc").what(), "x\\ny:3:4: error: c\xc3\xbc");
  for (const UserError& error :
       {UserError(lines), UserError({lines}, "what"), UserError::from_line(lines + "error")}) {
    const std::string said = error.what();
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_LT(said.size(), 2100U);
  }
}

}  // namespace
}  // namespace gpumux
