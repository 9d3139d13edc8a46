// Work in a separate process, so that a crash or lack of memory is one failed run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace gpumux::sweep {

struct WorkerOutcome {
  bool good = false;
  bool was_killed = false;  // by SIGKILL or SIGTERM, which the work itself never sends
  int exit_code = 0;        // of a failure, as gpumux's exit codes
  std::string text;         // the result, or the error
};

/// A child process that does one piece of work. The child ends when its parent ends.
class Worker {
 public:
  using Work = std::function<std::string()>;

  /// Forks. The calling process must have one thread. Throws UserError if no process can be created.
  explicit Worker(const Work& work);
  /// Kills the child if it still runs.
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  /// Becomes readable when the child has sent output or has ended, for poll().
  [[nodiscard]] int descriptor() const { return pipe_; }
  /// Reads the available output. True if the child has ended.
  [[nodiscard]] bool read();
  /// The outcome of the work. Requires that read() has returned true.
  [[nodiscard]] WorkerOutcome outcome();

 private:
  void end_child();
  void reap();

  pid_t child_ = -1;
  int pipe_ = -1;
  int errors_ = -1;  // an anonymous file with the child's standard error
  int status_ = 0;
  std::string received_;
};

}  // namespace gpumux::sweep
