// Settings of any application that say when its runs are requested, the deadline of each run, and its goal,
// such as `hotspot:size=256,every=1ms,deadline=200us`. Without them, an application runs from the start, and
// again whenever it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/duration.hpp"
#include "base/hash.hpp"
#include "experiment/goal.hpp"

namespace gpumux::experiment {

/// The names of these settings.
inline constexpr std::array<std::string_view, 7> kArrivalKeys = {"arrivals", "at",   "deadline", "every",
                                                                 "goal",     "late", "priority"};

/// The settings as given by the user.
struct ArrivalSpec {
  std::optional<arch::Duration> at;        // of the first request; nothing: the start of the run
  std::optional<arch::Duration> every;     // from each request to the next
  std::optional<double> poisson;           // requests per second, at random times
  std::vector<arch::Duration> times;       // of each request, in order
  std::optional<arch::Duration> deadline;  // of each request, from its arrival
  bool kills_late = false;                 // a run that misses its deadline is killed then
  std::uint32_t priority = 0;  // for policies that use priorities, greater first; 0: none was given
  std::optional<GoalSpec> goal;
  std::string times_text;   // the settings that change runs, as given; empty: none
  std::string beside_text;  // the other settings: effects beside others, or on metrics
  /// Part of the identity of an application. Priorities and goals do not change an isolated run, nor does a
  /// deadline without late=kill.
  [[nodiscard]] std::string identity() const { return times_text.empty() ? "" : " arrivals " + times_text; }
  /// True if each run is a request with its own arrival time. False: the next run starts when the last has
  /// ended.
  [[nodiscard]] bool requests() const { return every || poisson || !times.empty(); }
  /// True if the result has the times that requests took.
  [[nodiscard]] bool reported() const { return requests() || at || deadline; }
};

/// Splits the text of an application into the text without these settings, and the settings. A file of
/// arrival times (arrivals=FILE.csv: one per line, in us, not decreasing) is relative to `folder`. Throws
/// UserError for impossible values.
[[nodiscard]] std::pair<std::string, ArrivalSpec> split_arrivals(std::string_view text,
                                                                 const std::string& folder = {});

/// The requests of one application in a result. Times are in core cycles.
struct RequestResult {
  std::uint64_t arrived = 0;
  std::vector<Cycle> turnaround;        // of completed requests, from arrival to end
  std::optional<Cycle> deadline;        // of each request, from its arrival
  std::uint64_t missed = 0;             // requests that missed their deadline, completed or not
  std::optional<std::uint64_t> killed;  // of `missed`, with late=kill: killed at the deadline or not started
  [[nodiscard]] std::uint64_t done() const { return turnaround.size(); }
};
/// The requests of one application in a run.
class Requests {
 public:
  /// Random arrival times follow from `seed`.
  Requests(const ArrivalSpec& spec, const arch::MachineConfig& config, std::uint64_t seed);
  /// Starts a request that has arrived by `now`. False: none waits, or one is running.
  bool begin(Cycle now);
  /// Ends the running request.
  void end(Cycle now);
  /// The cycle at which the running request is to be killed; kNever: it is not.
  [[nodiscard]] Cycle kill_at() const {
    return kills_late_ && running_ ? *running_ + *result_.deadline : kNever;
  }
  /// Records that the running request was killed at kill_at().
  void killed();
  /// The next arrival that begin() has not seen; kNever: none.
  [[nodiscard]] Cycle next_arrival() const { return next_; }
  /// True if no request is to arrive, waits or runs.
  [[nodiscard]] bool all_done() const { return next_ == kNever && waiting_.empty() && !running_; }
  [[nodiscard]] RequestResult result(Cycle now) const;

 private:
  void take_arrivals(Cycle now);
  [[nodiscard]] Cycle after(Cycle arrival);

  bool continuous_;
  bool kills_late_;
  Cycle every_ = 0;
  double mean_ = 0;  // mean cycles between random arrivals
  std::deque<Cycle> times_;
  Random random_;
  double random_time_ = 0;
  Cycle next_ = 0;
  std::deque<Cycle> waiting_;  // arrival cycles
  std::optional<Cycle> running_;
  RequestResult result_;
};

}  // namespace gpumux::experiment
