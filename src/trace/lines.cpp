#include "trace/lines.hpp"

#include <fmt/core.h>
#include <lzma.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"

namespace gpumux::trace {
namespace {

class PlainFile final : public ByteSource {
 public:
  explicit PlainFile(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) {
      throw UserError({path_}, "is a folder; a file was expected");
    }
    if (std::filesystem::is_fifo(path_, ignored)) throw UserError({path_}, "is a pipe; a file was expected");
    file_ = std::fopen(path_.c_str(), "rb");
    if (file_ == nullptr) fail();
  }
  ~PlainFile() override { (void)std::fclose(file_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t got = std::fread(buffer, 1, size, file_);
    if (got == 0 && std::ferror(file_) != 0) fail();
    return got;
  }

 private:
  [[noreturn]] void fail() const {
    throw UserError({path_}, fmt::format("cannot be read ({})", std::strerror(errno)));
  }
  std::string path_;
  std::FILE* file_ = nullptr;
};

/// What came before has been given.
struct DamagedData {
  const char* what;
};

class XzFile final : public ByteSource {
 public:
  explicit XzFile(const std::string& path) : path_(path), file_(path), in_(1U << 18U) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30U;
    if (lzma_stream_decoder(&stream_, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw InternalError("the xz decoder cannot be set up");
    }
  }
  ~XzFile() override { lzma_end(&stream_); }
  XzFile(const XzFile&) = delete;
  XzFile& operator=(const XzFile&) = delete;
  std::size_t read(char* buffer, std::size_t size) override {
    if (failed_ != LZMA_OK) fail(failed_);
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer);
    stream_.avail_out = size;
    while (stream_.avail_out == size && !ended_) {
      if (stream_.avail_in == 0 && action_ == LZMA_RUN) {
        stream_.avail_in = file_.read(in_.data(), in_.size());
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(in_.data());
        if (stream_.avail_in == 0) action_ = LZMA_FINISH;
      }
      const lzma_ret result = lzma_code(&stream_, action_);
      if (result == LZMA_STREAM_END) {
        ended_ = true;
      } else if (result != LZMA_OK) {
        if (stream_.avail_out == size) fail(result);
        failed_ = result;
      }
    }
    return size - stream_.avail_out;
  }

 private:
  [[noreturn]] void fail(lzma_ret result) const {
    if (result == LZMA_BUF_ERROR) throw DamagedData{"the xz data ends too early"};
    if (result == LZMA_DATA_ERROR) throw DamagedData{"the xz data is damaged"};
    const char* what = result == LZMA_FORMAT_ERROR     ? "it is not in xz format"
                       : result == LZMA_MEMLIMIT_ERROR ? "it needs more than 1 GiB to decompress"
                       : result == LZMA_MEM_ERROR      ? "out of memory"
                                                       : "its kind of xz data is unknown";
    throw UserError({path_}, fmt::format("cannot be read: {}", what));
  }
  std::string path_;
  PlainFile file_;
  std::vector<char> in_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_action action_ = LZMA_RUN;
  bool ended_ = false;
  lzma_ret failed_ = LZMA_OK;
};

}  // namespace

LineReader::LineReader(std::string path) : path_(std::move(path)), buffer_(kBuffer) {
  if (path_.ends_with(".xz")) {
    source_ = std::make_unique<XzFile>(path_);
  } else {
    source_ = std::make_unique<PlainFile>(path_);
  }
}

std::size_t LineReader::read_more() {
  try {
    return source_->read(buffer_.data() + end_, buffer_.size() - end_);
  } catch (const DamagedData& damage) {
    ++number_;
    fail(fmt::format("cannot be read: {}", damage.what));
  }
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
