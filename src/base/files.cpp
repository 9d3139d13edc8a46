#include "base/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

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

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    std::remove(temporary.c_str());
    throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
  }
}

}  // namespace gpumux
