// What a host program sees of the CUDA-like run time. A host program is a coroutine: it enqueues work
// without waiting and co_awaits synchronisation.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "workload/address_space.hpp"
#include "workload/array_copy.hpp"
#include "workload/texture.hpp"

namespace gpumux::arch {
struct MachineConfig;
}  // namespace gpumux::arch

namespace gpumux::emulator {
class LoadedModule;
}  // namespace gpumux::emulator

namespace gpumux::workload {
class DeviceMemory;
class KernelSource;
}  // namespace gpumux::workload

namespace gpumux::runtime {

/// A device address with an element type, as host programs use it.
template <typename T>
struct DevicePtr {
  Address address = 0;
  [[nodiscard]] DevicePtr operator+(std::ptrdiff_t elements) const {
    return {address + static_cast<Address>(elements * static_cast<std::ptrdiff_t>(sizeof(T)))};
  }
};

/// The coroutine type of host programs. Starts suspended; rethrows the program's exception on resume.
class Task {
 public:
  struct promise_type {
    std::exception_ptr error;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };
  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }
  /// Runs until the next suspension. Throws what the program threw.
  void resume() {
    handle_.resume();
    if (handle_.done() && handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }
  [[nodiscard]] bool done() const { return !handle_ || handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// A cudaTextureObject_t: kernels take it as a parameter.
struct TextureObject {
  std::uint64_t handle = 0;
};

/// A cudaSurfaceObject_t.
struct SurfaceObject {
  std::uint64_t handle = 0;
};

/// Over the link, of which each direction is busy by itself.
enum class HostCopy : std::uint8_t { ToDevice, FromDevice };

using StreamId = std::uint32_t;  // 0 is the default stream, which synchronises with no other
using EventId = std::uint32_t;

struct LaunchSpec {
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  // dynamic
  StreamId stream = 0;
  bool cooperative = false;  // all blocks are to be resident at once, so that they may wait for each other
  std::uint64_t heap_bytes = 0;  // for malloc in kernels; 0: as much as the machine says
  /// Of kernels of this application that wait, blocks of those with more go to an SM first. 0 to
  /// kMostPriority: CUDA's with the sign changed.
  std::uint8_t priority = 0;
};
inline constexpr std::uint8_t kMostPriority = 5;

/// Work that is kept, to be done as often as conditions decide (Host::begin_body).
using BodyId = std::uint32_t;
/// Decides by a word of device memory, when the stream has come so far, what is done: as conditional nodes of
/// CUDA's graphs do.
struct Condition {
  enum class Kind : std::uint8_t {
    If,     // the first body where the word is not 0, else the second, if there is one
    While,  // the body as long as the word is not 0
    Switch  // the body of this number; none where there are not so many
  };
  Kind kind = Kind::If;
  Address word = 0;  // 4 bytes, aligned
  std::vector<BodyId> bodies;
};

/// Makes a launch of something that is no PTX module, for the application that owns `memory`, on a machine
/// with so many banks of shared memory.
using KernelMaker = std::function<std::unique_ptr<workload::KernelSource>(workload::DeviceMemory& memory,
                                                                          std::uint32_t shared_banks)>;

/// The run time of one application. All enqueueing calls return at once; work of one stream runs in
/// order. Host copies take no simulated time unless the machine gives a copy bandwidth.
class Host {
 public:
  virtual ~Host() = default;

  /// Loads PTX (the text of a benchmark's .ptx file); returns a handle for launch().
  virtual std::uint32_t load_module(std::string_view ptx_text, const std::string& file) = 0;
  /// The same with places for its variables (emulator::LoadedModule).
  virtual std::uint32_t load_module_at(std::string_view ptx_text, const std::string& file,
                                       std::span<const workload::PlacedVariable> places);
  /// Its .global variables, in its order.
  [[nodiscard]] virtual std::vector<workload::PlacedVariable> variables(std::uint32_t module);

  virtual Address malloc_bytes(std::uint64_t bytes) = 0;
  /// The same at an address of Application::address_space(). Throws UserError when it is not free.
  virtual void malloc_at(Address address, std::uint64_t bytes);
  virtual void free(Address address) = 0;
  /// What messages about wrong accesses call a buffer, such as "--arg 1 (x.bin)".
  virtual void name_buffer(Address /*buffer*/, const std::string& /*name*/) {}
  /// The bytes are taken at the call; they arrive in stream order.
  virtual void copy_to_device(Address to, std::span<const std::byte> from, StreamId stream) = 0;
  /// The bytes are there after the stream was synchronised; `to` must live until then.
  virtual void copy_from_device(std::span<std::byte> to, Address from, StreamId stream) = 0;
  virtual void copy_on_device(Address to, Address from, std::uint64_t bytes, StreamId stream) = 0;
  virtual void fill(Address to, std::uint8_t value, std::uint64_t bytes, StreamId stream) = 0;
  virtual void copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                              std::span<const std::byte> from, StreamId stream) = 0;
  /// Where a .global variable of the module lies; 0: it has none of this name.
  [[nodiscard]] virtual Address symbol_address(std::uint32_t module, const std::string& symbol) = 0;
  /// What the host writes to memory that it shares with the device: at once, in no stream, over no link.
  virtual void host_write(Address to, std::span<const std::byte> from);
  /// Kernels find the bytes at device address `device` at this address of the host, too, at which nothing
  /// else is: from now on, until unmap_host().
  virtual void map_host(Address host, std::uint64_t bytes, Address device);
  virtual void unmap_host(Address host);
  /// Blocks of this kernel take so many registers per thread of an SM, from the next launch on: other than
  /// our back end gave it.
  virtual void set_registers(std::uint32_t module, const std::string& kernel, std::uint32_t registers);
  /// `parameters` is the kernel's constant bank. Throws UserError for an unknown kernel, a wrong size,
  /// a block that no SM of the machine can hold, or a cooperative launch of more blocks than all of them
  /// can.
  virtual void launch_raw(std::uint32_t module, const std::string& kernel, const LaunchSpec& spec,
                          std::string parameters) = 0;
  /// Launches of kernels by kernels that may be pending from now on: cudaLimitDevRuntimePendingLaunchCount.
  virtual void limit_pending_launches(std::uint64_t launches);
  /// A launch whose instructions are known already. Throws UserError when no SM of the machine can hold a
  /// block of it; InternalError on a host that has no machine.
  virtual void launch_source(const KernelMaker& make, StreamId stream);
  /// A host copy of which only place and size matter: no bytes are moved, nothing needs to be allocated. The
  /// first is relative to the application's range of addresses.
  virtual void copy_unseen(bool to_device, std::uint64_t offset, std::uint64_t bytes, StreamId stream);

  /// A host copy whose both ends lie in the application's memory, as pinned host memory does for a program in
  /// a process of its own: unlike copy_to_device(), it takes its bytes when its turn in the stream comes.
  virtual void copy_pinned(HostCopy direction, Address to, Address from, std::uint64_t bytes,
                           StreamId stream);
  /// It wants host_write() called for what the host has written to shared memory by itself, which needs no
  /// call: before each wait, since the device does nothing in between.
  [[nodiscard]] virtual bool wants_host_writes() const { return false; }

  /// Nobody waits for the work of its streams any more: what is under way ends where it stands, at the next
  /// moment at which it can, and synchronize() says when it has.
  virtual void end_work();

  // For hosts of programs whose calls are known as they run alone. InternalError on a host that has none.
  [[nodiscard]] virtual const arch::MachineConfig& machine() const;
  [[nodiscard]] virtual workload::DeviceMemory& memory();
  /// Of load_module().
  [[nodiscard]] virtual emulator::LoadedModule& module(std::uint32_t id);
  /// Kernels, copies and other work of its streams that have ended since the run began.
  [[nodiscard]] virtual std::uint64_t ended_operations() const;

  /// The application's texture objects.
  [[nodiscard]] virtual workload::TextureTable& textures();
  /// Device memory for an array, or for the levels of a mipmap whose first it is. Throws SimulationFault for
  /// shapes that no array has.
  workload::TextureArray create_array(const workload::ArrayShape& shape, std::uint32_t levels = 1);
  void free_array(const workload::TextureArray& array) { free(array.address); }
  /// Fills the array: all its texels, x fastest, then y, then z or the layer, without gaps. The bytes are
  /// taken at the call; they arrive in stream order. Throws SimulationFault when they are too many or too
  /// few.
  void copy_to_array(const workload::TextureArray& array, std::span<const std::byte> texels,
                     StreamId stream = 0);
  /// The same from device memory, in stream order.
  virtual void copy_on_device_to_array(const workload::TextureArray& array, Address from, StreamId stream);
  // Boxes of arrays, in stream order. Throw SimulationFault for boxes that do not lie in their arrays.
  /// The bytes, without gaps, are taken at the call.
  virtual void copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size,
                           std::span<const std::byte> from, StreamId stream);
  /// The bytes are there after the stream was synchronised; `to` must live until then.
  virtual void copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from,
                             const workload::BoxSize& size, StreamId stream);
  /// Between an array and another, or memory of the application; over the link in this direction, if the
  /// memory is the host's.
  virtual void copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from,
                        const workload::BoxSize& size, std::optional<HostCopy> link, StreamId stream);
  /// Acts at once, as in CUDA: kernels that were launched before see it, too. Throws SimulationFault for what
  /// CUDA refuses.
  TextureObject create_texture(const workload::TextureResource& resource,
                               const workload::TextureSettings& settings = {}) {
    const TextureObject texture{textures().create(resource, settings)};
    texture_created(resource, settings, texture);
    return texture;
  }
  /// Kernels that were launched before keep it.
  void destroy_texture(TextureObject texture) {
    textures().destroy(texture.handle);
    texture_destroyed(texture);
  }
  /// The same of surfaces: what kernels write by them is in the array when they have ended.
  SurfaceObject create_surface(const workload::TextureArray& array) {
    const SurfaceObject surface{textures().create_surface(array)};
    surface_created(array, surface);
    return surface;
  }
  void destroy_surface(SurfaceObject surface) { destroy_texture({surface.handle}); }
  /// Binds a texture reference (.texref) of a module, in stream order.
  void bind_texture(std::uint32_t module, const std::string& reference, TextureObject texture,
                    StreamId stream = 0) {
    copy_to_symbol(module, reference, 0, std::as_bytes(std::span(&texture.handle, 1)), stream);
  }

  /// What is enqueued from here to end_body() is kept: launches of modules, fills, copies on the device and
  /// those of pinned memory and arrays, events, and conditions. Streams and events that a body uses are its
  /// own from then on, and used by nothing else. Throws UserError for what is not possible in a body.
  virtual void begin_body();
  virtual BodyId end_body();
  /// The stream goes on when what was decided has been done. A body that is under way is waited for first.
  /// Throws UserError for bodies that do not exist, and for a stream of one of them.
  virtual void enqueue_condition(const Condition& condition, StreamId stream);

  virtual StreamId create_stream() = 0;
  virtual EventId create_event() = 0;
  virtual void record_event(EventId event, StreamId stream) = 0;
  virtual void stream_wait_event(StreamId stream, EventId event) = 0;
  /// Simulated time at which the event was recorded; the event must have completed.
  [[nodiscard]] virtual Cycle event_cycle(EventId event) const = 0;

  struct WaitFor {
    enum class What : std::uint8_t { Device, Stream, Event, HostTime, Operation };
    Host* host;
    What what;
    std::uint32_t id;
    /// Looks without waiting.
    [[nodiscard]] bool over() const { return host->is_idle(what, id); }
    [[nodiscard]] bool await_ready() const {
      host->wait_begins(what, id);
      return over();
    }
    void await_suspend(std::coroutine_handle<>) const { host->wait_until_idle(what, id); }
    void await_resume() const { host->wait_ends(what, id); }
  };
  [[nodiscard]] WaitFor synchronize() { return {this, WaitFor::What::Device, 0}; }
  [[nodiscard]] WaitFor synchronize(StreamId stream) { return {this, WaitFor::What::Stream, stream}; }
  [[nodiscard]] WaitFor synchronize_event(EventId event) { return {this, WaitFor::What::Event, event}; }
  /// The host computes for so long.
  [[nodiscard]] WaitFor host_time(std::uint64_t ns) {
    host_time_begins(ns);
    return {this, WaitFor::What::HostTime, 0};
  }
  /// Until any one of its operations has ended, or none is left.
  [[nodiscard]] WaitFor next_operation() {
    return {this, WaitFor::What::Operation, static_cast<std::uint32_t>(ended_operations())};
  }

  // Typed conveniences.
  template <typename T>
  DevicePtr<T> malloc(std::size_t elements) {
    return {malloc_bytes(elements * sizeof(T))};
  }
  template <typename T>
  void free(DevicePtr<T> pointer) {
    free(pointer.address);
  }
  template <typename T>
  void to_device(DevicePtr<T> to, const std::vector<T>& from, StreamId stream = 0) {
    copy_to_device(to.address, std::as_bytes(std::span(from)), stream);
  }
  template <typename T>
  void to_array(const workload::TextureArray& array, const std::vector<T>& texels, StreamId stream = 0) {
    copy_to_array(array, std::as_bytes(std::span(texels)), stream);
  }
  template <typename T>
  void from_device(std::vector<T>& to, DevicePtr<T> from, StreamId stream = 0) {
    copy_from_device(std::as_writable_bytes(std::span(to)), from.address, stream);
  }
  /// Arguments are laid out as CUDA does: each at its natural alignment.
  template <typename... Args>
  void launch(std::uint32_t module, const std::string& kernel, const LaunchSpec& spec, const Args&... args) {
    std::string parameters;
    (append_argument(parameters, args), ...);
    launch_raw(module, kernel, spec, std::move(parameters));
  }

 protected:
  [[nodiscard]] virtual bool is_idle(WaitFor::What what, std::uint32_t id) const = 0;
  virtual void wait_until_idle(WaitFor::What what, std::uint32_t id) = 0;
  virtual void host_time_begins(std::uint64_t ns);
  /// For hosts that look on.
  virtual void wait_begins(WaitFor::What /*what*/, std::uint32_t /*id*/) {}
  virtual void wait_ends(WaitFor::What /*what*/, std::uint32_t /*id*/) {}
  virtual void texture_created(const workload::TextureResource& /*resource*/,
                               const workload::TextureSettings& /*settings*/, TextureObject /*texture*/) {}
  virtual void surface_created(const workload::TextureArray& /*array*/, SurfaceObject /*surface*/) {}
  virtual void texture_destroyed(TextureObject /*texture*/) {}

 private:
  template <typename T>
  static void append_argument(std::string& bytes, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
};

}  // namespace gpumux::runtime
