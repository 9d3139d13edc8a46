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

/// The file that a path refers to after its links were followed. If a link stands for an open file descriptor
/// of this process, `descriptor` is its number.
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
  std::fflush(nullptr);  // output that was printed earlier must come first
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool write_all(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return !out.fail();
}

TemporaryName beside(const std::filesystem::path& path) {
  return TemporaryName(fmt::format("{}.tmp.{}", path.string(), ::getpid()));
}

[[noreturn]] void fail(const std::string& path, int reason) {
  throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
}

}  // namespace

std::optional<std::string> replaceable(const std::string& path) {
  const Target target = follow(path);
  return target.replaceable ? std::optional(target.path.string()) : std::nullopt;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const Target target = follow(path);
  errno = 0;
  if (target.descriptor) {
    if (!write_to(*target.descriptor, bytes)) fail(path, errno);
    return;
  }
  if (!target.replaceable) {
    if (!write_all(path, bytes)) fail(path, errno);
    return;
  }
  const TemporaryName temporary = beside(target.path);
  if (write_all(temporary.path(), bytes) && std::rename(temporary.path().c_str(), target.path.c_str()) == 0)
    return;
  const int reason = errno;
  std::remove(temporary.path().c_str());
  fail(path, reason);
}

bool write_new_file(const std::string& path, std::string_view bytes) {
  const Target target = follow(path);
  errno = 0;
  const TemporaryName temporary = beside(target.path);
  const bool written = write_all(temporary.path(), bytes);
  const int reason = errno;
  // Unlike rename(), link() never replaces an existing file.
  const bool is_new = written && ::link(temporary.path().c_str(), target.path.c_str()) == 0;
  std::remove(temporary.path().c_str());
  if (!written) fail(path, reason);
  return is_new;
}

}  // namespace gpumux
