#include "base/growing_file.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace gpumux {

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
