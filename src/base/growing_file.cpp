#include "base/growing_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace gpumux {
namespace {

/// Bytes after which the system is asked to write what it holds, and how far behind it may forget it.
constexpr std::uint64_t kPart = std::uint64_t{1} << 24U;
constexpr std::uint64_t kForgotten = 4 * kPart;

}  // namespace

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  const std::optional<std::string> target = replaceable(path_);
  if (!target) throw UserError({path_}, "is a device or a pipe; the name of a file was expected");
  target_ = *target;
  temporary_.emplace(fmt::format("{}.tmp.{}", target_, ::getpid()));
  file_ = std::fopen(temporary_->path().c_str(), "wb");
  if (file_ == nullptr) fail();
}

GrowingFile::~GrowingFile() {
  if (file_ == nullptr) return;
  (void)std::fclose(file_);
  (void)std::remove(temporary_->path().c_str());
}

void GrowingFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
  written_ += bytes.size();
  if (written_ - asked_ >= kPart) write_behind();
}

void GrowingFile::write_behind() {
  const int file = ::fileno(file_);
  // Hints: a system that cannot keeps the pages longer, which takes memory alone.
  (void)::sync_file_range(file, static_cast<off_t>(asked_), static_cast<off_t>(written_ - asked_),
                          SYNC_FILE_RANGE_WRITE);
  asked_ = written_;
  if (asked_ > kForgotten)
    (void)::posix_fadvise(file, 0, static_cast<off_t>(asked_ - kForgotten), POSIX_FADV_DONTNEED);
}

void GrowingFile::complete(std::string_view first_bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail();
  write(first_bytes);
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0 || std::rename(temporary_->path().c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    (void)std::remove(temporary_->path().c_str());
    errno = reason;
    fail();
  }
}

void GrowingFile::fail() const {
  throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
}

}  // namespace gpumux
