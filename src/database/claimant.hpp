// Who works on a run: a process that can be told from every other, and known to be gone.
#pragma once

#include <cstdint>
#include <string>

namespace gpumux::database {

struct Claimant {
  std::string host;          // boot of a machine and its namespace of process ids
  std::int64_t pid = 0;      // in that namespace
  std::int64_t started = 0;  // start of the process in clock ticks after the boot: pids are used again
  bool operator==(const Claimant&) const = default;
};

/// This process.
[[nodiscard]] Claimant this_process();

/// Seconds without a heartbeat after which a claimant elsewhere is taken for gone.
inline constexpr std::int64_t kLeaseSeconds = 120;
/// A claimant of this host is gone when its process is, whatever its heartbeat; one of another host, or of
/// another boot of this one, when its heartbeat (Unix seconds) is older than the lease.
[[nodiscard]] bool is_gone(const Claimant& claimant, std::int64_t heartbeat, std::int64_t now);

}  // namespace gpumux::database
