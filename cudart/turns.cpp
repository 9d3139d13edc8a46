#include "turns.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace gpumux::cudart {
namespace {

/// State of a thread as a letter of proc(5): R for a thread that runs or is ready to run. 0: the thread has
/// ended.
char state_of(pid_t thread) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 256> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  // Format: "12 (a name) R ...". A name may contain any character.
  const char* const name_end = bytes > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '\0';
}

/// CPU time of a thread of this process; 0: the thread has ended. In contrast to wall-clock time, it does not
/// advance faster on a busy host.
std::chrono::nanoseconds cpu_time(pid_t thread) {
  // The clock number that pthread_getcpuclockid() computes: bit 2 for a thread, 2 below it for the
  // scheduler's own count.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U);
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

bool Turns::is_next(pid_t thread) const {
  const auto calls = [&](pid_t of) {
    const auto found = calls_.find(of);
    return found == calls_.end() ? 0 : found->second;
  };
  return std::ranges::all_of(waiting_, [&](pid_t other) {
    return std::pair(calls(thread), thread) <= std::pair(calls(other), other);
  });
}

std::set<pid_t> Turns::computing() const {
  std::set<pid_t> found;
  DIR* const tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return found;
  while (const dirent* const entry = ::readdir(tasks)) {
    const auto thread = static_cast<pid_t>(std::atoi(entry->d_name));
    if (thread == 0 || waiting_.contains(thread) || ignored_.contains(thread)) continue;
    if (state_of(thread) == 'R') found.insert(thread);
  }
  ::closedir(tasks);
  return found;
}

void Turns::lock() {
  const pid_t me = ::gettid();
  {
    const std::scoped_lock inner(mutex_);
    if (owner_ == me || (owner_ == 0 && __libc_single_threaded != 0)) {
      owner_ = me;
      ++depth_;
      return;
    }
    waiting_.insert(me);
    if (ignored_.erase(me) > 0 && !said_) {
      said_ = lost_order_ = true;
      std::fprintf(
          stderr,
          "gpumux: a host thread computed for long while others called: the order of their CUDA calls may "
          "differ from run to run\n");
    }
  }
  constexpr std::chrono::microseconds kShortest{20};
  constexpr std::chrono::microseconds kLongest{500};
  auto pause = kShortest;
  std::map<pid_t, std::chrono::nanoseconds>
      first_seen;  // CPU time of threads that delay this one, when first seen
  while (true) {
    {
      const std::scoped_lock inner(mutex_);
      const bool could = owner_ == 0 && is_next(me);
      bool waits = false;
      if (!could) first_seen.clear();
      for (const pid_t other : could ? computing() : std::set<pid_t>{}) {
        const std::chrono::nanoseconds taken = cpu_time(other);
        if (taken - first_seen.emplace(other, taken).first->second > kPatience) {
          ignored_.insert(other);
        } else {
          waits = true;
        }
      }
      if (could && !waits) {
        waiting_.erase(me);
        ++calls_[me];
        owner_ = me;
        depth_ = 1;
        return;
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

void Turns::unlock() {
  const std::scoped_lock inner(mutex_);
  if (--depth_ == 0) owner_ = 0;
}

bool Turns::take_lost_order() {
  const std::scoped_lock inner(mutex_);
  return std::exchange(lost_order_, false);
}

}  // namespace gpumux::cudart
