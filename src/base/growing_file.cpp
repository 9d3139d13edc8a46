#include "base/growing_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace gpumux {
namespace {

/// kPart: bytes after which the system is asked to start writing its cached pages to disk. kForgotten:
/// distance in bytes behind the end of the file at which the system may drop cached pages.
constexpr std::uint64_t kPart = std::uint64_t{1} << 24U;
constexpr std::uint64_t kForgotten = 4 * kPart;

std::string temporary_name(const std::string& target) { return fmt::format("{}.tmp.{}", target, ::getpid()); }
std::string link_to(int file) { return fmt::format("/proc/self/fd/{}", file); }

}  // namespace

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  const std::optional<std::string> target = replaceable(path_);
  if (!target) throw UserError({path_}, "is a device or a pipe; the name of a file was expected");
  target_ = *target;
  file_ = open_without_name();
  if (file_ != nullptr) return;
  temporary_.emplace(temporary_name(target_));
  file_ = std::fopen(temporary_->path().c_str(), "wb");
  if (file_ == nullptr) fail();
}

GrowingFile::~GrowingFile() {
  if (file_ == nullptr) return;
  (void)std::fclose(file_);
  if (temporary_) (void)std::remove(temporary_->path().c_str());
}

std::FILE* GrowingFile::open_without_name() const {
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  // /proc/self/fd is needed to give the file a name later.
  if (::access(link_to(file).c_str(), F_OK) == 0)
    if (std::FILE* const opened = ::fdopen(file, "wb"); opened != nullptr) return opened;
  ::close(file);
  return nullptr;
}

bool GrowingFile::give_name(int file) const {
  if (temporary_) return std::rename(temporary_->path().c_str(), target_.c_str()) == 0;
  const std::string link = link_to(file);
  const auto link_as = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_as(target_)) return true;
  if (errno != EEXIST) return false;
  // linkat() cannot replace an existing file, so the file gets a temporary name first and is then renamed.
  const TemporaryName name(temporary_name(target_));
  (void)std::remove(name.path().c_str());  // left by a killed process with the same number
  if (!link_as(name.path())) return false;
  if (std::rename(name.path().c_str(), target_.c_str()) == 0) return true;
  const int reason = errno;
  (void)std::remove(name.path().c_str());
  errno = reason;
  return false;
}

void GrowingFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
  written_ += bytes.size();
  if (written_ - asked_ >= kPart) write_behind();
}

void GrowingFile::write_behind() {
  const int file = ::fileno(file_);
  // Hints: a system that ignores them only keeps the pages in memory longer.
  (void)::sync_file_range(file, static_cast<off_t>(asked_), static_cast<off_t>(written_ - asked_),
                          SYNC_FILE_RANGE_WRITE);
  asked_ = written_;
  if (asked_ > kForgotten)
    (void)::posix_fadvise(file, 0, static_cast<off_t>(asked_ - kForgotten), POSIX_FADV_DONTNEED);
}

void GrowingFile::complete(std::string_view first_bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail();
  write(first_bytes);
  const int file =
      ::fcntl(::fileno(file_), F_DUPFD_CLOEXEC, 0);  // the last close would delete a file without a name
  if (file < 0) fail();
  const bool whole = std::fclose(std::exchange(file_, nullptr)) == 0 && give_name(file);
  const int reason = errno;
  ::close(file);
  if (whole) return;
  if (temporary_) (void)std::remove(temporary_->path().c_str());
  errno = reason;
  fail();
}

void GrowingFile::fail() const {
  throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
}

}  // namespace gpumux
