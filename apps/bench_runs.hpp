// Measurements of `gpumux bench`: runs in child processes, and the traces that they read.
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

/// Does `work` in a child process, so that the peak memory is that of `work` alone. If the child fails, it
/// prints the reason, and this function throws UserError or InternalError with `what`.
[[nodiscard]] Measured in_child(const std::string& what, const std::function<Measured()>& work);

struct Repeated {
  Measured fastest;             // other work on the host only adds time
  std::vector<double> seconds;  // of each run
};

/// Runs each of `works` `repeats` times, each run in a child process. The works take turns, so that other
/// work on the host affects all alike. Throws as in_child() does.
[[nodiscard]] std::vector<Repeated> in_turns(const std::string& what,
                                             const std::vector<std::function<Measured()>>& works,
                                             unsigned repeats);

/// Compact traces of the reference kernels in a temporary folder. The destructor removes the folder.
class TraceFiles {
 public:
  /// `blocks`: thread blocks of a trace for the whole v100; the scaling table divides this number. Throws
  /// UserError if the folder cannot be created.
  explicit TraceFiles(std::uint32_t blocks);
  ~TraceFiles();
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  /// Path of a trace, which is created at the first call.
  [[nodiscard]] const std::string& path(trace::ReferenceKernel kernel, std::uint32_t blocks);

 private:
  std::uint32_t blocks_;
  std::string folder_;
  std::map<std::pair<trace::ReferenceKernel, std::uint32_t>, std::string> paths_;
};

/// Runs `copies` applications of one trace together until all have ended, in this process. The time includes
/// reading the trace.
[[nodiscard]] Measured run_trace(const std::string& path, std::uint32_t copies,
                                 const arch::MachineConfig& machine, const std::string& policy,
                                 unsigned threads);

/// Measures and prints the cost of a warp instruction against the number of SMs, and against the number of
/// applications that run together. Returns {"sms": [...], "applications": [...], "applications_leftover":
/// [...]}. The fastest of `repeats` runs counts. `only`: measures traces whose name, such as "trace-stream",
/// contains this text.
[[nodiscard]] nlohmann::ordered_json bench_scaling(TraceFiles& traces, const std::string& only,
                                                   unsigned repeats);

}  // namespace gpumux::cli
