// Slurm as this program uses it: job arrays under names of our own. Ids are not relied on: a controller that
// was killed forgets jobs and gives their ids to others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::cluster {

/// A job array to submit.
struct JobArray {
  std::string name;    // unique
  std::string script;  // of each task; $SLURM_ARRAY_TASK_ID is its position
  std::size_t tasks = 1;
  unsigned at_a_time = 0;              // 0: as many as Slurm likes
  std::string folder;                  // where tasks run
  std::string log;                     // of each task; "%a" is its position
  std::string partition;               // empty: Slurm's default
  std::vector<std::string> arguments;  // further ones of sbatch
};

enum class TaskState { Waiting, Running, Stuck, Ended };

/// A task as Slurm knows it.
struct QueuedTask {
  std::string name;  // of its array
  std::size_t position = 0;
  TaskState state = TaskState::Waiting;
  std::string word;  // Slurm's own for the state: "NODE_FAIL"
  std::string reason;
  std::string id;  // of the moment
};

/// What became of a submission.
struct Submitted {
  enum class Answer {
    Accepted,
    Silence,  // nobody knows: the jobs may be there or not
    Later,    // some limit is reached
    Refused
  };
  Answer answer = Answer::Accepted;
  std::string message;
};

class Slurm {
 public:
  /// Throws UserError when Slurm's commands are not on PATH.
  Slurm();

  [[nodiscard]] Submitted submit(const JobArray& array) const;
  /// All tasks of the arrays that Slurm has not forgotten; nothing when it does not answer, see silence().
  [[nodiscard]] std::optional<std::vector<QueuedTask>> tasks(const std::vector<std::string>& names);
  /// Why it did not answer last; empty: it did.
  [[nodiscard]] const std::string& silence() const { return silence_; }
  /// As far as Slurm answers.
  void cancel(const std::string& name) const;
  void cancel(const QueuedTask& task) const;
  /// Tasks that an array may have here.
  [[nodiscard]] std::size_t most_tasks() const;

 private:
  std::string silence_;
};

/// A line of `squeue -o %j|%K|%T|%i|%r`; nothing when it is none.
[[nodiscard]] std::optional<QueuedTask> parse_queue_line(std::string_view line);
/// What sbatch's failure means, by what it printed.
[[nodiscard]] Submitted parse_refusal(std::string_view printed);

}  // namespace gpumux::cluster
