// Slurm as this program uses it: job arrays under names of our own. The program does not rely on ids, because
// a controller that was killed forgets jobs and reuses their ids.
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
  unsigned at_a_time = 0;              // tasks that run at a time; 0: no limit
  std::string folder;                  // working folder of the tasks
  std::string log;                     // log file of each task; "%a" is its position
  std::string partition;               // empty: Slurm's default
  std::vector<std::string> arguments;  // further arguments of sbatch
};

enum class TaskState { Waiting, Running, Stuck, Ended };

/// A task in Slurm's queue.
struct QueuedTask {
  std::string name;  // of the array
  std::size_t position = 0;
  TaskState state = TaskState::Waiting;
  std::string word;  // Slurm's word for the state: "NODE_FAIL"
  std::string reason;
  std::string id;  // valid at the moment
};

/// The outcome of a submission.
struct Submitted {
  enum class Answer {
    Accepted,
    Silence,  // unknown: the jobs may exist or not
    Later,    // a limit is reached
    Refused
  };
  Answer answer = Answer::Accepted;
  std::string message;
};

class Slurm {
 public:
  /// Throws UserError if Slurm's commands are not on PATH.
  Slurm();

  [[nodiscard]] Submitted submit(const JobArray& array) const;
  /// All tasks of the arrays that Slurm still knows; nothing if Slurm does not answer, see silence().
  [[nodiscard]] std::optional<std::vector<QueuedTask>> tasks(const std::vector<std::string>& names);
  /// Why Slurm did not answer the last query; empty: it answered.
  [[nodiscard]] const std::string& silence() const { return silence_; }
  /// Cancels tasks, if Slurm answers.
  void cancel(const std::string& name) const;
  void cancel(const QueuedTask& task) const;
  /// Largest number of tasks of an array on this cluster.
  [[nodiscard]] std::size_t most_tasks() const;

 private:
  std::string silence_;
};

/// Parses a line of `squeue -o %j|%K|%T|%i|%r`; nothing if the line has another form.
[[nodiscard]] std::optional<QueuedTask> parse_queue_line(std::string_view line);
/// Classifies a failure of sbatch by the text that it printed.
[[nodiscard]] Submitted parse_refusal(std::string_view printed);

}  // namespace gpumux::cluster
