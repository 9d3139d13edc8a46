// Progress of simulations, for commands that run one after another.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <string>

#include "base/types.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

/// Shows the progress of consecutive simulations.
class Progress {
 public:
  explicit Progress(ProgressMode mode) : line_(mode) {}
  /// RunSpec::progress for consecutive runs of `limit` cycles each (0: unknown); empty if progress is not
  /// shown.
  [[nodiscard]] std::function<void(Cycle)> line(const std::string& what, Cycle limit) {
    if (!line_.shown()) return {};
    return [this, what, limit, begin = Clock::now(), last = Cycle{0}](Cycle now) mutable {
      if (now < last) begin = Clock::now();  // the next run
      last = now;
      if (!line_.due()) return;
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      const double done = limit == 0 ? 0 : static_cast<double>(now) / static_cast<double>(limit);
      const std::string of = limit == 0 ? "" : fmt::format(" of {}", limit);
      line_.show(fmt::format("{}: cycle {}{}{}", what, now, of, time_left(seconds, done)));
    };
  }

 private:
  using Clock = std::chrono::steady_clock;
  ProgressLine line_;
};

}  // namespace gpumux::cli
