#include "terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

/// True unless `c` is a second or later byte of a UTF-8 character.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

/// Index of the byte at which character number `count` starts.
std::size_t byte_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && count-- == 0) break;
  }
  return at;
}

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
  constexpr std::size_t kUsual = 80;
  if (::isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

bool can_control(int descriptor) {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb" && ::isatty(descriptor) != 0;
}

bool wants_colour(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");  // any non-empty text: no-color.org
  return (refused == nullptr || *refused == '\0') && can_control(descriptor);
}

std::string styled(std::string_view text, Style style, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::Bold: code = "1"; break;
    case Style::Dim: code = "2"; break;
    case Style::Red: code = "1;31"; break;
    case Style::Yellow: code = "33"; break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string error_line(std::string_view text, bool colour) {
  const std::string_view line = text.substr(0, text.find('\n'));
  for (const std::string_view mark : {"internal error:", "error:", "failed:"}) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    return std::string(text.substr(0, at)) + styled(mark, Style::Red, colour) +
           std::string(text.substr(at + mark.size()));
  }
  return std::string(text);
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shortened(std::string_view text, std::size_t width) {
  constexpr std::string_view kDots = "..";
  const std::size_t has = columns(text);
  if (has <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(text.substr(0, byte_of(text, width)));
  const std::size_t kept = width - kDots.size();
  const std::size_t front = (kept + 1) / 2;
  return std::string(text.substr(0, byte_of(text, front))) + std::string(kDots) +
         std::string(text.substr(byte_of(text, has - (kept - front))));
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string time_left(double elapsed_seconds, double done) {
  constexpr double kTooEarly = 0.5;  // seconds
  if (elapsed_seconds < kTooEarly || !(done > 0) || done >= 1) return "";
  return fmt::format(", {} left", duration(elapsed_seconds * (1 - done) / done));
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

ProgressMode progress_mode(const std::string& text, bool quiet) {
  if (text != "auto" && text != "plain" && text != "off")
    throw UserError(fmt::format("--progress '{}' must be auto, plain or off", text));
  if (quiet || text == "off") return ProgressMode::Off;
  return text == "plain" ? ProgressMode::Plain : ProgressMode::Auto;
}

ProgressLine::ProgressLine(ProgressMode mode, std::chrono::milliseconds interval) : mode_(mode) {
  if (mode_ == ProgressMode::Auto)
    mode_ = can_control(STDERR_FILENO) ? ProgressMode::Line : ProgressMode::Plain;
  interval_ = mode_ == ProgressMode::Plain ? interval : std::chrono::milliseconds(100);
  if (mode_ == ProgressMode::Plain) next_ = std::chrono::steady_clock::now() + interval_;
}

bool ProgressLine::due() {
  if (!shown()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + interval_;
  return true;
}

void ProgressLine::show(std::string_view text) {
  if (!shown()) return;
  if (mode_ == ProgressMode::Plain) {
    say(fmt::format("{}\n", text));
    return;
  }
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(80);
  const std::string line = shortened(text, width > 1 ? width - 1 : 1);  // the last column would wrap
  say(kEraseLine + line);
  dirty_ = true;
}

void ProgressLine::clear() {
  if (dirty_) {
    std::fputs(kEraseLine, stderr);
    std::fflush(stderr);
  }
  dirty_ = false;
}

}  // namespace gpumux::cli
