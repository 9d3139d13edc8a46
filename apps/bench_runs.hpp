// What `gpumux bench` measures with: runs in processes of their own, and the traces that they read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiment/run.hpp"
#include "trace/reference.hpp"

namespace gpumux::cli {

struct Measured {
  double wall_seconds = 0;
  std::uint64_t cycles = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t memory_transactions = 0;
  std::uint64_t peak_memory_bytes = 0;  // of the whole process
};

/// Does `work` in a child process, so that its peak memory is its own. Throws InternalError that names `what`
/// when the child does not end well; it has said why.
[[nodiscard]] Measured in_child(const std::string& what, const std::function<Measured()>& work);

struct Repeated {
  Measured fastest;             // other work on the host only ever adds
  std::vector<double> seconds;  // of each run
};

/// Runs each of `works` so many times in a process of its own. They take turns, so that what else the host
/// does meets all alike. Throws what in_child() throws.
[[nodiscard]] std::vector<Repeated> in_turns(const std::string& what,
                                             const std::vector<std::function<Measured()>>& works,
                                             unsigned repeats);

/// Compact traces of the reference kernels in a temporary folder, for as long as it lives.
class TraceFiles {
 public:
  /// `blocks`: thread blocks of a trace on the whole v100; the scaling table divides it. Throws UserError
  /// when no folder can be made.
  explicit TraceFiles(std::uint32_t blocks);
  ~TraceFiles();
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  /// Made when it is asked for first.
  [[nodiscard]] const std::string& path(trace::ReferenceKernel kernel, std::uint32_t blocks);

 private:
  std::uint32_t blocks_;
  std::string folder_;
  std::map<std::pair<trace::ReferenceKernel, std::uint32_t>, std::string> paths_;
};

/// Runs `copies` applications of one trace together until the last has ended, in this process. Reading the
/// trace is part of the time.
[[nodiscard]] Measured run_trace(const std::string& path, std::uint32_t copies,
                                 const arch::MachineConfig& machine, const std::string& policy,
                                 unsigned threads);

/// Cost of a warp instruction against the number of SMs and of applications that run together, printed; the
/// same as JSON: {"sms": [...], "applications": [...], "applications_leftover": [...]}. The fastest of
/// `repeats` runs counts. Of traces whose name, "trace-stream" for one, contains `only`.
[[nodiscard]] nlohmann::ordered_json bench_scaling(TraceFiles& traces, const std::string& only,
                                                   unsigned repeats);

}  // namespace gpumux::cli
