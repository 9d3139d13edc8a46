// Estimates the time of runs on this computer, from short runs of their applications alone.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "experiment/run.hpp"

namespace gpumux::cli {

class RunCosts {
 public:
  /// Cost of an isolated application on a machine, on one core of this computer.
  struct Alone {
    double setup_seconds = 0;  // until the first cycle: making inputs, compiling kernels
    double seconds_per_cycle = 0;
    double thread_instructions_per_cycle = 0;
    std::optional<double>
        cycles;  // until it ends; nothing: it is too long to be tried, and was never measured
  };
  /// `seconds`: the longest simulation of each application.
  explicit RunCosts(double seconds) : seconds_(seconds) {}
  /// Estimated seconds of a run on one core. Nothing if unknown: for CPU programs, live programs, and runs to
  /// the end of a list of requests or of an application of unknown length. Applications that fail count as no
  /// time.
  [[nodiscard]] std::optional<double> of(const experiment::RunSpec& run);

 private:
  [[nodiscard]] const Alone& alone(const experiment::RunSpec& run, std::size_t app);
  double seconds_;
  std::map<std::pair<std::string, std::string>, Alone> known_;  // by machine and application
};

}  // namespace gpumux::cli
