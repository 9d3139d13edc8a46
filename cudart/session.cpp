#include "session.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "version.hpp"

namespace gpumux::cudart {
namespace {

constexpr program::Nothing kNothing{};
constexpr const char* kHow = "run the program as `gpumux run -- PROGRAM ARGUMENTS`";
constexpr const char* kOther = "another process of the program uses the simulated GPU; one can";

constexpr const char* kClosed =
    "the descriptors that gpumux gave to the program are closed; Python's subprocess closes them unless it "
    "is given "
    "close_fds=False";

bool is_open(int descriptor, mode_t kind) {
  struct stat of {};
  return fstat(descriptor, &of) == 0 && (of.st_mode & S_IFMT) == kind;
}

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value < (1 << 20) ? static_cast<int>(value) : -1;
}

std::atomic<bool> runtime_used = false;
thread_local int driver_calls = 0;  // nesting depth
thread_local bool exchanging = false;

/// Runs after the destructors of the program's own objects, which may still call CUDA.
[[gnu::destructor]] void end_in_order() { Session::get().finish(); }

}  // namespace

DriverCall::DriverCall() : last_error_(last_error()) { ++driver_calls; }
DriverCall::~DriverCall() {
  --driver_calls;
  last_error() = last_error_;
}

Session& Session::get() {
  static Session* const session = new Session;
  return *session;
}

Error Session::lose(const char* why) {
  std::fprintf(stderr, "gpumux: CUDA calls of this process fail: %s\n", why);
  connected_ = false;
  return Error::NoDevice;
}

bool& uses_runtime() {
  thread_local bool uses = false;
  return uses;
}
bool was_runtime_used() { return runtime_used; }

Error Session::connect() {
  const auto answer = [this] {
    if (!std::exchange(tried_, true)) return hello();
    if (!connected_) return Error::NoDevice;
    // After fork(), the child has the parent's socket, whose answers belong to the parent.
    return process_ == getpid() ? Error::Success : Error::InitializationError;
  }();
  if (answer == Error::Success && driver_calls == 0) uses_runtime() = runtime_used = true;
  return answer;
}

Error Session::hello() {
  socket_ = number_in(program::kSocketVariable);
  memory_ = number_in(program::kMemoryVariable);
  if (socket_ < 0 || memory_ < 0) return lose(kHow);
  if (!is_open(socket_, S_IFSOCK) || !is_open(memory_, S_IFREG)) return lose(kClosed);
  process_ = getpid();
  // Processes after a fork() share one socket. A file lock belongs to one process, so only the first process
  // gets it and keeps it.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(memory_, F_SETLK, &whole) != 0) return lose(errno == EACCES || errno == EAGAIN ? kOther : kHow);
  connected_ = true;
  const program::HelloArguments arguments{program::kProtocolVersion, kDriverVersion, process_};
  const Error error = call(Call::Hello, arguments, &device_);
  if (error == Error::NotSupported) return lose(kOther);
  if (error != Error::Success) return lose("gpumux is of another version than this library");
  void* const at = reinterpret_cast<void*>(device_.memory_base);
  const int access = PROT_READ | PROT_WRITE;
  void* const mapped =
      mmap(at, device_.memory_bytes, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, memory_, 0);
  if (mapped != at)
    return lose("the addresses of device memory are in use here, or a limit on memory is too low");
  void* const staging = mmap(nullptr, program::kStagingBytes, access, MAP_SHARED | MAP_NORESERVE, memory_,
                             static_cast<off_t>(program::kDeviceBytes));
  if (staging == MAP_FAILED) return lose("a limit on memory is too low");
  staging_ = static_cast<std::byte*>(staging);
  return Error::Success;
}

void Session::finish() {
  if (!connected_ || process_ != getpid() || exchanging) return;
  const std::scoped_lock lock(lock_);
  static_cast<void>(call(Call::Finish, program::Nothing{}));
}

bool Session::map_device(void* at, std::size_t bytes, std::uintptr_t device_address) const {
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memory_,
              static_cast<off_t>(device_address - device_.memory_base)) == at;
}

bool Session::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Session::receive(void* to, std::size_t bytes) {
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

Error Session::exchange(Call which, std::span<const std::byte> arguments, std::span<const std::byte> tail,
                        std::span<std::byte> result, std::string* answered) {
  exchanging = true;
  if (connected_ && lock_.take_lost_order())
    static_cast<void>(
        exchange_now(Call::HostOrderVaries, std::as_bytes(std::span(&kNothing, 1)), {}, {}, nullptr));
  const Error error = exchange_now(which, arguments, tail, result, answered);
  exchanging = false;
  return error;
}

Error Session::exchange_now(Call which, std::span<const std::byte> arguments, std::span<const std::byte> tail,
                            std::span<std::byte> result, std::string* answered) {
  const program::RequestHead head{which, static_cast<std::uint32_t>(arguments.size()), tail.size()};
  if (!send(std::as_bytes(std::span(&head, 1))) || !send(arguments) || !send(tail))
    return lose("gpumux has ended");
  program::AnswerHead answer{};
  if (!receive(&answer, sizeof(answer))) return lose("gpumux has ended");
  if (answer.result_bytes != 0 && answer.result_bytes != result.size())
    return lose("gpumux is of another version than this library");
  if (answer.result_bytes != 0 && !receive(result.data(), result.size())) return lose("gpumux has ended");
  std::string text(answer.printed_bytes, '\0');
  if (!receive(text.data(), text.size())) return lose("gpumux has ended");
  // Like the driver, prints kernels' output in between the program's own output.
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
  text.assign(answer.tail_bytes, '\0');
  if (!receive(text.data(), text.size())) return lose("gpumux has ended");
  if (answered != nullptr) *answered = std::move(text);
  return answer.error;
}

}  // namespace gpumux::cudart
