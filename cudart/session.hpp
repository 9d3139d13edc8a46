// The library's side of the protocol with gpumux (src/program/protocol.hpp). There is one session per
// process. The first call that needs the simulated GPU connects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>

#include "program/protocol.hpp"
#include "turns.hpp"

/// Marks a function that a program can call. Names are NVIDIA's, symbol versions come from versions.map.
#define GPUMUX_CUDART_API extern "C" __attribute__((visibility("default")))

namespace gpumux::cudart {

using program::Call;

[[nodiscard]] inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
using program::Error;

class Session {
 public:
  /// The session of this process. Never destroyed, since programs call the run time from destructors of
  /// static objects.
  static Session& get();

  /// A lock that a thread must hold from the first to the last request of an API call.
  [[nodiscard]] Turns& lock() { return lock_; }
  /// Connects to the simulated GPU at the first call. A failure is explained once on standard error.
  Error connect();
  /// Description of the machine. Valid after connect() has succeeded.
  [[nodiscard]] const program::DeviceDescription& device() const { return device_; }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] std::byte* staging() const { return staging_; }
  /// Waits for the process's work at its normal end, since the work would end with the process. Does nothing
  /// if a request is incomplete, as after exit() in a signal handler.
  void finish();
  /// Maps `bytes` bytes of device memory at `at` as well, in place of the present pages. Both addresses must
  /// be multiples of a page. Returns false if the system refuses.
  [[nodiscard]] bool map_device(void* at, std::size_t bytes, std::uintptr_t device_address) const;
  /// True for an address in memory that the device can access.
  [[nodiscard]] bool is_shared(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return connected_ && address - device_.memory_base < device_.memory_bytes;
  }

  /// Sends a request and receives its answer. `tail`: additional bytes of the request. `answered`: receives
  /// additional bytes of the answer, which are dropped if it is nullptr.
  template <class Arguments, class Result>
  Error call(Call which, const Arguments& arguments, Result* result, std::span<const std::byte> tail = {},
             std::string* answered = nullptr) {
    static_assert(std::is_trivially_copyable_v<Arguments> && std::is_trivially_copyable_v<Result>);
    return exchange(which, std::as_bytes(std::span(&arguments, 1)), tail,
                    std::as_writable_bytes(std::span(result, 1)), answered);
  }
  template <class Arguments>
  Error call(Call which, const Arguments& arguments, std::span<const std::byte> tail = {},
             std::string* answered = nullptr) {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    return exchange(which, std::as_bytes(std::span(&arguments, 1)), tail, {}, answered);
  }

 private:
  Session() = default;
  Error exchange(Call which, std::span<const std::byte> arguments, std::span<const std::byte> tail,
                 std::span<std::byte> result, std::string* answered);
  Error exchange_now(Call which, std::span<const std::byte> arguments, std::span<const std::byte> tail,
                     std::span<std::byte> result, std::string* answered);
  Error hello();
  Error lose(const char* why);
  bool send(std::span<const std::byte> bytes);
  bool receive(void* to, std::size_t bytes);

  Turns lock_;
  bool tried_ = false;
  bool connected_ = false;
  int socket_ = -1;
  int memory_ = -1;  // descriptor of the file that backs device memory
  std::int64_t process_ = 0;
  program::DeviceDescription device_{};
  std::byte* staging_ = nullptr;
};

/// Connects for a call that makes no request of its own.
inline Error connected() {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  return session.connect();
}

/// Scope of a driver function that calls functions of the run time. Within this scope, they set no last
/// error, and the thread does not count as a user of the run time.
class DriverCall {
 public:
  DriverCall();
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  Error last_error_;
};
/// True if this thread has used the run time, which makes the primary context its current one.
[[nodiscard]] bool& uses_runtime();
/// True if any thread has used the run time.
[[nodiscard]] bool was_runtime_used();

/// The bytes of a text, for the tail of a request.
[[nodiscard]] inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The calling thread's last error.
[[nodiscard]] Error& last_error();
/// Returns `error` to the program. Errors become the thread's last error.
Error returned(Error error);
/// Reports once per process that an unsupported feature was used, and returns cudaErrorNotSupported.
Error not_supported(const char* what);
/// Reports to the user and to gpumux that a library with a CUDA run time of its own is not supported. Returns
/// cudaErrorNotSupported.
Error refuse_library(const std::string& library);
/// Reports to the user and to gpumux that a feature of a launch is not supported. Returns
/// cudaErrorNotSupported.
Error refuse_launch(const char* what);

}  // namespace gpumux::cudart
