// What runs will take on this computer, from short runs of their applications alone.
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
  /// Of an application alone on a machine, by one core.
  struct Alone {
    double setup_seconds = 0;  // until its first cycle: inputs are made, kernels compiled
    double seconds_per_cycle = 0;
    double thread_instructions_per_cycle = 0;
    std::optional<double>
        cycles;  // until it ends; nothing: it is too long to be tried, and was never measured
  };
  /// Each application is simulated for `seconds` at most.
  explicit RunCosts(double seconds) : seconds_(seconds) {}
  /// Seconds of one core. Nothing where that cannot be known: of CPU programs, of live programs, and up to
  /// the end of an application whose length nobody knows or of a list of requests. Applications that fail
  /// take no time.
  [[nodiscard]] std::optional<double> of(const experiment::RunSpec& run);

 private:
  [[nodiscard]] const Alone& alone(const experiment::RunSpec& run, std::size_t app);
  double seconds_;
  std::map<std::pair<std::string, std::string>, Alone> known_;  // by machine and application
};

}  // namespace gpumux::cli
