// What commands show to people: widths, colours, a line of progress. In pipes and files there is none of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpumux::cli {

/// Columns of the terminal behind a file descriptor; 80 where it does not say, nothing where there is none.
[[nodiscard]] std::optional<std::size_t> terminal_width(int descriptor);
/// A terminal that understands control sequences: TERM is neither missing nor "dumb".
[[nodiscard]] bool can_control(int descriptor);
/// The same, and the user has not set NO_COLOR.
[[nodiscard]] bool wants_colour(int descriptor);

enum class Style { Bold, Dim, Red, Yellow };
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colour);
/// "file:1:2: error: ..." with its mark in colour.
[[nodiscard]] std::string error_line(std::string_view text, bool colour);

/// Columns that a UTF-8 text takes, one per character.
[[nodiscard]] std::size_t columns(std::string_view text);
/// At most `width` columns, the middle replaced by "..".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// "1:05", "2:00:00".
[[nodiscard]] std::string duration(double seconds);
/// ", 1:05 left" from how much of the work is done (0 to 1); empty while that says little.
[[nodiscard]] std::string time_left(double elapsed_seconds, double done);

/// To standard error. Where nobody can read it (a full disk, say), what it says is lost, and nothing else.
void say(const std::string& text);

/// How commands say how far they are, on standard error.
enum class ProgressMode {
  Auto,   // Line on a terminal, else Plain
  Line,   // one line that is rewritten
  Plain,  // a line of its own every 30 seconds: for logs
  Off
};
inline constexpr const char* kProgressHelp =
    "auto: a line on a terminal, else a line every 30 s; plain: the latter; off [auto]";
/// Of --progress. Throws UserError.
[[nodiscard]] ProgressMode progress_mode(const std::string& text, bool quiet);

class ProgressLine {
 public:
  static constexpr std::chrono::seconds kPlainInterval{30};
  /// `interval`: between plain lines, and before the first.
  explicit ProgressLine(ProgressMode mode, std::chrono::milliseconds interval = kPlainInterval);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  [[nodiscard]] bool shown() const { return mode_ != ProgressMode::Off; }
  [[nodiscard]] bool rewrites() const { return mode_ == ProgressMode::Line; }
  /// True at most ten times a second, or as often as plain lines come: it is time for another show().
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
