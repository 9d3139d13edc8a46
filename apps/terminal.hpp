// Output for people: widths, colours, a progress line. Pipes and files get none of these.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpumux::cli {

/// Columns of the terminal at a file descriptor; 80 if the terminal does not say, nothing if it is not a
/// terminal.
[[nodiscard]] std::optional<std::size_t> terminal_width(int descriptor);
/// True for a terminal that understands control sequences: TERM is neither missing nor "dumb".
[[nodiscard]] bool can_control(int descriptor);
/// True if can_control(), and the user has not set NO_COLOR.
[[nodiscard]] bool wants_colour(int descriptor);

enum class Style { Bold, Dim, Red, Yellow };
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colour);
/// An error message, "file:1:2: error: ...", with its mark in colour.
[[nodiscard]] std::string error_line(std::string_view text, bool colour);

/// Width of a UTF-8 text in columns, one per character.
[[nodiscard]] std::size_t columns(std::string_view text);
/// The text in at most `width` columns, with the middle replaced by "..".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// A time as text: "1:05", "2:00:00".
[[nodiscard]] std::string duration(double seconds);
/// ", 1:05 left", from the fraction of the work that is done (0 to 1); empty while there is too little to
/// tell.
[[nodiscard]] std::string time_left(double elapsed_seconds, double done);

/// Prints to standard error. A failure, such as a full disk, loses the text but has no other effect.
void say(const std::string& text);

/// How commands show progress on standard error.
enum class ProgressMode {
  Auto,   // Line on a terminal, else Plain
  Line,   // one line that is rewritten
  Plain,  // a new line every 30 seconds, for logs
  Off
};
inline constexpr const char* kProgressHelp =
    "auto: a line on a terminal, else a line every 30 s; plain: the latter; off [auto]";
/// Parses --progress. Throws UserError.
[[nodiscard]] ProgressMode progress_mode(const std::string& text, bool quiet);

class ProgressLine {
 public:
  static constexpr std::chrono::seconds kPlainInterval{30};
  /// `interval`: time between plain lines, and before the first one.
  explicit ProgressLine(ProgressMode mode, std::chrono::milliseconds interval = kPlainInterval);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  [[nodiscard]] bool shown() const { return mode_ != ProgressMode::Off; }
  [[nodiscard]] bool rewrites() const { return mode_ == ProgressMode::Line; }
  /// True if it is time for another show(): at most ten times a second, or once per interval for plain lines.
  [[nodiscard]] bool due();
  void show(std::string_view text);
  void clear();

 private:
  ProgressMode mode_;
  std::chrono::milliseconds interval_;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace gpumux::cli
