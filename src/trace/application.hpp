// A trace as an application: performs its copies and launches in their order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/application.hpp"
#include "trace/trace_file.hpp"

namespace gpumux::trace {

class TraceApplication final : public runtime::Application {
 public:
  explicit TraceApplication(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}
  /// Copies wait for all earlier work, like copies in CUDA's default stream. Launches in different streams
  /// may overlap. Throws UserError when `verify` is set, since a trace holds no data.
  runtime::Task run(runtime::Host& host, bool verify) override;

 private:
  std::shared_ptr<const Trace> trace_;
};

/// True for a path that `run` and `inspect` take as a trace: a folder with kernelslist.g, a list in it, or a
/// compact file (.gmt).
[[nodiscard]] bool is_trace(const std::string& path);
/// Opens a trace in either form. A folder is converted in memory, and warnings of the conversion are appended
/// to `warnings`. Throws UserError.
[[nodiscard]] std::shared_ptr<const Trace> load_trace(const std::string& path,
                                                      std::vector<std::string>* warnings = nullptr);

}  // namespace gpumux::trace
