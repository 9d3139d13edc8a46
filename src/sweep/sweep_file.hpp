// Many runs described by a file: SWEEP.toml. docs/sweeps.md has its schema.
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

/// A value and where the file says it.
template <typename T>
struct Placed {
  T value;
  SourceLocation where;
};

/// A policy; `variables` has the values that a template of the file gave to its names: k0 -> "3".
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

/// Of SweepFile::cpus.
inline constexpr const char* kNoCpus = "none";

/// Indices into the apps: applications that run together. Empty: the CPU programs alone.
using Workload = std::vector<std::size_t>;

/// The file as read for one scale; names of applications resolved, nothing else checked against what exists.
struct SweepFile {
  std::string path;
  std::string folder;  // that relative paths in it are relative to
  std::string text;
  std::string name;   // of the sweep; without one, the file's
  std::string scale;  // empty: the file has none
  std::vector<Placed<std::string>> machines;
  std::vector<MachineSetting> settings;
  std::vector<SweepPolicy> policies;
  std::vector<std::uint64_t> seeds;
  std::uint64_t cycles = 0;        // core cycles; 0: until every application has ended once
  std::uint64_t instructions = 0;  // thread instructions after which an application counts as ended; 0: none
  std::uint64_t series = 0;        // core cycles of an interval; 0: no series
  bool timeline = false;           // of all runs but baselines; then there is a series
  std::optional<Placed<std::string>> view_sms;  // of all runs but baselines (experiment::parse_sms())
  std::vector<SweepApp> apps;
  std::vector<std::size_t> combine;  // sizes: 1 alone, 2 pairs, 3 trios
  bool ordered_pairs = false;        // every pair in both orders, too
  std::vector<Workload> workloads;
  std::vector<Placed<Workload>> exclude;
  /// Programs of the machine's CPU cores (experiment::parse_cpus()), one text at a time; "none": of no core.
  std::vector<Placed<std::string>> cpus;
  std::optional<std::uint64_t> cpu_warm_up, cpu_instructions;  // of experiment::CpuSpan
  double alpha = 0.5;                                          // of experiment::Metrics
  std::vector<Placed<std::string>> goals;  // of a workload's first applications: "80%", "25%/25%"
  std::size_t cases = 0;                   // workloads with goals that run (choose_cases()); 0: all
};

/// Throws UserError with file:line:column for unknown keys, wrong types and names, also in scales that are
/// not asked for, and when `scale` is not one of the file's.
[[nodiscard]] SweepFile read_sweep(const std::string& path, const std::string& scale);
[[nodiscard]] SweepFile parse_sweep(std::string_view text, const std::string& path, const std::string& scale);

}  // namespace gpumux::sweep
