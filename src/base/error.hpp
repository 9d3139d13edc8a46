// Errors of three kinds, which the command line distinguishes by exit code.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gpumux {

/// A place in a text that the user wrote. line and column count from 1; 0 means "not known".
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  /// "file:line:column", without the parts that are not known.
  [[nodiscard]] std::string text() const;
};

/// `message` with its long lines shortened. In a line of more than 2000 bytes, which quotes a large input,
/// the middle is left out.
[[nodiscard]] std::string bounded(const std::string& message);

/// `message` as bounded() text on one line that a terminal can show. Control characters, which names may
/// contain, become `\n` or `\x1b`.
[[nodiscard]] std::string one_line(std::string_view message);

/// The user's input is wrong (exit code 2). what() is the one whole line that is shown:
/// `file:line:column: error: what is wrong, and what would be right`.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(one_line("error: " + message)) {}
  UserError(const SourceLocation& where, const std::string& message)
      : std::runtime_error(one_line(where.text() + ": error: " + message)) {}
  /// An error whose complete line is `line`: the what() of another UserError.
  [[nodiscard]] static UserError from_line(const std::string& line) { return {line, Whole{}}; }

 private:
  struct Whole {};
  UserError(const std::string& line, Whole) : std::runtime_error(one_line(line)) {}
};

/// A fault of the simulated program (exit code 3): a wrong access, a trap, a deadlock, an endless kernel, a
/// wrong result. what() is one line, or several for a watchdog report.
class SimulationFault : public std::runtime_error {
 public:
  explicit SimulationFault(const std::string& message) : std::runtime_error(bounded(message)) {}
};

/// A fault of gpumux itself (exit code 1).
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message) : std::logic_error(message) {}
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace gpumux

/// A condition that holds unless gpumux has a bug. The condition is checked in every build, so keep this
/// macro off hot paths.
#define GPUMUX_CHECK(condition) ((condition) ? (void)0 : ::gpumux::fail_check(#condition, __FILE__, __LINE__))

/// GPUMUX_CHECK for hot paths: the condition is checked only in debug and sanitizer builds.
#ifdef GPUMUX_DEBUG_CHECKS
#define GPUMUX_DCHECK(condition) GPUMUX_CHECK(condition)
#else
#define GPUMUX_DCHECK(condition) ((void)0)
#endif
