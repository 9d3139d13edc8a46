// Conversions to values in the tables.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace gpumux::database {

/// The value as SQLite's only integer type, signed 64 bits.
inline std::int64_t signed_value(std::uint64_t value) { return static_cast<std::int64_t>(value); }

inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace gpumux::database
