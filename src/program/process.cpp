#include "program/process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::program {
namespace {

/// Numbers of inherited descriptors: above those that programs and shells use themselves.
constexpr int kFirstDescriptor = 200;

/// Closes it at the end of a scope.
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

 private:
  int number_;
};

/// The caller's environment, with where the library is and how it finds us.
std::vector<std::string> environment(const std::string& libraries, int socket, int memory) {
  std::vector<std::string> all;
  std::string path = libraries;
  std::string preloaded = libraries + "/libgpumux_redirect.so";
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name == "LD_LIBRARY_PATH") {
      if (const std::string old = text.substr(name.size() + 1); !old.empty()) path += ":" + old;
    } else if (name == "LD_PRELOAD") {
      if (const std::string old = text.substr(name.size() + 1); !old.empty()) preloaded += ":" + old;
    } else if (name != kSocketVariable && name != kMemoryVariable) {
      all.push_back(text);
    }
  }
  all.push_back("LD_LIBRARY_PATH=" + path);
  all.push_back("LD_PRELOAD=" + preloaded);
  all.push_back(fmt::format("{}={}", kSocketVariable, socket));
  all.push_back(fmt::format("{}={}", kMemoryVariable, memory));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw UserError({program}, fmt::format("cannot be started ({})", std::strerror(error)));
}

}  // namespace

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("gpumux device memory", MFD_CLOEXEC)), staging_(nullptr) {
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
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) cannot_start(program, errno);
  Descriptor ours(pair[0]);
  const Descriptor theirs(pair[1]);
  // Copies without the mark by which they would be closed.
  const Descriptor inherited_socket(::fcntl(theirs.number(), F_DUPFD, kFirstDescriptor));
  const Descriptor inherited_memory(::fcntl(memory.descriptor(), F_DUPFD, kFirstDescriptor));
  std::array<int, 2> failure{};
  if (inherited_socket.number() < 0 || inherited_memory.number() < 0 ||
      ::pipe2(failure.data(), O_CLOEXEC) != 0)
    cannot_start(program, errno);
  const Descriptor failure_in(failure[0]);
  Descriptor failure_out(failure[1]);

  std::vector<std::string> words = command;
  std::vector<std::string> variables =
      environment(libraries, inherited_socket.number(), inherited_memory.number());
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> values = pointers(variables);
  const int parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {  // only what may be called between fork() and exec()
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    for (const int signal : {SIGXFSZ, SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGXCPU}) ::signal(signal, SIG_DFL);
    if (silent) {
      const int nothing = ::open("/dev/null", O_RDWR);
      for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
    }
    ::execve(program.c_str(), arguments.data(), values.data());
    const int error = errno;
    static_cast<void>(!::write(failure_out.number(), &error, sizeof(error)));
    ::_exit(127);
  }
  if (process_ < 0) cannot_start(program, errno);
  ::close(failure_out.release());
  int error = 0;
  if (::read(failure_in.number(), &error, sizeof(error)) == sizeof(error)) {
    wait();
    cannot_start(program, error);
  }
  socket_ = ours.release();
}

Process::~Process() {
  // First of all, so that it does not complain about a socket that has been closed.
  if (process_ >= 0) {
    ::kill(process_, SIGKILL);
    wait();
  }
  if (socket_ >= 0) ::close(socket_);
}

bool Process::read_all(void* to, std::size_t bytes) {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket_, next, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool Process::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Process::receive(Request& request) {
  RequestHead head{};
  if (!read_all(&head, sizeof(head))) return false;
  constexpr std::uint32_t kMostArgumentBytes = 4096;
  if (head.argument_bytes > kMostArgumentBytes || head.tail_bytes > kMostTailBytes) {
    throw UserError(
        fmt::format("the program wrote {} and {} bytes to the descriptor of gpumux, which are no CUDA call",
                    head.argument_bytes, head.tail_bytes));
  }
  request.call = head.call;
  request.arguments.resize(head.argument_bytes);
  request.tail.resize(head.tail_bytes);
  return read_all(request.arguments.data(), request.arguments.size()) &&
         read_all(request.tail.data(), request.tail.size());
}

void Process::answer(Error error, std::span<const std::byte> result, const std::string& printed,
                     std::span<const std::byte> tail) {
  const AnswerHead head{error, static_cast<std::uint32_t>(result.size()), printed.size(), tail.size()};
  static_cast<void>(write_all(std::as_bytes(std::span(&head, 1))) && write_all(result) &&
                    write_all(std::as_bytes(std::span(printed))) && write_all(tail));
}

int Process::wait() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  return status;
}

}  // namespace gpumux::program
