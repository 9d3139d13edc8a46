// The owner of a claim: a process that can be told from every other, and detected as gone.
#pragma once

#include <cstdint>
#include <string>

namespace gpumux::database {

struct Claimant {
  std::string host;          // boot id of a machine and its pid namespace
  std::int64_t pid = 0;      // in that namespace
  std::int64_t started = 0;  // start of the process in clock ticks after boot, because pids are reused
  bool operator==(const Claimant&) const = default;
};

/// This process as a claimant.
[[nodiscard]] Claimant this_process();

/// Seconds without a heartbeat after which a claimant on another host counts as gone.
inline constexpr std::int64_t kLeaseSeconds = 120;
/// True if the claimant is gone. On this host: if its process has ended, whatever its heartbeat. On another
/// host, or before a reboot of this one: if its heartbeat (Unix seconds) is older than the lease.
[[nodiscard]] bool is_gone(const Claimant& claimant, std::int64_t heartbeat, std::int64_t now);

}  // namespace gpumux::database
