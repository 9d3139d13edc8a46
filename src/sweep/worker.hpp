// Work in a process of its own: what crashes there, or runs out of memory, is one failed run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace gpumux::sweep {

struct WorkerOutcome {
  bool good = false;
  bool was_killed = false;  // by SIGKILL or SIGTERM, which no fault of the work sends
  int exit_code = 0;        // of a failure, as gpumux's
  std::string text;         // the result, or the error
};

/// A child process that does one piece of work. It dies with its parent.
class Worker {
 public:
  using Work = std::function<std::string()>;

  /// Forks. The calling process must have one thread. Throws UserError when there is no process to be had.
  explicit Worker(const Work& work);
  /// Kills the child if it still runs.
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  /// Readable when the child has said something or has ended: for poll().
  [[nodiscard]] int descriptor() const { return pipe_; }
  /// Reads what there is. True when the child has ended.
  [[nodiscard]] bool read();
  /// Once read() has returned true.
  [[nodiscard]] WorkerOutcome outcome();

 private:
  void end_child();
  void reap();

  pid_t child_ = -1;
  int pipe_ = -1;
  int errors_ = -1;  // what the child printed to standard error, an anonymous file
  int status_ = 0;
  std::string received_;
};

}  // namespace gpumux::sweep
