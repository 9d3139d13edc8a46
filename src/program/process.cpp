#include "program/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "program/keeper.hpp"

namespace gpumux::program {
namespace {

/// First number for inherited descriptors, above the numbers that programs and shells use themselves.
constexpr int kFirstDescriptor = 200;

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_;
};

/// Environment variables for the program as NAME=VALUE: the folder of the libraries, and the numbers of the
/// inherited descriptors.
std::vector<std::string> variables(const std::string& libraries, int socket, int memory) {
  const auto in_front = [](const char* name, const std::string& first) {
    const char* const old = std::getenv(name);
    return fmt::format("{}={}{}{}", name, first, old == nullptr || *old == '\0' ? "" : ":",
                       old == nullptr ? "" : old);
  };
  return {in_front("LD_LIBRARY_PATH", libraries),
          in_front("LD_PRELOAD", libraries + "/libgpumux_redirect.so"),
          fmt::format("{}={}", kSocketVariable, socket), fmt::format("{}={}", kMemoryVariable, memory)};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Limit of open files that is needed: the inherited descriptors, the program's own, and some reserve.
constexpr rlim_t kLeastOpenFiles = kFirstDescriptor + 56;

[[noreturn]] void cannot_start(const std::string& program, int error) {
  rlimit files{};
  if ((error == EMFILE || error == EINVAL) && ::getrlimit(RLIMIT_NOFILE, &files) == 0 &&
      files.rlim_cur < kLeastOpenFiles) {
    throw UserError({program},
                    fmt::format("cannot be started: the limit on open files is {}, and {} are needed "
                                "(ulimit -n {})",
                                files.rlim_cur, kLeastOpenFiles, kLeastOpenFiles));
  }
  throw UserError({program}, fmt::format("cannot be started ({})", std::strerror(error)));
}

/// A descriptor that can be polled for the end of a process; -1 if there is none.
int descriptor_of(std::int64_t process) {
  return process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)) : -1;
}

bool is_readable(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

void close_if_open(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

}  // namespace

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("gpumux device memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      staging_(nullptr) {
  const auto refuse = [&] {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw UserError(
        fmt::format("no shared memory for a CUDA program's device ({}); a limit such as `ulimit -v` or "
                    "`ulimit -f` is too low",
                    std::strerror(error)));
  };
  if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(kDeviceBytes + kStagingBytes)) != 0)
    refuse();
  // Seals prevent the program from truncating the file that both sides map. On a system without seals, the
  // program could do so.
  static_cast<void>(::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  void* const staging = ::mmap(nullptr, kStagingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                               descriptor_, static_cast<off_t>(kDeviceBytes));
  if (staging == MAP_FAILED) refuse();
  staging_ = static_cast<std::byte*>(staging);
}

MemoryFile::~MemoryFile() {
  ::munmap(staging_, kStagingBytes);
  ::close(descriptor_);
}

std::string find_program(const std::string& name) {
  namespace fs = std::filesystem;
  const auto runs = [](const std::string& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
    std::error_code ignored;
    throw UserError({name},
                    fs::exists(name, ignored) ? "is no program that can be executed" : "does not exist");
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(candidate)) return candidate;
  }
  throw UserError(fmt::format("there is no program '{}' in PATH; one of this folder is ./{}", name, name));
}

Process::Process(const std::vector<std::string>& command, const std::string& libraries,
                 const MemoryFile& memory, bool silent) {
  const std::string program = find_program(command.front());
  std::array<int, 2> calls{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, calls.data()) != 0) cannot_start(program, errno);
  Descriptor ours(calls[0]);
  const Descriptor theirs(calls[1]);
  std::array<int, 2> control{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control.data()) != 0) cannot_start(program, errno);
  Descriptor our_control(control[0]);
  Descriptor keepers_control(control[1]);
  // Duplicates without the close-on-exec flag.
  const Descriptor inherited_socket(::fcntl(theirs.number(), F_DUPFD, kFirstDescriptor));
  const Descriptor inherited_memory(::fcntl(memory.descriptor(), F_DUPFD, kFirstDescriptor));
  Descriptor inherited_control(::fcntl(keepers_control.number(), F_DUPFD, kFirstDescriptor));
  if (inherited_socket.number() < 0 || inherited_memory.number() < 0 || inherited_control.number() < 0)
    cannot_start(program, errno);
  const int on = 1;  // the system reports the sender of each request
  static_cast<void>(::setsockopt(ours.number(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));

  const std::string keeper = libraries + "/" + kKeeperFile;
  std::vector<std::string> words = {keeper, std::to_string(inherited_control.number()),
                                    silent ? kSilent : kHeard};
  for (std::string& variable : variables(libraries, inherited_socket.number(), inherited_memory.number()))
    words.push_back(std::move(variable));
  words.insert(words.end(), {"--", program});
  words.insert(words.end(), command.begin(), command.end());
  const std::vector<char*> arguments = pointers(words);
  keeper_ = ::fork();
  if (keeper_ == 0) {  // only calls that are allowed between fork() and exec()
    ::execv(keeper.c_str(), arguments.data());
    const KeeperMessage message{KeeperMessage::What::CannotStart, errno};
    static_cast<void>(!::write(inherited_control.number(), &message, sizeof(message)));
    ::_exit(127);
  }
  if (keeper_ < 0) cannot_start(program, errno);
  socket_ = ours.release();
  control_ = our_control.release();
  // From here on, only the keeper holds its end of the socket, so the end of the keeper can be detected.
  keepers_control.close();
  inherited_control.close();
  KeeperMessage message{KeeperMessage::What::CannotStart, ECHILD};
  static_cast<void>(::recv(control_, &message, sizeof(message), MSG_WAITALL));
  if (message.what != KeeperMessage::What::Started) {
    end();
    cannot_start(program, message.value);
  }
}

Process::~Process() { end(); }

void Process::end() {
  // The keeper ends first, so that the program does not complain about a closed socket.
  close_if_open(control_);
  if (keeper_ >= 0)
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) continue;
  keeper_ = -1;
  for (int* const descriptor : {&socket_, &sender_process_, &caller_process_}) close_if_open(*descriptor);
}

bool Process::wait_for_sender(short events) {
  const int process = sender_ == caller_ ? caller_process_ : sender_process_;
  while (true) {
    // poll() ignores negative descriptors.
    std::array<pollfd, 2> waits = {pollfd{socket_, events, 0}, pollfd{process, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno != EINTR) return false;
      continue;
    }
    // Data that a process sent before its end can still be received. Data that is sent to it afterwards would
    // never be read.
    if (events == POLLIN && waits[0].revents != 0) return true;
    if (waits[1].revents != 0) return false;
    if (waits[0].revents != 0) return true;
  }
}

bool Process::read_all(void* to, std::size_t bytes) {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket_, next, bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_sender(POLLIN)))) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool Process::read_text(std::string& to, std::uint64_t bytes) {
  constexpr std::uint64_t kPart = std::uint64_t{1}
                                  << 24U;  // announcing more bytes than are sent allocates no more memory
  to.clear();
  while (to.size() < bytes) {
    const std::size_t begin = to.size();
    to.resize(begin + std::min(bytes - begin, kPart));
    if (!read_all(to.data() + begin, to.size() - begin)) return false;
  }
  return true;
}

bool Process::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_sender(POLLOUT)))) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Process::read_head(RequestHead& head) {
  iovec part{&head, sizeof(head)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> beside{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  ssize_t got = 0;
  while ((got = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  no_more_comes_ = got == 0;
  if (got <= 0) return false;
  std::int64_t sender = 0;
  for (const cmsghdr* of = CMSG_FIRSTHDR(&message); of != nullptr;
       of = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(of))) {
    if (of->cmsg_level != SOL_SOCKET || of->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(of), sizeof(who));
    sender = who.pid;
  }
  if (sender != sender_) {
    close_if_open(sender_process_);
    sender_ = sender;
    if (sender_ != caller_) sender_process_ = descriptor_of(sender_);
  }
  return read_all(reinterpret_cast<char*>(&head) + got, sizeof(head) - static_cast<std::size_t>(got));
}

Process::Event Process::receive(Request& request) {
  while (true) {
    std::array<pollfd, 3> waits = {pollfd{socket_, POLLIN, 0}, pollfd{status_ ? -1 : control_, POLLIN, 0},
                                   pollfd{caller_ended_ ? -1 : caller_process_, POLLIN, 0}};
    // A caller that cannot be watched is taken for the program itself.
    const bool caller_may_live = caller_ != 0 && !caller_ended_ && caller_process_ >= 0;
    const bool all_ended = status_ && !caller_may_live;  // their last requests may still be in the socket
    if (::poll(waits.data(), waits.size(), all_ended ? 0 : -1) < 0 && errno != EINTR) return Event::Ended;
    if (waits[0].revents != 0) {
      RequestHead head{};
      if (read_head(head)) {
        constexpr std::uint32_t kMostArgumentBytes = 4096;
        if (head.argument_bytes > kMostArgumentBytes || head.tail_bytes > kMostTailBytes) {
          throw UserError(fmt::format(
              "the program wrote {} and {} bytes to the descriptor of gpumux, which are no CUDA call",
              head.argument_bytes, head.tail_bytes));
        }
        request.call = head.call;
        if (read_text(request.arguments, head.argument_bytes) && read_text(request.tail, head.tail_bytes))
          return Event::Request;
      }
      // Incomplete request: its sender has ended, or all holders of the socket have ended or shut it down.
      if ((waits[0].revents & POLLHUP) != 0 || no_more_comes_) {
        if (caller_ != 0 && !std::exchange(caller_ended_, true)) return Event::CallerEnded;
        return Event::Ended;
      }
      continue;
    }
    if (waits[1].revents != 0) read_status();
    if (waits[2].revents != 0) {
      caller_ended_ = true;
      return Event::CallerEnded;
    }
    if (all_ended) return Event::Ended;
  }
}

void Process::serve_sender() {
  if (caller_process_ >= 0 && caller_ == sender_) return;
  close_if_open(caller_process_);
  caller_ = sender_;
  caller_process_ = std::exchange(sender_process_, -1);
  caller_ended_ = false;
}

bool Process::caller_has_ended() const {
  return caller_ended_ || (caller_process_ >= 0 && is_readable(caller_process_));
}

void Process::answer(Error error, std::span<const std::byte> result, const std::string& printed,
                     std::span<const std::byte> tail) {
  if (sender_ == caller_ && caller_has_ended()) return;  // the next process would read the answer
  const AnswerHead head{error, static_cast<std::uint32_t>(result.size()), printed.size(), tail.size()};
  static_cast<void>(write_all(std::as_bytes(std::span(&head, 1))) && write_all(result) &&
                    write_all(std::as_bytes(std::span(printed))) && write_all(tail));
}

bool Process::is_one_thread() const {
  namespace fs = std::filesystem;
  std::error_code error;
  if (caller_ == 0) return false;  // unknown
  const fs::path threads = fmt::format("/proc/{}/task", caller_);
  std::size_t count = 0;
  for (fs::directory_iterator at(threads, error); !error && at != fs::directory_iterator();
       at.increment(error))
    ++count;
  if (error || count != 1) return false;
  std::ifstream status(fmt::format("/proc/{}/stat", caller_));
  std::string state;
  std::getline(status, state);
  // Format: "PID (NAME) STATE ...". A process in state Z or X has ended, although its end was not reported
  // yet.
  const std::size_t name_end = state.rfind(')');
  if (name_end == std::string::npos || state.find_first_of("ZX", name_end) == name_end + 2) return false;
  std::ifstream children(threads / std::to_string(caller_) / "children");
  std::string first;
  return children.good() && !(children >> first);
}

void Process::read_status() {
  KeeperMessage message{KeeperMessage::What::Ended, SIGKILL};  // default if the keeper was killed
  static_cast<void>(::recv(control_, &message, sizeof(message), MSG_WAITALL));
  status_ = message.value;
}

int Process::wait() {
  while (!status_) read_status();
  return *status_;
}

}  // namespace gpumux::program
