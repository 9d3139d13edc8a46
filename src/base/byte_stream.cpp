#include "base/byte_stream.hpp"

#include <fmt/core.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace gpumux {
namespace {

class PlainBytes final : public ByteStream {
 public:
  explicit PlainBytes(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) {
      throw UserError({path_}, "is a folder; a file was expected");
    }
    if (std::filesystem::is_fifo(path_, ignored)) throw UserError({path_}, "is a pipe; a file was expected");
    file_ = std::fopen(path_.c_str(), "rb");
    if (file_ == nullptr) fail();
  }
  ~PlainBytes() override { (void)std::fclose(file_); }
  PlainBytes(const PlainBytes&) = delete;
  PlainBytes& operator=(const PlainBytes&) = delete;
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t got = std::fread(buffer, 1, size, file_);
    if (got < size && std::ferror(file_) != 0) fail();
    return got;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const {
    throw UserError({path_}, fmt::format("cannot be read ({})", std::strerror(errno)));
  }
  std::string path_;
  std::FILE* file_ = nullptr;
};

/// The input side of a decoder: reads a file in pieces and counts the bytes that the decoder has used.
class Pieces {
 public:
  explicit Pieces(const std::string& path) : file_(path), buffer_(kPiece) {}
  /// Bytes that have not been used yet. Reads the next piece if none are left. Empty at the end of the file.
  [[nodiscard]] std::string_view rest() {
    if (used_ == filled_) {
      before_ += filled_;
      used_ = 0;
      filled_ = file_.read(buffer_.data(), buffer_.size());
    }
    return {buffer_.data() + used_, filled_ - used_};
  }
  /// Marks all bytes of rest() except the last `left` as used.
  void use_all_but(std::size_t left) { used_ = filled_ - left; }
  /// Throws DamagedFile. `given`: bytes that this call of read() had already produced.
  [[noreturn]] void fail(const std::string& what, std::size_t given) const {
    throw DamagedFile(file_.path(), before_ + used_, what, given);
  }
  /// Throws DamagedFile for a file that is empty or ends too early.
  [[noreturn]] void fail_at_end(const char* kind, std::size_t given) const {
    if (before_ + filled_ == 0) fail(fmt::format("is empty; {} data was expected", kind), given);
    fail(fmt::format("the {} data ends too early", kind), given);
  }

 private:
  static constexpr std::size_t kPiece = 1U << 16U;
  PlainBytes file_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t before_ = 0;  // bytes of the file in front of the buffer
};

class XzBytes final : public ByteStream {
 public:
  explicit XzBytes(const std::string& path) : in_(path) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30U;
    if (lzma_stream_decoder(&stream_, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw InternalError("the xz decoder cannot be set up");
    }
  }
  ~XzBytes() override { lzma_end(&stream_); }
  XzBytes(const XzBytes&) = delete;
  XzBytes& operator=(const XzBytes&) = delete;
  std::size_t read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer);
    stream_.avail_out = size;
    while (stream_.avail_out > 0 && !ended_) {
      const std::string_view rest = in_.rest();
      stream_.next_in = reinterpret_cast<const std::uint8_t*>(rest.data());
      stream_.avail_in = rest.size();
      const lzma_ret result = lzma_code(&stream_, rest.empty() ? LZMA_FINISH : LZMA_RUN);
      in_.use_all_but(stream_.avail_in);
      if (result == LZMA_STREAM_END) {
        ended_ = true;
      } else if (result != LZMA_OK) {
        fail(result, rest.empty(), size - stream_.avail_out);
      }
    }
    return size - stream_.avail_out;
  }

 private:
  [[noreturn]] void fail(lzma_ret result, bool at_end, std::size_t given) const {
    if (at_end) in_.fail_at_end("xz", given);
    in_.fail(result == LZMA_FORMAT_ERROR     ? "it is not in xz format"
             : result == LZMA_MEMLIMIT_ERROR ? "it needs more than 1 GiB to decompress"
             : result == LZMA_MEM_ERROR      ? "out of memory"
             : result == LZMA_DATA_ERROR     ? "the xz data is damaged"
                                             : "its kind of xz data is unknown",
             given);
  }
  Pieces in_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class GzipBytes final : public ByteStream {
 public:
  explicit GzipBytes(const std::string& path) : in_(path) {
    constexpr int kGzip = 15 + 16;  // the largest window; a gzip header and checksum around it
    if (inflateInit2(&stream_, kGzip) != Z_OK) throw InternalError("the gzip decoder cannot be set up");
  }
  ~GzipBytes() override { (void)inflateEnd(&stream_); }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  std::size_t read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out > 0) {
      const std::string_view rest = in_.rest();
      if (rest.empty()) {
        if (within_member_) in_.fail_at_end("gzip", size - stream_.avail_out);
        break;
      }
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));
      stream_.avail_in = static_cast<uInt>(rest.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      in_.use_all_but(stream_.avail_in);
      if (result == Z_STREAM_END) {
        within_member_ = false;
        first_ = false;
        if (inflateReset(&stream_) != Z_OK) throw InternalError("the gzip decoder cannot be reset");
        // The bytes produced so far are valid. Another gzip member may follow.
        if (in_.rest().empty()) break;
        within_member_ = true;
      } else if (result != Z_OK) {
        const bool header = result == Z_DATA_ERROR && stream_.total_out == 0 && stream_.total_in <= 2;
        in_.fail(result == Z_MEM_ERROR ? "out of memory"
                 : header ? (first_ ? "it is not in gzip format" : "what follows is not in gzip format")
                          : "the gzip data is damaged",
                 size - stream_.avail_out);
      }
    }
    return size - stream_.avail_out;
  }

 private:
  Pieces in_;
  z_stream stream_{};
  bool within_member_ = true;
  bool first_ = true;
};

class ZstdBytes final : public ByteStream {
 public:
  explicit ZstdBytes(const std::string& path) : in_(path), decoder_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    constexpr int kMostWindow = 27;  // 128 MiB, the default limit of the zstd program
    if (decoder_ == nullptr ||
        ZSTD_isError(ZSTD_DCtx_setParameter(decoder_.get(), ZSTD_d_windowLogMax, kMostWindow)) != 0) {
      throw InternalError("the zstd decoder cannot be set up");
    }
  }
  std::size_t read(char* buffer, std::size_t size) override {
    ZSTD_outBuffer out{buffer, size, 0};
    while (out.pos < size) {
      const std::string_view rest = in_.rest();
      ZSTD_inBuffer in{rest.data(), rest.size(), 0};
      const std::size_t before = out.pos;
      const std::size_t wanted = ZSTD_decompressStream(decoder_.get(), &out, &in);
      in_.use_all_but(rest.size() - in.pos);
      if (ZSTD_isError(wanted) != 0) fail(wanted, out.pos);
      if (rest.empty() && out.pos == before) {
        if (within_frame_) in_.fail_at_end("zstd", out.pos);
        break;
      }
      within_frame_ = wanted != 0;
    }
    return out.pos;
  }

 private:
  [[noreturn]] void fail(std::size_t code, std::size_t given) const {
    const ZSTD_ErrorCode error = ZSTD_getErrorCode(code);
    in_.fail(error == ZSTD_error_prefix_unknown                  ? "it is not in zstd format"
             : error == ZSTD_error_frameParameter_windowTooLarge ? "it needs more than 128 MiB to decompress"
             : error == ZSTD_error_memory_allocation             ? "out of memory"
                                                                 : "the zstd data is damaged",
             given);
  }
  Pieces in_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> decoder_;
  bool within_frame_ = true;
};

}  // namespace

std::unique_ptr<ByteStream> open_bytes(const std::string& path) {
  if (path.ends_with(".xz")) return std::make_unique<XzBytes>(path);
  if (path.ends_with(".gz")) return std::make_unique<GzipBytes>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdBytes>(path);
  return std::make_unique<PlainBytes>(path);
}

}  // namespace gpumux
