// A run described by a file instead of options: WORKLOAD.toml. docs/workloads.md has its schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::experiment {

/// An APP and the options that bind to it, not yet checked against what exists.
struct AppArguments {
  std::string app;  // "hotspot:size=256", "k.ptx:scale"
  std::string grid;
  std::string block;
  std::string shared;
  std::vector<std::string> args;
  std::vector<std::string> symbols;
};

/// Where neither a file nor an option says otherwise.
inline constexpr const char* kDefaultMachine = "dai18-maxwell";
inline constexpr const char* kDefaultPolicy = "leftover";
inline constexpr std::uint64_t kDefaultSeries = 1000;  // core cycles of an interval: that of dai18's figures

struct WorkloadFile {
  std::string folder;  // that relative paths in it are relative to
  std::optional<std::string> machine;
  std::vector<std::string> set;
  std::optional<std::string> policy;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> seed;
  bool verify = false;
  std::vector<AppArguments> apps;
};

/// Throws UserError with file:line:column for unknown keys, wrong types and values that are impossible.
[[nodiscard]] WorkloadFile read_workload(const std::string& path);
[[nodiscard]] WorkloadFile parse_workload(std::string_view text, const std::string& path);

}  // namespace gpumux::experiment
