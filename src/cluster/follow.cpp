#include "cluster/follow.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "cluster/shared_folder.hpp"
#include "database/sqlite.hpp"
#include "sweep/job.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::cluster {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A task: the array's name and the task's position in it.
using Place = std::pair<std::string, std::size_t>;

/// A name that was never used before, on any machine.
std::string new_name() {
  std::random_device device;
  return fmt::format("gpumux-{:08x}{:08x}", device(), device());
}

std::string quoted(const std::string& text) {  // for a shell
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Follower {
 public:
  Follower(database::ResultStore& store, const sweep::SweepPlan& plan, const FollowOptions& options)
      : store_(store), plan_(plan), options_(options), folder_(SharedFolder::make(options.folder)) {
    array_size_ = slurm_.most_tasks();
    if (options_.array_size > 0) array_size_ = std::min(array_size_, options_.array_size);
    if (!slurm_.tasks({})) throw UserError(fmt::format("Slurm does not answer: {}", slurm_.silence()));
    if (options_.retry_failed) folder_.remove_failures();
    adopt();
  }

  sweep::Progress run() {
    bool over = false;
    while (!over && !stopped()) {
      claim();
      collect();
      if (Clock::now() >= next_look_) {
        look();
        collect();  // tasks that ended before the look left their results before it
        judge();
        next_look_ = Clock::now() + options_.poll;
      }
      submit();
      beat();
      report(false);
      over = open_.empty() && store_.counts().pending == 0;
      if (!over) pause();
    }
    if (over) tidy();
    report(true);
    return progress_;
  }

 private:
  /// A run that this process has claimed, and that has not ended.
  struct Open {
    database::Claim claim;
    unsigned attempts = 0;       // submissions so far
    std::optional<Place> place;  // task that does the run; none: to be submitted
    std::string last_words;      // of the last task that lost the run
  };
  /// State of a task according to Slurm.
  struct Sight {
    TaskState state = TaskState::Ended;
    std::string word = "forgotten by Slurm";
    unsigned looks = 0;  // looks in a row that found the task ended or stuck
  };
  /// The latest submission of a run, by any submitter.
  struct Earlier {
    Place place;
    unsigned attempt = 0;
  };
  static constexpr std::size_t kClaims = 10'000;  // claims in one transaction
  static constexpr seconds kHeartbeat{database::kLeaseSeconds / 6};

  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop != 0; }

  /// Finds the submissions of an earlier submitter.
  void adopt() {
    for (const Submission& submission : folder_.submissions()) {
      for (std::size_t i = 0; i < submission.tasks.size(); ++i) {
        for (const TaskRun& run : submission.tasks[i]) {
          Earlier& earlier = earlier_[run.name];
          if (run.attempt > earlier.attempt) earlier = {{submission.name, i}, run.attempt};
        }
      }
    }
  }

  void claim() {
    for (database::Claim& claim : store_.claim(kClaims)) {
      const std::string name = run_name(plan_.runs[claim.index]);
      if (const auto known = open_.find(name); known != open_.end()) {  // another process had it for a while
        known->second.claim = std::move(claim);
        continue;
      }
      if (claim.baseline_failure) {
        keep_failure(claim, *claim.baseline_failure);
        continue;
      }
      Open run{std::move(claim), 0, std::nullopt, ""};
      if (const auto earlier = earlier_.find(name); earlier != earlier_.end()) {
        run.attempts = options_.retry_failed ? 0 : earlier->second.attempt;
        run.place = earlier->second.place;
      }
      if (run.place) {
        tasks_[*run.place].push_back(name);
      } else {
        ready_.push_back(name);
      }
      open_.emplace(name, std::move(run));
    }
  }

  /// Keeps the results in the shared folder.
  void collect() {
    for (const std::string& name : folder_.results()) {
      const auto found = open_.find(name);
      if (found == open_.end()) continue;  // of another submitter, or the second of a run
      const std::optional<TaskResult> result = folder_.result(name);
      if (!result) continue;
      if (result->good) {
        std::optional<database::ResultRow> row = readable(result->text);
        const experiment::RunSpec& spec = plan_.runs[found->second.claim.index].spec;
        if (!row || row->series_interval != spec.series || row->timeline.has_value() != spec.timeline) {
          folder_.remove_result(name);
          continue;
        }
        ++progress_.finished;
        (void)store_.finish(found->second.claim.id, *row);
      } else {
        keep_failure(found->second.claim, {result->exit_code, result->text});
      }
      close(found);
      earlier_.erase(name);  // its task does not do it again
      folder_.remove_result(name);
    }
  }

  /// Reads a result; nothing if the file is damaged, in which case the run counts as lost.
  static std::optional<database::ResultRow> readable(const std::string& text) {
    try {
      return sweep::read_result(text);
    } catch (const InternalError&) {
      return std::nullopt;
    }
  }

  void keep_failure(const database::Claim& claim, const database::FailureRow& failure) {
    ++progress_.finished;
    (void)store_.fail(claim.id, failure);
  }

  void close(std::unordered_map<std::string, Open>::iterator run) {
    if (run->second.place) {
      leave_task(*run->second.place, run->first);
    } else {
      std::erase(ready_, run->first);
    }
    open_.erase(run);
  }

  void leave_task(const Place& place, const std::string& name) {
    const auto task = tasks_.find(place);
    std::erase(task->second, name);
    if (!task->second.empty()) return;
    tasks_.erase(task);
    sights_.erase(place);
  }

  /// Asks Slurm for the states of the tasks.
  void look() {
    std::vector<std::string> names;
    for (const auto& [place, runs] : tasks_) {
      if (names.empty() || names.back() != place.first) names.push_back(place.first);
    }
    running_ = waiting_ = 0;
    reason_.clear();
    answered_ = false;
    if (names.empty()) return;
    const std::optional<std::vector<QueuedTask>> queue = slurm_.tasks(names);
    if (!queue) return;
    answered_ = true;
    std::map<Place, Sight> seen;
    for (const QueuedTask& task : *queue) {
      const Place place{task.name, task.position};
      if (!tasks_.contains(place)) continue;
      Sight& sight = seen[place];
      sight.state = task.state;
      sight.word = task.word;
      if (task.state == TaskState::Running) ++running_;
      if (task.state == TaskState::Waiting) {
        ++waiting_;
        reason_ = task.reason;
      }
      if (task.state == TaskState::Stuck) {
        slurm_.cancel(task);
        sight.word = task.reason;
      }
    }
    for (const auto& [place, runs] : tasks_) {
      Sight& sight = seen[place];
      const auto before = sights_.find(place);
      const bool is_over = sight.state == TaskState::Ended || sight.state == TaskState::Stuck;
      if (is_over) sight.looks = 1 + (before == sights_.end() ? 0 : before->second.looks);
    }
    sights_ = std::move(seen);
  }

  /// Handles tasks that are over: their runs without a result are lost. Decides at the second look, because a
  /// network file system may show a file late.
  void judge() {
    constexpr unsigned kLooks = 2;
    if (!answered_) return;
    std::vector<Place> lost;
    bool refreshed = false;
    for (const auto& [place, sight] : sights_) {
      if (sight.looks == 0 || !tasks_.contains(place)) continue;
      if (!refreshed) folder_.refresh();
      refreshed = true;
      if (sight.looks >= kLooks) lost.push_back(place);
    }
    for (const Place& place : lost) {
      const std::string said = folder_.last_words(place.first, place.second);
      const std::string why = sights_[place].word + (said.empty() ? "" : ": " + said);
      for (const std::string& name : std::vector<std::string>(tasks_[place])) lose(name, why);
    }
  }

  void lose(const std::string& name, const std::string& why) {
    const auto found = open_.find(name);
    Open& run = found->second;
    if (run.attempts >= options_.tries) {
      keep_failure(run.claim, {1, fmt::format("error: its task was lost {} times; the last time: {}",
                                              run.attempts, why)});
      close(found);
      return;
    }
    leave_task(*run.place, name);
    run.place.reset();
    ready_.push_back(name);
  }

  /// Number of runs per task. Short runs share a task, as long as there is work for many nodes.
  [[nodiscard]] std::size_t runs_per_task() {
    if (options_.runs_per_task > 0) return options_.runs_per_task;
    constexpr double kTaskSeconds = 60;
    constexpr double kUnknown = 10;
    constexpr std::size_t kTasks = 64;
    const double each = std::max(store_.mean_seconds().value_or(kUnknown), 1e-3);
    const auto fit = static_cast<std::size_t>(kTaskSeconds / each);
    return std::clamp<std::size_t>(fit, 1, (ready_.size() + kTasks - 1) / kTasks);
  }

  /// Submits the runs that are ready. Baselines end one after another, and each makes more runs ready.
  /// Therefore ready runs are collected for a while, unless there is nothing else to do.
  void submit() {
    if (ready_.empty() || (!tasks_.empty() && Clock::now() < next_submission_)) return;
    const std::size_t per_task = runs_per_task();
    while (!ready_.empty() && !stopped()) {
      if (!submit_array(per_task)) break;
      beat();
    }
    next_submission_ = Clock::now() + options_.poll;
    next_look_ = std::min(next_look_, next_submission_);
  }

  /// Submits one array of ready runs. False: not possible now.
  bool submit_array(std::size_t per_task) {
    Submission submission;
    submission.name = new_name();
    submission.program = sweep::program_text();
    submission.file = fs::absolute(plan_.file.path).lexically_normal().string();
    submission.text = plan_.file.text;
    submission.scale = plan_.file.scale;
    std::deque<std::string> taken;
    bool alone = true;  // the next run starts a task of its own
    while (!ready_.empty()) {
      const std::string& name = ready_.front();
      const Open& run = open_.at(name);
      // One run may have ended the other runs of its task as well, so the last try of each run has a task of
      // its own.
      const bool last_try = run.attempts > 0 && run.attempts + 1 >= options_.tries;
      if (alone || last_try || submission.tasks.back().size() >= per_task) {
        if (submission.tasks.size() >= array_size_) break;
        submission.tasks.emplace_back();
      }
      alone = last_try;
      submission.tasks.back().push_back({name, run.attempts + 1, run.claim.isolated});
      taken.push_back(name);
      ready_.pop_front();
    }
    folder_.put(submission);  // before Slurm knows the array, so that it is always found later
    JobArray array;
    array.name = submission.name;
    array.tasks = submission.tasks.size();
    array.at_a_time = options_.at_a_time;
    array.folder = folder_.path();
    array.partition = options_.partition;
    array.arguments = options_.sbatch_arguments;
    std::string log;
    for (const char c : folder_.path()) log += c == '%' ? "%%" : std::string(1, c);
    array.log = SharedFolder(log).log_path(submission.name, "%a");
    array.script = fmt::format("#!/bin/sh\nexec {} task {} \"$SLURM_ARRAY_TASK_ID\"\n",
                               quoted(options_.program), quoted(folder_.submission_path(submission.name)));
    const Submitted submitted = slurm_.submit(array);
    const bool refused = submitted.answer == Submitted::Answer::Refused ||
                         (submitted.answer == Submitted::Answer::Later && tasks_.empty());
    if (refused || submitted.answer == Submitted::Answer::Later) {
      folder_.remove_submission(submission);
      ready_.insert(ready_.begin(), taken.begin(), taken.end());
      if (refused) throw UserError(fmt::format("Slurm refuses the jobs: {}", submitted.message));
      return false;
    }
    // Also without an answer: Slurm's queue will show whether it has the array, once Slurm answers again.
    for (std::size_t i = 0; i < submission.tasks.size(); ++i) {
      const Place place{submission.name, i};
      for (const TaskRun& task_run : submission.tasks[i]) {
        Open& run = open_.at(task_run.name);
        run.attempts = task_run.attempt;
        run.place = place;
        tasks_[place].push_back(task_run.name);
      }
    }
    waiting_ += submission.tasks.size();
    return submitted.answer == Submitted::Answer::Accepted;
  }

  void beat() {
    if (Clock::now() - last_heartbeat_ < kHeartbeat) return;
    store_.heartbeat();
    last_heartbeat_ = Clock::now();
  }

  void pause() const {
    constexpr milliseconds kStep{50};  // to respond to signals
    const Clock::time_point until = Clock::now() + std::min<milliseconds>(options_.poll, seconds(1));
    while (Clock::now() < until && !stopped()) std::this_thread::sleep_for(kStep);
  }

  void report(bool at_end) {
    if (!at_end && Clock::now() - last_report_ < seconds(1)) return;
    last_report_ = Clock::now();
    progress_.counts = store_.counts();
    progress_.running = running_;
    progress_.elsewhere = tasks_.size();
    progress_.note = waiting_ == 0 ? "" : fmt::format("{} waiting", waiting_);
    if (waiting_ > 0 && !reason_.empty() && reason_ != "None")
      progress_.note += fmt::format(" ({})", reason_);
    if (!slurm_.silence().empty()) progress_.note = "Slurm does not answer";
    progress_.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (options_.progress) options_.progress(progress_);
  }

  /// Removes files and jobs of this plan, once no run of it is pending. Files of another submitter of this
  /// database stay, even if it does the runs again for their series.
  void tidy() {
    std::unordered_set<std::string> planned;
    for (const sweep::SweepRun& run : plan_.runs) planned.insert(run_name(run));
    database::Connection connection(options_.database, database::Access::Write);
    database::Statement claimed =
        connection.prepare("SELECT 1 FROM claims c JOIN runs r ON r.id = c.run_id WHERE r.hash = ?");
    const auto is_wanted = [&](const std::string& name) {
      if (store_.is_pending(hash_of(name))) return true;
      if (planned.contains(name)) return false;
      const bool is_claimed = claimed.bind(hash_of(name)).step();
      claimed.reset();
      return is_claimed;
    };
    for (const std::string& name : folder_.results()) {
      if (!is_wanted(name)) folder_.remove_result(name);
    }
    bool all_gone = true;
    for (const Submission& submission : folder_.submissions()) {
      bool wanted = false;
      for (const std::vector<TaskRun>& task : submission.tasks) {
        for (const TaskRun& run : task) wanted = wanted || is_wanted(run.name);
      }
      all_gone = all_gone && !wanted;
      if (wanted) continue;
      folder_.remove_submission(submission);
      slurm_.cancel(submission.name);
    }
    if (all_gone) folder_.remove_if_unused();
  }

  database::ResultStore& store_;
  const sweep::SweepPlan& plan_;
  const FollowOptions& options_;
  Slurm slurm_;
  SharedFolder folder_;
  std::size_t array_size_ = 0;
  std::unordered_map<std::string, Earlier> earlier_;  // by run_name()
  std::unordered_map<std::string, Open> open_;        // by run_name()
  std::deque<std::string> ready_;
  std::map<Place, std::vector<std::string>> tasks_;  // with their runs that have not ended
  std::map<Place, Sight> sights_;                    // at the last look
  bool answered_ = false;                            // at the last look
  std::uint64_t running_ = 0;
  std::uint64_t waiting_ = 0;
  std::string reason_;
  sweep::Progress progress_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_look_ = begin_;
  Clock::time_point next_submission_ = begin_;
  Clock::time_point last_heartbeat_ = begin_;
  Clock::time_point last_report_ = begin_ - seconds(1);
};

}  // namespace

sweep::Progress follow(database::ResultStore& store, const sweep::SweepPlan& plan,
                       const FollowOptions& options) {
  try {
    return Follower(store, plan, options).run();
  } catch (const UserError&) {
    SharedFolder(options.folder).remove_if_unused();
    throw;
  }
}

std::size_t cancel_all(const std::string& path) {
  const Slurm slurm;
  const SharedFolder folder(fs::absolute(path).lexically_normal().string());
  const std::vector<Submission> submissions = folder.submissions();
  for (const Submission& submission : submissions) {
    slurm.cancel(submission.name);
    folder.remove_submission(submission);
    for (const std::vector<TaskRun>& task : submission.tasks) {
      for (const TaskRun& run : task) folder.remove_result(run.name);
    }
  }
  folder.remove_if_unused();
  return submissions.size();
}

}  // namespace gpumux::cluster
