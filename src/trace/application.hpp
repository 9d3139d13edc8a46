// A trace as an application: its copies and launches in their order.
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
  /// Copies wait for all that came before them, as those of CUDA's default stream do; launches of different
  /// streams may overlap. Throws UserError when `verify` is set: a trace holds no data.
  runtime::Task run(runtime::Host& host, bool verify) override;

 private:
  std::shared_ptr<const Trace> trace_;
};

/// A folder with kernelslist.g, a list in it, or a compact file (.gmt): what `run` and `inspect` take for a
/// trace.
[[nodiscard]] bool is_trace(const std::string& path);
/// Opens either; a folder is converted in memory, and what converting it warns of is added to `warnings`.
/// Throws UserError.
[[nodiscard]] std::shared_ptr<const Trace> load_trace(const std::string& path,
                                                      std::vector<std::string>* warnings = nullptr);

}  // namespace gpumux::trace
