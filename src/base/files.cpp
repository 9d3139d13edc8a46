#include "base/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/temporary_file.hpp"
#include "base/text.hpp"

namespace gpumux {

std::string read_file(const std::string& path, std::uint64_t most) {
  std::error_code ignored;
  const bool has_size = std::filesystem::is_regular_file(path, ignored);
  if (most == 0) most = has_size ? ~std::uint64_t{0} : kMostText;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError({path}, "is a folder; a file was expected");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  std::vector<char> part(1 << 16);
  while (in && bytes.size() <= most) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    bytes.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    throw UserError({path}, fmt::format("cannot be read ({})", std::strerror(errno)));
  }
  if (bytes.size() > most) {
    throw UserError({path}, fmt::format("has more than {} bytes{}", most,
                                        has_size ? "" : ", or no end; the name of a file was expected"));
  }
  return bytes;
}

namespace {

/// What a path leads to over links: the last that is none, or that stands for an open descriptor.
struct Target {
  std::filesystem::path path;
  bool replaceable = true;
  std::optional<int> descriptor;
};

Target follow(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::file_status status = fs::symlink_status(at, error);
    if (!fs::is_symlink(status)) {
      const bool special = fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
      return {at, !special, std::nullopt};
    }
    const std::string folder = fs::weakly_canonical(fs::absolute(at).parent_path(), error).string();
    if (folder == fmt::format("/proc/{}/fd", ::getpid())) {
      if (const auto number = parse_int(at.filename().string()))
        return {at, false, static_cast<int>(*number)};
    }
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  throw UserError({path}, "cannot be written: its links lead nowhere");
}

bool write_to(int descriptor, std::string_view bytes) {
  std::fflush(nullptr);  // what was printed before comes first
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::optional<std::string> replaceable(const std::string& path) {
  const Target target = follow(path);
  return target.replaceable ? std::optional(target.path.string()) : std::nullopt;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const Target target = follow(path);
  const auto fail = [&path](int reason) {
    throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
  };
  errno = 0;
  if (target.descriptor) {
    if (!write_to(*target.descriptor, bytes)) fail(errno);
    return;
  }
  std::optional<TemporaryName> temporary;
  if (target.replaceable) temporary.emplace(fmt::format("{}.tmp.{}", target.path.string(), ::getpid()));
  const std::string written = temporary ? temporary->path() : path;
  std::ofstream out(written, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || (target.replaceable && std::rename(written.c_str(), target.path.c_str()) != 0)) {
    const int reason = errno;
    if (target.replaceable) std::remove(written.c_str());
    fail(reason);
  }
}

}  // namespace gpumux
