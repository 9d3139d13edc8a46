// The library's side of the conversation with gpumux (src/program/protocol.hpp): one per process, made by the
// first call that needs the simulated GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>

#include "program/protocol.hpp"
#include "turns.hpp"

/// What a program can call. The names are NVIDIA's; the versions of the symbols come from versions.map.
#define GPUMUX_CUDART_API extern "C" __attribute__((visibility("default")))

namespace gpumux::cudart {

using program::Call;

[[nodiscard]] inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
using program::Error;

class Session {
 public:
  /// Never destroyed: programs call the run time from destructors of their own static objects.
  static Session& get();

  /// Held by a thread from its first request of an API call to its last.
  [[nodiscard]] Turns& lock() { return lock_; }
  /// Success when the simulated GPU answers; says once on standard error why it does not.
  Error connect();
  /// The machine; after connect() has succeeded.
  [[nodiscard]] const program::DeviceDescription& device() const { return device_; }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] std::byte* staging() const { return staging_; }
  /// The process ends in order: waits for its work, which would end with it. Nothing after calls that were
  /// cut short, by exit() in a signal handler.
  void finish();
  /// Maps so many bytes of device memory at `at` as well, in place of what is there; both addresses are
  /// multiples of a page. False: the system refuses.
  [[nodiscard]] bool map_device(void* at, std::size_t bytes, std::uintptr_t device_address) const;
  /// Of memory that the device sees, too.
  [[nodiscard]] bool is_shared(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return connected_ && address - device_.memory_base < device_.memory_bytes;
  }

  /// One request and its answer. `tail` goes with it; what comes with the answer is in `answered`, or
  /// dropped.
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
  int memory_ = -1;  // the file that backs device memory
  std::int64_t process_ = 0;
  program::DeviceDescription device_{};
  std::byte* staging_ = nullptr;
};

/// Session::connect() for a call that makes no request of its own.
inline Error connected() {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  return session.connect();
}

/// While a function of the driver runs, which calls functions of the run time: they leave no last error, and
/// the thread does not count as one that uses the run time.
class DriverCall {
 public:
  DriverCall();
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  Error last_error_;
};
/// This thread uses the run time, by which the primary context is its current one.
[[nodiscard]] bool& uses_runtime();
/// Some thread has.
[[nodiscard]] bool was_runtime_used();

/// Bytes of a text, as the tail of a request.
[[nodiscard]] inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The thread's.
[[nodiscard]] Error& last_error();
/// What an API call returns: remembered as the thread's last error when it is one.
Error returned(Error error);
/// Says once per process that the program has called what is not there, and returns cudaErrorNotSupported.
Error not_supported(const char* what);
/// The same of a library that has a CUDA run time of its own inside; gpumux is told, too.
Error refuse_library(const std::string& library);
/// not_supported() of a launch, which gpumux is told of, too.
Error refuse_launch(const char* what);

}  // namespace gpumux::cudart
