// A lock that makes a program's host threads call CUDA one after the other in a reproducible order.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace gpumux::cudart {

/// A recursive lock whose order of owners does not depend on which thread asks first. The lock waits until
/// each thread of the process wants the lock or sleeps, so the program itself determines the candidates. Of
/// the waiting threads, the one with the fewest calls so far gets the lock, and among equals the thread that
/// was created first.
///
/// If a thread computes for more than kPatience of CPU time, the others no longer wait for it until it calls.
/// Then the order may differ from run to run. This is reported once, and in the result.
class Turns {
 public:
  static constexpr std::chrono::milliseconds kPatience{200};

  void lock();
  void unlock();
  /// True once after the reproducible order was lost. Called by the thread that holds the lock.
  [[nodiscard]] bool take_lost_order();

 private:
  [[nodiscard]] bool is_next(pid_t thread) const;
  /// Threads that neither want the lock, nor sleep, nor have exceeded kPatience.
  [[nodiscard]] std::set<pid_t> computing() const;

  std::mutex mutex_;  // protects all following members
  pid_t owner_ = 0;
  int depth_ = 0;
  std::set<pid_t> waiting_;
  std::set<pid_t> ignored_;               // threads that have exceeded kPatience
  std::map<pid_t, std::uint64_t> calls_;  // number of calls by thread
  bool said_ = false;
  bool lost_order_ = false;  // not reported by take_lost_order() yet
};

}  // namespace gpumux::cudart
