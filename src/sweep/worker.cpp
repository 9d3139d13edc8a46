#include "sweep/worker.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "base/temporary_file.hpp"
#include "base/text.hpp"

namespace gpumux::sweep {
namespace {

// The first byte of a child's output.
constexpr char kGood = '+';  // else the digit of the exit code

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string perform(const Worker::Work& work) {
  try {
    return kGood + work();
  } catch (...) {
    const Failure failure = current_failure();
    return static_cast<char>('0' + failure.exit_code) + failure.text;
  }
}

[[noreturn]] void be_child(const Worker::Work& work, pid_t parent, int pipe, int errors) {
  // Ctrl-C reaches the whole process group; the parent decides what to do.
  std::signal(SIGINT, SIG_IGN);
  forget_temporaries();
  for (const int signal : {SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_DFL);
    remove_temporaries_on(signal);  // temporary files of the cache
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // the parent ended before prctl
  const int nothing = ::open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(errors >= 0 ? errors : nothing, STDERR_FILENO);
  }
  ::_exit(write_all(pipe, perform(work)) ? 0 : 1);
}

/// The last line of a file, at most kMost characters.
std::string last_line(int file) {
  constexpr off_t kMost = 1000;
  if (file < 0) return "";
  const off_t size = ::lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::min(std::max<off_t>(size, 0), kMost)), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::string_view trimmed = trim(text);
  return std::string(trimmed.substr(trimmed.rfind('\n') + 1));
}

}  // namespace

Worker::Worker(const Work& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw UserError(fmt::format("no pipe for a worker ({}); fewer --jobs need fewer", std::strerror(errno)));
  }
  errors_ = ::memfd_create("worker", MFD_CLOEXEC);  // optional: for messages of crashes
  std::fflush(nullptr);                             // otherwise the child would print the buffers again
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) be_child(work, parent, ends[1], errors_);
  const int reason = errno;
  ::close(ends[1]);
  pipe_ = ends[0];
  if (child_ < 0) {
    ::close(pipe_);
    if (errors_ >= 0) ::close(errors_);
    throw UserError(
        fmt::format("no process for a worker ({}); fewer --jobs need fewer", std::strerror(reason)));
  }
  ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
}

Worker::Worker(Worker&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      status_(other.status_),
      received_(std::move(other.received_)) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(pipe_, other.pipe_);
  std::swap(errors_, other.errors_);
  std::swap(status_, other.status_);
  std::swap(received_, other.received_);
  return *this;
}

Worker::~Worker() {
  end_child();
  if (pipe_ >= 0) ::close(pipe_);
  if (errors_ >= 0) ::close(errors_);
}

/// Ends the child, with some time to remove files that it was writing.
void Worker::end_child() {
  constexpr int kTries = 100;
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  for (int i = 0; i < kTries; ++i) {
    const pid_t ended = ::waitpid(child_, &status_, WNOHANG);
    if (ended == child_ || (ended < 0 && errno != EINTR)) {
      child_ = -1;
      return;
    }
    ::usleep(2000);
  }
  ::kill(child_, SIGKILL);
  reap();
}

void Worker::reap() {
  if (child_ <= 0) return;
  while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

bool Worker::read() {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      reap();
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
}

WorkerOutcome Worker::outcome() {
  WorkerOutcome outcome;
  outcome.exit_code = kOurFault;
  if (WIFSIGNALED(status_)) {
    const int signal = WTERMSIG(status_);
    outcome.was_killed = signal == SIGKILL || signal == SIGTERM;
    // Signals from outside: the system when memory runs out, a limit of the user's, or a person.
    const bool from_outside = outcome.was_killed || signal == SIGXCPU || signal == SIGHUP;
    if (from_outside) outcome.exit_code = kUserFault;
    const std::string said = last_line(errors_);
    outcome.text =
        fmt::format("{}: the worker was ended by signal {} ({}){}{}{}",
                    from_outside ? "error" : "internal error", signal, ::strsignal(signal),
                    signal == SIGKILL ? ", perhaps for want of memory" : "", said.empty() ? "" : ": ", said);
    return outcome;
  }
  if (WEXITSTATUS(status_) != 0 || received_.empty()) {
    outcome.text =
        fmt::format("internal error: the worker exited with {} and no result", WEXITSTATUS(status_));
    return outcome;
  }
  outcome.good = received_.front() == kGood;
  outcome.exit_code = outcome.good ? 0 : received_.front() - '0';
  outcome.text = received_.substr(1);
  return outcome;
}

}  // namespace gpumux::sweep
