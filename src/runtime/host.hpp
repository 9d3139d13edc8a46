// The CUDA-like run time for host programs. A host program is a coroutine: it enqueues work without waiting
// and uses co_await to synchronise.
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

/// A device address with an element type, for host programs.
template <typename T>
struct DevicePtr {
  Address address = 0;
  [[nodiscard]] DevicePtr operator+(std::ptrdiff_t elements) const {
    return {address + static_cast<Address>(elements * static_cast<std::ptrdiff_t>(sizeof(T)))};
  }
};

/// The coroutine type of host programs. Starts suspended. resume() rethrows the program's exception.
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
  /// Runs the program until its next suspension. Throws the program's exception.
  void resume() {
    handle_.resume();
    if (handle_.done() && handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }
  [[nodiscard]] bool done() const { return !handle_ || handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// A cudaTextureObject_t, passed to kernels as a parameter.
struct TextureObject {
  std::uint64_t handle = 0;
};

/// A cudaSurfaceObject_t, passed to kernels as a parameter.
struct SurfaceObject {
  std::uint64_t handle = 0;
};

/// Direction of a transfer over the link. The two directions are independent.
enum class HostCopy : std::uint8_t { ToDevice, FromDevice };

using StreamId = std::uint32_t;  // 0: the default stream, which does not synchronise with other streams
using EventId = std::uint32_t;

struct LaunchSpec {
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  // dynamic
  StreamId stream = 0;
  bool cooperative = false;      // all blocks must be resident together, so that they may wait for each other
  std::uint64_t heap_bytes = 0;  // heap for malloc in kernels; 0: the machine's default
  /// Scheduling priority: of the application's waiting kernels, blocks of the kernel with the largest
  /// priority go to an SM first. 0 to kMostPriority: CUDA's priorities with the sign changed.
  std::uint8_t priority = 0;
};
inline constexpr std::uint8_t kMostPriority = 5;

/// Recorded work that conditions can run any number of times (Host::begin_body).
using BodyId = std::uint32_t;
/// A decision that is made in stream order by a word of device memory, like the conditional nodes of CUDA's
/// graphs.
struct Condition {
  enum class Kind : std::uint8_t {
    If,     // runs the first body if the word is not 0, otherwise the second, if there is one
    While,  // repeats the body while the word is not 0
    Switch  // runs the body with this number, if there is one
  };
  Kind kind = Kind::If;
  Address word = 0;  // 4 bytes, aligned
  std::vector<BodyId> bodies;
};

/// Creates a launch of something other than a PTX module. `memory`: memory of the application.
/// `shared_banks`: banks of shared memory on the machine.
using KernelMaker = std::function<std::unique_ptr<workload::KernelSource>(workload::DeviceMemory& memory,
                                                                          std::uint32_t shared_banks)>;

/// The run time of one application. All enqueueing calls return at once. Work of one stream runs in order.
/// Host copies take no simulated time unless the machine specifies a copy bandwidth.
class Host {
 public:
  virtual ~Host() = default;

  /// Loads PTX (the text of a benchmark's .ptx file). Returns a handle for launch().
  virtual std::uint32_t load_module(std::string_view ptx_text, const std::string& file) = 0;
  /// Loads PTX with given addresses for its variables (emulator::LoadedModule).
  virtual std::uint32_t load_module_at(std::string_view ptx_text, const std::string& file,
                                       std::span<const workload::PlacedVariable> places);
  /// The .global variables of a module, in the module's order.
  [[nodiscard]] virtual std::vector<workload::PlacedVariable> variables(std::uint32_t module);

  virtual Address malloc_bytes(std::uint64_t bytes) = 0;
  /// Allocates at an address of Application::address_space(). Throws UserError when the memory is not free.
  virtual void malloc_at(Address address, std::uint64_t bytes);
  virtual void free(Address address) = 0;
  /// Sets the name of a buffer in messages about wrong accesses, such as "--arg 1 (x.bin)".
  virtual void name_buffer(Address /*buffer*/, const std::string& /*name*/) {}
  /// Copies bytes to the device in stream order. The bytes are read at the call.
  virtual void copy_to_device(Address to, std::span<const std::byte> from, StreamId stream) = 0;
  /// Copies bytes from the device in stream order. `to` must live until the stream was synchronised.
  virtual void copy_from_device(std::span<std::byte> to, Address from, StreamId stream) = 0;
  virtual void copy_on_device(Address to, Address from, std::uint64_t bytes, StreamId stream) = 0;
  virtual void fill(Address to, std::uint8_t value, std::uint64_t bytes, StreamId stream) = 0;
  virtual void copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                              std::span<const std::byte> from, StreamId stream) = 0;
  /// Address of a .global variable of the module, or 0 if it has none of this name.
  [[nodiscard]] virtual Address symbol_address(std::uint32_t module, const std::string& symbol) = 0;
  /// Writes to memory that host and device share: at once, in no stream, without using the link.
  virtual void host_write(Address to, std::span<const std::byte> from);
  /// Makes the bytes at device address `device` also accessible to kernels at the host address `host`, until
  /// unmap_host(). Mappings must not overlap.
  virtual void map_host(Address host, std::uint64_t bytes, Address device);
  virtual void unmap_host(Address host);
  /// Sets the registers per thread that blocks of this kernel occupy on an SM, from the next launch on, in
  /// place of our back end's number.
  virtual void set_registers(std::uint32_t module, const std::string& kernel, std::uint32_t registers);
  /// Launches a kernel. `parameters`: the constant bank of its parameters. Throws UserError for an unknown
  /// kernel, a wrong size of `parameters`, a block that no SM of the machine can hold, or a cooperative
  /// launch of more blocks than all SMs can hold.
  virtual void launch_raw(std::uint32_t module, const std::string& kernel, const LaunchSpec& spec,
                          std::string parameters) = 0;
  /// Limits the pending launches of kernels by kernels from now on: cudaLimitDevRuntimePendingLaunchCount.
  virtual void limit_pending_launches(std::uint64_t launches);
  /// Launches a kernel whose instructions are already known. Throws UserError when no SM of the machine can
  /// hold a block, and InternalError on a host without a machine.
  virtual void launch_source(const KernelMaker& make, StreamId stream);
  /// A host copy that only takes time: no bytes are moved and no memory must be allocated. `offset` is
  /// relative to the application's range of addresses.
  virtual void copy_unseen(bool to_device, std::uint64_t offset, std::uint64_t bytes, StreamId stream);

  /// A host copy within the application's memory, as for pinned host memory of a program in a process of its
  /// own. Unlike copy_to_device(), the copy reads its bytes when its turn in the stream comes.
  virtual void copy_pinned(HostCopy direction, Address to, Address from, std::uint64_t bytes,
                           StreamId stream);
  /// True if host_write() must be called for the host's direct writes to shared memory. The calls must come
  /// before each wait, since the device does nothing in between.
  [[nodiscard]] virtual bool wants_host_writes() const { return false; }

  /// Abandons the work of all streams. Operations in progress end at the next possible moment, which
  /// synchronize() waits for.
  virtual void end_work();

  // Access for hosts of programs whose calls become known while they run. Throws InternalError on a host
  // without it.
  [[nodiscard]] virtual const arch::MachineConfig& machine() const;
  [[nodiscard]] virtual workload::DeviceMemory& memory();
  /// A module by its handle of load_module().
  [[nodiscard]] virtual emulator::LoadedModule& module(std::uint32_t id);
  /// Number of kernels, copies and other operations of all streams that have ended since the run started.
  [[nodiscard]] virtual std::uint64_t ended_operations() const;

  /// The application's texture and surface objects.
  [[nodiscard]] virtual workload::TextureTable& textures();
  /// Allocates device memory for an array, or for a mipmap of `levels` levels. Throws SimulationFault for
  /// shapes that no array has.
  workload::TextureArray create_array(const workload::ArrayShape& shape, std::uint32_t levels = 1);
  void free_array(const workload::TextureArray& array) { free(array.address); }
  /// Copies to all texels of an array in stream order: x fastest, then y, then z or the layer, without gaps.
  /// The bytes are read at the call. Throws SimulationFault when there are too many or too few bytes.
  void copy_to_array(const workload::TextureArray& array, std::span<const std::byte> texels,
                     StreamId stream = 0);
  /// Copies from device memory to all texels of an array, in stream order.
  virtual void copy_on_device_to_array(const workload::TextureArray& array, Address from, StreamId stream);
  // Copies of boxes of arrays, in stream order. They throw SimulationFault for a box that is not within its
  // array.
  /// Copies bytes without gaps to a box. The bytes are read at the call.
  virtual void copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size,
                           std::span<const std::byte> from, StreamId stream);
  /// Copies a box to bytes without gaps. `to` must live until the stream was synchronised.
  virtual void copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from,
                             const workload::BoxSize& size, StreamId stream);
  /// Copies between two boxes, each in an array or in memory of the application. `link`: direction over the
  /// link, if one side is host memory.
  virtual void copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from,
                        const workload::BoxSize& size, std::optional<HostCopy> link, StreamId stream);
  /// Creates a texture object at once, as in CUDA: kernels that were launched earlier see it, too. Throws
  /// SimulationFault for descriptions that CUDA refuses.
  TextureObject create_texture(const workload::TextureResource& resource,
                               const workload::TextureSettings& settings = {}) {
    const TextureObject texture{textures().create(resource, settings)};
    texture_created(resource, settings, texture);
    return texture;
  }
  /// Destroys a texture object. Kernels that were launched earlier can still use it.
  void destroy_texture(TextureObject texture) {
    textures().destroy(texture.handle);
    texture_destroyed(texture);
  }
  /// Creates a surface object at once. Writes by kernels are in the array when the kernels have ended.
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

  /// Records the following calls as a body, until end_body(). A body can contain launches of modules, fills,
  /// copies on the device, of pinned memory and of arrays, events, and conditions. Streams and events that a
  /// body uses belong to the body. Throws UserError for anything else.
  virtual void begin_body();
  virtual BodyId end_body();
  /// Enqueues a condition. The stream continues when the chosen bodies are complete. If a body is already
  /// running, the condition waits for it first. Throws UserError for unknown bodies and for a stream that
  /// belongs to one of the bodies.
  virtual void enqueue_condition(const Condition& condition, StreamId stream);

  virtual StreamId create_stream() = 0;
  virtual EventId create_event() = 0;
  virtual void record_event(EventId event, StreamId stream) = 0;
  virtual void stream_wait_event(StreamId stream, EventId event) = 0;
  /// Simulated time at which the event was recorded. The event must be complete.
  [[nodiscard]] virtual Cycle event_cycle(EventId event) const = 0;

  struct WaitFor {
    enum class What : std::uint8_t { Device, Stream, Event, HostTime, Operation };
    Host* host;
    What what;
    std::uint32_t id;
    /// True if the wait is over. Does not wait.
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
  /// The host computes for `ns` nanoseconds.
  [[nodiscard]] WaitFor host_time(std::uint64_t ns) {
    host_time_begins(ns);
    return {this, WaitFor::What::HostTime, 0};
  }
  /// Waits until any operation has ended, or none is left.
  [[nodiscard]] WaitFor next_operation() {
    return {this, WaitFor::What::Operation, static_cast<std::uint32_t>(ended_operations())};
  }

  // Typed shorthands.
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
  /// Launches a kernel. Arguments are laid out as in CUDA, each at its natural alignment.
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
  /// Notifications for hosts that observe the calls.
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
