// A run described by a file, WORKLOAD.toml, instead of options. docs/workloads.md has the schema.
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

/// Options of a kernel from a file; see docs/workloads.md and file_program.hpp.
struct KernelOptions {
  std::string grid;                  // "16", "16,8", "16,8,2"
  std::string block;                 // "16", "16,8", "16,8,2"
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
  std::vector<std::uint64_t> after;  // launches that end before this one starts; 1 is the first
  SourceLocation where;              // place in a file; empty: not from a file
};

/// An application and its options, as typed. Nothing is checked yet.
struct AppArguments : KernelOptions {
  std::string app;  // "hotspot:size=256", "k.ptx:scale"; with launches, a name for results
  std::vector<std::pair<std::string, std::string>> buffers;  // shared by the launches: name, argument
  std::vector<LaunchArguments> launches;  // empty: a single kernel, or an application without a PTX file
  std::uint64_t repeat = 1;               // rounds of the launches
  FilesInMemory files;                    // files that arguments may name
  SourceLocation where;                   // place in a file; empty: not from a file
};

/// Values that apply if neither a file nor an option gives another.
inline constexpr const char* kDefaultMachine = embedded::default_machine;
inline constexpr const char* kDefaultPolicy = policy::kUsualPolicy.data();
inline constexpr std::uint64_t kDefaultSeries = 1000;  // core cycles per interval, as in dai18's figures

struct WorkloadFile {
  std::string folder;  // for relative paths in the file
  std::optional<std::string> machine;
  std::vector<std::string> set;
  std::optional<std::string> policy;
  std::optional<std::uint64_t> cycles;
  std::optional<std::uint64_t> instructions;
  std::optional<std::uint64_t> seed;
  bool verify = false;
  std::vector<AppArguments> apps;
};

/// Reads a workload file. Throws UserError with file:line:column for unknown keys, wrong types and impossible
/// values.
[[nodiscard]] WorkloadFile read_workload(const std::string& path);
[[nodiscard]] WorkloadFile parse_workload(std::string_view text, const std::string& path);

}  // namespace gpumux::experiment
