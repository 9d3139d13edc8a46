#include "base/temporary_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <utility>

namespace gpumux {
namespace {

/// Maximum number of temporary files at a time. A command writes only a handful of result files.
constexpr std::size_t kSlots = 64;
/// Paths to remove on a signal. Static, because a signal handler may neither allocate nor lock.
std::array<std::atomic<const char*>, kSlots> names{};
static_assert(std::atomic<const char*>::is_always_lock_free);

extern "C" void remove_and_end(int signal) {
  for (const auto& name : names) {
    if (const char* path = name.load()) ::unlink(path);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

TemporaryName::TemporaryName(std::string path) : path_(std::move(path)), slot_(-1) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    const char* expected = nullptr;
    if (names[i].compare_exchange_strong(expected, path_.c_str())) {
      slot_ = static_cast<int>(i);
      return;
    }
  }
}

TemporaryName::~TemporaryName() {
  if (slot_ >= 0) names[static_cast<std::size_t>(slot_)].store(nullptr);
}

void remove_temporaries_on(int signal) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // for example under nohup
  struct sigaction action {};
  action.sa_handler = remove_and_end;
  ::sigaction(signal, &action, nullptr);
}

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGQUIT}) remove_temporaries_on(signal);
}

void forget_temporaries() {
  for (auto& name : names) name.store(nullptr);
}

}  // namespace gpumux
