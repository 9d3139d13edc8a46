#include "sweep/runner.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <chrono>
#include <set>

#include "base/error.hpp"
#include "sweep/job.hpp"
#include "sweep/worker.hpp"

namespace gpumux::sweep {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

class Runner {
 public:
  Runner(database::ResultStore& store, const SweepPlan& plan, const RunnerOptions& options)
      : store_(store), plan_(plan), options_(options) {}

  Progress run() {
    while (!stopped()) {
      const bool more = start_workers();
      if (jobs_.empty() && !more && store_.counts().pending == 0) break;
      wait(more);
      store_.check_in_place();
      collect();
      if (Clock::now() - last_heartbeat_ > kHeartbeat) {
        store_.heartbeat();
        last_heartbeat_ = Clock::now();
      }
      report(false);
    }
    for (const Job& job : jobs_) store_.release(job.claim.id);
    jobs_.clear();
    report(true);
    return progress_;
  }

 private:
  struct Job {
    database::Claim claim;
    Worker worker;
  };
  static constexpr seconds kHeartbeat{database::kLeaseSeconds / 6};

  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }

  /// Starts workers for pending runs. True if there may be a run for another worker.
  bool start_workers() {
    while (jobs_.size() < options_.jobs) {
      std::optional<database::Claim> claim = store_.claim();
      if (!claim) return false;
      if (claim->baseline_failure) {
        keep_failure(*claim, *claim->baseline_failure);
        continue;
      }
      const SweepRun& run = plan_.runs[claim->index];
      Worker worker([&] {
        return options_.work ? options_.work(run, claim->isolated) : perform(run.spec, claim->isolated);
      });
      jobs_.push_back({std::move(*claim), std::move(worker)});
    }
    return true;
  }

  /// Waits until a worker has output, but not for long, because claims of other processes can end at any
  /// time.
  void wait(bool more) const {
    constexpr int kIdle = 1000;
    constexpr int kElsewhere = 200;
    std::vector<pollfd> polled;
    for (const Job& job : jobs_) polled.push_back({job.worker.descriptor(), POLLIN, 0});
    (void)::poll(polled.data(), polled.size(), more ? kIdle : kElsewhere);
  }

  void collect() {
    for (std::size_t i = 0; i < jobs_.size();) {
      if (!jobs_[i].worker.read()) {
        ++i;
        continue;
      }
      // On a stop, workers may have been killed a moment before this program; their end is not a result.
      if (stopped()) return;
      keep(jobs_[i].claim, jobs_[i].worker.outcome());
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void keep(const database::Claim& claim, const WorkerOutcome& outcome) {
    if (outcome.good) {
      ++progress_.finished;
      (void)store_.finish(claim.id, read_result(outcome.text));
    } else if (outcome.was_killed && killed_.insert(claim.id).second) {
      store_.release(
          claim.id);  // perhaps killed by a person; if it happens again, it is the fault of the run itself
    } else {
      keep_failure(claim, {outcome.exit_code, outcome.text});
    }
  }
  void keep_failure(const database::Claim& claim, const database::FailureRow& failure) {
    ++progress_.finished;
    (void)store_.fail(claim.id, failure);
  }

  void report(bool at_end) {
    if (!at_end && Clock::now() - last_report_ < seconds(1)) return;
    last_report_ = Clock::now();
    progress_.counts = store_.counts();
    progress_.running = jobs_.size();
    progress_.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (options_.progress) options_.progress(progress_);
  }

  database::ResultStore& store_;
  const SweepPlan& plan_;
  const RunnerOptions& options_;
  std::vector<Job> jobs_;
  std::set<database::RunId> killed_;  // runs whose worker was killed once
  Progress progress_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_heartbeat_ = begin_;
  Clock::time_point last_report_ = begin_ - seconds(1);
};

}  // namespace

Progress work_off(database::ResultStore& store, const SweepPlan& plan, const RunnerOptions& options) {
  return Runner(store, plan, options).run();
}

}  // namespace gpumux::sweep
