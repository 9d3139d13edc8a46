// When the runs of an application are asked for, by when each is to be done, and what it is to reach:
// settings beside its own, such as `hotspot:size=256,every=1ms,deadline=200us`. Without them an application
// runs from the begin, and again whenever it has ended.
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

/// Their names.
inline constexpr std::array<std::string_view, 7> kArrivalKeys = {"arrivals", "at",   "deadline", "every",
                                                                 "goal",     "late", "priority"};

/// The settings, as they were given.
struct ArrivalSpec {
  std::optional<arch::Duration> at;        // of the first; else the begin of the run
  std::optional<arch::Duration> every;     // from each to the next
  std::optional<double> poisson;           // requests per second, at random
  std::vector<arch::Duration> times;       // of each, in order
  std::optional<arch::Duration> deadline;  // of each, from its arrival
  bool kills_late = false;                 // a run that has not ended by its deadline is ended then
  std::uint32_t priority = 0;  // for policies that know priorities, greater first; 0: none was given
  std::optional<GoalSpec> goal;
  std::string times_text;   // what says when they are, as given; empty: nothing
  std::string beside_text;  // what of a run they change but that: its course beside others, or its figures
  /// For the identity of an application. Priority and goal change no run alone, nor does a deadline that
  /// kills nobody.
  [[nodiscard]] std::string identity() const { return times_text.empty() ? "" : " arrivals " + times_text; }
  /// Each run is a request that arrives at a time of its own; else the next begins when the last has ended.
  [[nodiscard]] bool requests() const { return every || poisson || !times.empty(); }
  /// How long requests took is reported.
  [[nodiscard]] bool reported() const { return requests() || at || deadline; }
};

/// Splits what is typed for an application into itself, without these settings, and the settings. A file of
/// times (arrivals=FILE.csv: one a line, in us, not falling) is relative to `folder`. Throws UserError for
/// values that are impossible.
[[nodiscard]] std::pair<std::string, ArrivalSpec> split_arrivals(std::string_view text,
                                                                 const std::string& folder = {});

/// What became of the requests of one application, in core cycles.
struct RequestResult {
  std::uint64_t arrived = 0;
  std::vector<Cycle> turnaround;        // of those that are done, from arrival to end
  std::optional<Cycle> deadline;        // of each, from its arrival
  std::uint64_t missed = 0;             // that ended after their deadline, or had not when it passed
  std::optional<std::uint64_t> killed;  // of these, where they are: ended at their deadline, or never begun
  [[nodiscard]] std::uint64_t done() const { return turnaround.size(); }
};
/// The requests of one application in a run.
class Requests {
 public:
  /// Times at random are those of `seed`.
  Requests(const ArrivalSpec& spec, const arch::MachineConfig& config, std::uint64_t seed);
  /// One that has arrived by `now` and has not begun begins. False: there is none.
  bool begin(Cycle now);
  /// The one that has begun ends.
  void end(Cycle now);
  /// When it is to be killed unless it has ended; kNever: it is not.
  [[nodiscard]] Cycle kill_at() const {
    return kills_late_ && running_ ? *running_ + *result_.deadline : kNever;
  }
  /// It was.
  void killed();
  /// The next arrival after those that begin() has seen; kNever: none.
  [[nodiscard]] Cycle next_arrival() const { return next_; }
  /// Of a list that has come to its end, all requests are done.
  [[nodiscard]] bool all_done() const { return next_ == kNever && waiting_.empty() && !running_; }
  [[nodiscard]] RequestResult result(Cycle now) const;

 private:
  void take_arrivals(Cycle now);
  [[nodiscard]] Cycle after(Cycle arrival);

  bool continuous_;
  bool kills_late_;
  Cycle every_ = 0;
  double mean_ = 0;  // cycles between arrivals at random
  std::deque<Cycle> times_;
  Random random_;
  double random_time_ = 0;
  Cycle next_ = 0;
  std::deque<Cycle> waiting_;  // arrivals
  std::optional<Cycle> running_;
  RequestResult result_;
};

}  // namespace gpumux::experiment
