#include "base/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/error.hpp"

namespace gpumux {

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError({path}, "is a folder; a file was expected");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (in) bytes << in.rdbuf();
  if (!in.is_open() || in.bad()) {
    throw UserError({path}, fmt::format("cannot be read ({})", std::strerror(errno)));
  }
  return std::move(bytes).str();
}

std::optional<std::string> replaceable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) return std::nullopt;
  if (!fs::is_symlink(fs::symlink_status(path, ignored))) return path;
  const fs::path leads_to = fs::weakly_canonical(path, ignored);
  return leads_to.empty() ? path : leads_to.string();
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::optional<std::string> target = replaceable(path);
  const std::string written = target ? fmt::format("{}.tmp.{}", *target, ::getpid()) : path;
  errno = 0;
  std::ofstream out(written, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || (target && std::rename(written.c_str(), target->c_str()) != 0)) {
    const int reason = errno;
    if (target) std::remove(written.c_str());
    throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
  }
}

}  // namespace gpumux
