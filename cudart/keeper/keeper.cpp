// gpumux-keeper: starts a CUDA program for gpumux and ends all of its processes, however gpumux ends
// (src/program/keeper.hpp). The keeper is a program of its own, because gpumux may be ended by a signal that
// cannot be caught.
#include "program/keeper.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using gpumux::program::KeeperMessage;

/// Signals to a process group, such as from Ctrl-C. The program decides how to react, so the keeper ignores
/// them.
constexpr std::array kIgnored = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
/// Signals whose handling gpumux may have changed.
constexpr std::array kOfGpumux = {SIGXFSZ, SIGXCPU};

void say(int control, KeeperMessage::What what, int value) {
  const KeeperMessage message{what, value};
  static_cast<void>(!::write(control, &message, sizeof(message)));
}

/// Closes all descriptors except the keeper's own, so that the keeper does not keep the program's socket or a
/// pipe open.
void close_all_but(int first, int second) {
  std::vector<int> open;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* const entry = ::readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (number > STDERR_FILENO && number != first && number != second && number != ::dirfd(folder))
      open.push_back(number);
  }
  ::closedir(folder);
  for (const int number : open) ::close(number);
}

void use_no_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  if (nothing > STDERR_FILENO) ::close(nothing);
}

/// The child processes of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return found;
  const pid_t me = ::getpid();
  while (const dirent* const entry = ::readdir(processes)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0) continue;
    std::array<char, 512> text{};
    const int file = ::open(("/proc/" + std::string(entry->d_name) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    const ssize_t bytes = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    // Format: "12 (a name) R 11 ...". A name may contain any character.
    const char* const name_end = bytes > 0 ? std::strrchr(text.data(), ')') : nullptr;
    int parent = 0;
    if (name_end != nullptr && std::sscanf(name_end, ") %*c %d", &parent) == 1 && parent == me)
      found.push_back(process);
  }
  ::closedir(processes);
  return found;
}

/// Ends all processes that the program has started. Children of an ended process become the keeper's
/// children, so processes that have left its group or session are found, too.
void end_everything() {
  while (true) {
    bool some = false;
    for (const pid_t child : children()) some |= ::kill(child, SIGKILL) == 0;
    if (!some) return;  // no child, or only children of another user
    ::waitpid(-1, nullptr, 0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
}

[[noreturn]] void become_program(char** words, bool silent, pid_t keeper, const sigset_t& mask, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);
  for (const int signal : kIgnored) std::signal(signal, SIG_DFL);
  for (const int signal : kOfGpumux) std::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (silent) use_no_standard_streams();
  ::execve(words[0], words + 1, environ);
  const int error = errno;
  static_cast<void>(!::write(failure, &error, sizeof(error)));
  ::_exit(127);
}

/// Waits until gpumux closes its end of the socket or asks for the end.
void keep(int control, int signals, pid_t program) {
  std::array<pollfd, 2> waits = {pollfd{control, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  while (true) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if ((waits[1].revents & POLLIN) == 0) continue;
    signalfd_siginfo ignored{};
    static_cast<void>(!::read(signals, &ignored, sizeof(ignored)));
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == program) say(control, KeeperMessage::What::Ended, status);
  }
}

}  // namespace

int main(int count, char** words) {
  constexpr int kCannotBeKept = 2;
  if (count < 6) return kCannotBeKept;
  for (const int signal : kIgnored) std::signal(signal, SIG_IGN);
  const int control = std::atoi(words[1]);
  ::fcntl(control, F_SETFD, FD_CLOEXEC);
  const bool silent = std::strcmp(words[2], gpumux::program::kSilent) == 0;
  int next = 3;
  for (; next < count && std::strcmp(words[next], "--") != 0; ++next) ::putenv(words[next]);
  if (next + 2 >= count) return kCannotBeKept;

  sigset_t of_children;
  sigset_t mask;  // the program's signal mask
  sigemptyset(&of_children);
  sigaddset(&of_children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &of_children, &mask);
  const int signals = ::signalfd(-1, &of_children, SFD_CLOEXEC);
  std::array<int, 2> failure{-1, -1};
  if (signals < 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::pipe2(failure.data(), O_CLOEXEC) != 0) {
    say(control, KeeperMessage::What::CannotStart, errno);
    return kCannotBeKept;
  }
  const pid_t keeper = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) become_program(words + next + 1, silent, keeper, mask, failure[1]);
  int error = errno;
  // The program stays in gpumux's process group, which has the terminal. Signals to that group must not reach
  // the keeper.
  ::setpgid(0, 0);
  ::close(failure[1]);
  if (program > 0 && ::read(failure[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  close_all_but(control, signals);
  use_no_standard_streams();
  if (error != 0) {
    say(control, KeeperMessage::What::CannotStart, error);
    return kCannotBeKept;
  }
  say(control, KeeperMessage::What::Started, program);
  keep(control, signals, program);
  end_everything();
  return 0;
}
