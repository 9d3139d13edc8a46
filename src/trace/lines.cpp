#include "trace/lines.hpp"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "trace/tracez.hpp"

namespace gpumux::trace {

LineReader::LineReader(std::string path)
    : path_(std::move(path)),
      bytes_(path_.ends_with(".tracez") ? open_tracez(path_) : open_bytes(path_)),
      buffer_(kBuffer) {}

std::size_t LineReader::read_more() {
  if (damage_.empty()) {
    try {
      return bytes_->read(buffer_.data() + end_, buffer_.size() - end_);
    } catch (const DamagedFile& damage) {
      damage_ = fmt::format("cannot be read: {} (byte {} of the file)", damage.reason(), damage.byte());
      // Lines before the damage are returned first.
      if (damage.given() != 0) return damage.given();
    }
  }
  ++number_;
  fail(damage_);
}

bool LineReader::next(std::string_view& line) {
  const char* newline = nullptr;
  std::size_t searched = begin_;
  while (true) {
    newline = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    if (newline != nullptr || drained_) break;
    if (end_ - begin_ > kLongest) {
      ++number_;
      fail("the line is too long to be one of a trace");
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    searched = end_;
    const std::size_t got = read_more();
    drained_ = got == 0;
    end_ += got;
  }
  if (newline == nullptr && begin_ == end_) return false;
  const char* first = buffer_.data() + begin_;
  const std::size_t size = newline == nullptr ? end_ - begin_ : static_cast<std::size_t>(newline - first);
  begin_ += size + (newline == nullptr ? 0 : 1);
  ++number_;
  line = {first, size};
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  line_ = line;
  return true;
}

void LineReader::fail(const std::string& what, const char* at) const {
  const std::uint32_t column = at == nullptr ? 0 : static_cast<std::uint32_t>(at - line_.data()) + 1;
  throw UserError({path_, number_, column}, what);
}

}  // namespace gpumux::trace
