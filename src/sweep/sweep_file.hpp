// Many runs described by a file, SWEEP.toml. docs/sweeps.md has the schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::sweep {

/// A value and its place in the file.
template <typename T>
struct Placed {
  T value;
  SourceLocation where;
};

/// A policy. `variables`: values that a template of the file gave to its names: k0 -> "3".
struct SweepPolicy : Placed<std::string> {
  std::map<std::string, std::string> variables;
};

struct SweepApp {
  std::string name;  // in the sweep and in results
  experiment::AppArguments arguments;
  SourceLocation where;
};

/// One key of the machine and the values that it takes.
struct MachineSetting {
  std::string key;
  std::vector<Placed<std::string>> values;
};

/// The entry of SweepFile::cpus without CPU programs.
inline constexpr const char* kNoCpus = "none";

/// Indices of the applications that run together. Empty: the CPU programs run alone.
using Workload = std::vector<std::size_t>;

/// A sweep file as read for one scale. Names of applications are resolved; nothing else is checked yet.
struct SweepFile {
  std::string path;
  std::string folder;  // for relative paths in the file
  std::string text;
  std::string name;   // of the sweep; by default the file's name
  std::string scale;  // empty: the file has no scales
  std::vector<Placed<std::string>> machines;
  std::vector<MachineSetting> settings;
  std::vector<SweepPolicy> policies;
  std::vector<std::uint64_t> seeds;
  std::uint64_t cycles = 0;        // core cycles; 0: until every application has ended once
  std::uint64_t instructions = 0;  // thread instructions after which an application counts as ended; 0: none
  std::uint64_t series = 0;        // core cycles per interval; 0: no series
  bool timeline = false;           // of all runs except baselines; implies a series
  std::optional<Placed<std::string>> view_sms;  // of all runs except baselines (experiment::parse_sms())
  std::vector<SweepApp> apps;
  std::vector<std::size_t> combine;  // sizes: 1 alone, 2 pairs, 3 trios
  bool ordered_pairs = false;        // every pair, in both orders
  std::vector<Workload> workloads;
  std::vector<Placed<Workload>> exclude;
  /// Programs of the machine's CPU cores (experiment::parse_cpus()), one text per variant; "none": no
  /// programs.
  std::vector<Placed<std::string>> cpus;
  std::optional<std::uint64_t> cpu_warm_up, cpu_instructions;  // as in experiment::CpuSpan
  double alpha = 0.5;                                          // as in experiment::Metrics
  std::vector<Placed<std::string>> goals;  // of a workload's first applications: "80%", "25%/25%"
  std::size_t cases = 0;                   // workloads with goals to run (choose_cases()); 0: all
};

/// Reads a sweep file for a scale. Throws UserError with file:line:column for unknown keys, wrong types and
/// names, also in other scales, and if `scale` is not one of the file's.
[[nodiscard]] SweepFile read_sweep(const std::string& path, const std::string& scale);
[[nodiscard]] SweepFile parse_sweep(std::string_view text, const std::string& path, const std::string& scale);

}  // namespace gpumux::sweep
