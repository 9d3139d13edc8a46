#include "database/claimant.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gpumux::database {
namespace {

namespace fs = std::filesystem;

/// Start of a process in clock ticks; nothing if it has ended or is a zombie.
std::optional<std::int64_t> start_of(std::int64_t pid) {
  std::string stat;
  try {
    stat = read_file(fmt::format("/proc/{}/stat", pid));
  } catch (const UserError&) {
    return std::nullopt;
  }
  // "PID (NAME) STATE ...": the name may contain spaces and brackets; the start is field 22.
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split(trim(std::string_view(stat).substr(end + 1)), ' ');
  constexpr std::size_t kStart = 22 - 3;
  if (fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return parse_int(fields[kStart]);
}

std::string host() {
  std::string boot = "unknown";
  try {
    boot = std::string(trim(read_file("/proc/sys/kernel/random/boot_id")));
  } catch (const UserError&) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) boot = name.data();
  }
  std::error_code ignored;
  return fmt::format("{} {}", boot, fs::read_symlink("/proc/self/ns/pid", ignored).string());
}

}  // namespace

Claimant this_process() {
  static const std::string here = host();
  const std::int64_t pid = ::getpid();
  return {here, pid, start_of(pid).value_or(0)};
}

bool is_gone(const Claimant& claimant, std::int64_t heartbeat, std::int64_t now) {
  if (claimant.host == this_process().host) return start_of(claimant.pid) != claimant.started;
  return now - heartbeat > kLeaseSeconds;
}

}  // namespace gpumux::database
