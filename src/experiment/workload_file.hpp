// A run described by a file instead of options: WORKLOAD.toml. docs/workloads.md has its schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "embedded/default_machine.hpp"
#include "policy/policy.hpp"

namespace gpumux::experiment {

/// What the options of a kernel of a file say; docs/workloads.md and file_program.hpp.
struct KernelOptions {
  std::string grid;                  // "16", "16,8", "16,8,2"
  std::string block;                 // likewise
  std::string shared;                // dynamic shared memory, bytes or "4K"; empty: 0
  std::vector<std::string> args;     // one per parameter
  std::vector<std::string> symbols;  // "NAME=ARG", NAME a variable of the module
};

/// Contents of files that are in memory and not on disk, by path.
using FilesInMemory = std::map<std::string, std::string>;

/// A launch of an application of several kernels.
struct LaunchArguments : KernelOptions {
  std::string kernel;  // "k.ptx:scale"
  std::uint64_t stream = 0;
  std::vector<std::uint64_t> after;  // launches that end before it begins; 1 is the first
  SourceLocation where;              // of a file; empty: there is none
};

/// An APP and the options that bind to it, not yet checked against what exists.
struct AppArguments : KernelOptions {
  std::string app;  // "hotspot:size=256", "k.ptx:scale"; with launches, a name for results
  std::vector<std::pair<std::string, std::string>> buffers;  // that its launches share: name, argument
  std::vector<LaunchArguments> launches;  // empty: the app is one kernel, or none of a file
  std::uint64_t repeat = 1;               // rounds of the launches
  FilesInMemory files;                    // that arguments may name
  SourceLocation where;                   // of a file; empty: there is none
};

/// Where neither a file nor an option says otherwise.
inline constexpr const char* kDefaultMachine = embedded::default_machine;
inline constexpr const char* kDefaultPolicy = policy::kUsualPolicy.data();
inline constexpr std::uint64_t kDefaultSeries = 1000;  // core cycles of an interval: that of dai18's figures

struct WorkloadFile {
  std::string folder;  // that relative paths in it are relative to
  std::optional<std::string> machine;
  std::vector<std::string> set;
  std::optional<std::string> policy;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> instructions;
  std::optional<std::uint64_t> seed;
  bool verify = false;
  std::vector<AppArguments> apps;
};

/// Throws UserError with file:line:column for unknown keys, wrong types and values that are impossible.
[[nodiscard]] WorkloadFile read_workload(const std::string& path);
[[nodiscard]] WorkloadFile parse_workload(std::string_view text, const std::string& path);

}  // namespace gpumux::experiment
