// Whose turn it is to call: a program's host threads one after the other, in an order that repeats.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace gpumux::cudart {

/// A recursive lock. Which of several threads gets it does not depend on which came first: it waits until
/// each thread of the process wants it or sleeps, so that what the program does by itself decides who can be
/// there; of those that want it, the one with the fewest calls so far gets it, of these the one that was made
/// first.
///
/// A thread that computes for more than kPatience of CPU time is waited for no more until it calls; where it
/// does, the order may differ from run to run, which is said once, and in the result.
class Turns {
 public:
  static constexpr std::chrono::milliseconds kPatience{200};

  void lock();
  void unlock();
  /// Once after the order was lost, to the thread that holds the lock.
  [[nodiscard]] bool take_lost_order();

 private:
  [[nodiscard]] bool is_next(pid_t thread) const;
  /// Threads that neither want the lock, nor sleep, nor have computed for long.
  [[nodiscard]] std::set<pid_t> computing() const;

  std::mutex mutex_;  // of what follows
  pid_t owner_ = 0;
  int depth_ = 0;
  std::set<pid_t> waiting_;
  std::set<pid_t> ignored_;               // since they computed for long
  std::map<pid_t, std::uint64_t> calls_;  // of each thread so far
  bool said_ = false;
  bool lost_order_ = false;  // and nobody has taken it
};

}  // namespace gpumux::cudart
