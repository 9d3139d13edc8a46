#include "cluster/command.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.hpp"

namespace gpumux::cluster {
namespace {

using Clock = std::chrono::steady_clock;

/// Both ends of a pipe. The destructor closes them.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw UserError(fmt::format("no pipe for a command ({})", std::strerror(errno)));
    }
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_read() { close(ends_[0]); }
  void close_write() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// Reads available bytes of a pipe. False at its end.
bool read_some(int from, std::string& to) {
  std::array<char, 1 << 14> buffer;
  const ssize_t got = ::read(from, buffer.data(), buffer.size());
  if (got > 0) to.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

}  // namespace

std::optional<CommandOutcome> run_command(const std::vector<std::string>& words, std::string_view input,
                                          std::chrono::seconds limit, std::string_view without) {
  Pipe in, out, err;
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (without.empty() || !std::string_view(*variable).starts_with(without)) variables.push_back(*variable);
  }
  variables.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its own, not the terminal's
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT || failed == EACCES || failed == ENOTDIR) return std::nullopt;
  if (failed != 0) throw UserError(fmt::format("no process for {} ({})", words[0], std::strerror(failed)));

  in.close_read();
  out.close_write();
  err.close_write();
  // `input` fits into the pipe. The program may end without reading it, so SIGPIPE is ignored here.
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  const ssize_t written = ::write(in.write_end(), input.data(), input.size());
  std::signal(SIGPIPE, before);
  in.close_write();

  CommandOutcome outcome;
  outcome.too_late = written < 0 && errno != EPIPE;
  const Clock::time_point deadline = Clock::now() + limit;
  bool more_out = true;
  bool more_err = true;
  while (more_out || more_err) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      outcome.too_late = true;
      ::kill(-child, SIGKILL);  // with the processes that it has started
      break;
    }
    std::array<pollfd, 2> polled = {pollfd{more_out ? out.read_end() : -1, POLLIN, 0},
                                    pollfd{more_err ? err.read_end() : -1, POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), static_cast<int>(left.count())) < 0) continue;
    if (polled[0].revents != 0) more_out = read_some(out.read_end(), outcome.out);
    if (polled[1].revents != 0) more_err = read_some(err.read_end(), outcome.err);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

}  // namespace gpumux::cluster
