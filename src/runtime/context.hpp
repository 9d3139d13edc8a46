// The context of one application: its memory, modules, streams, events and host program.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "emulator/program.hpp"
#include "runtime/application.hpp"
#include "runtime/device.hpp"
#include "runtime/device_launches.hpp"
#include "runtime/host.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::runtime {

/// One application's context. Not thread safe. Must outlive every kernel that it submitted.
class Context final : public Host {
 public:
  /// `sink` receives the text of device printf. May be null, then the text is dropped.
  Context(AppId app, std::string name, std::unique_ptr<Application> application, Device& device, bool verify,
          emulator::PrintSink* sink);
  ~Context() override;

  /// Starts the host program from its beginning, with empty memory.
  void start();
  /// Ends the host program and all its work at once, without verification. finished() becomes true when the
  /// machine has released the kernels.
  void kill();
  /// True if there is work for which no one waits: the host program has disappeared or called end_work().
  [[nodiscard]] bool is_abandoned() const { return abandoned_ && !is_idle(WaitFor::What::Device, 0); }
  /// See Application::host_order_varies().
  [[nodiscard]] bool host_order_varies() const { return application_->host_order_varies(); }
  /// Checks whether the host program has disappeared.
  void look_for_host() { abandoned_ = abandoned_ || application_->has_gone(); }
  /// Ends all work at once. The host program continues when the machine has released the kernels.
  void drop_work();
  /// Advances everything that can advance: host program, copies, launches. Throws the host program's
  /// exceptions.
  void pump();
  /// True when the host program has ended and all its work is done.
  [[nodiscard]] bool finished() const;
  /// The next cycle at which pump() can do more even if no kernel ends (timed copies, the host's computing
  /// time). kNever if there is none.
  [[nodiscard]] Cycle next_event() const;
  /// The machine has admitted a child kernel.
  void kernel_began(StreamId stream);
  void kernel_ended(StreamId stream);
  /// The host's stream of a kernel that was given to Device::submit() or submit_child().
  [[nodiscard]] StreamId host_stream(StreamId stream) const;
  [[nodiscard]] AppId app() const { return app_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// True if the host program and copies can do nothing until a kernel ends.
  [[nodiscard]] bool waits_for_kernels() const;

  // Interface for DeviceLaunches.
  /// Creates a launch. Throws UserError for a kernel that could not be compiled, or that needs units which
  /// the machine lacks.
  [[nodiscard]] std::unique_ptr<workload::KernelSource> make_kernel(emulator::LoadedModule& module,
                                                                    const emulator::KernelInfo& kernel,
                                                                    emulator::LaunchConfig config) const;
  void family_ended(StreamId stream);

  // Implementation of Host.
  std::uint32_t load_module(std::string_view ptx_text, const std::string& file) override {
    return load_module_at(ptx_text, file, {});
  }
  std::uint32_t load_module_at(std::string_view ptx_text, const std::string& file,
                               std::span<const workload::PlacedVariable> places) override;
  [[nodiscard]] std::vector<workload::PlacedVariable> variables(std::uint32_t module) override;
  Address malloc_bytes(std::uint64_t bytes) override;
  void malloc_at(Address address, std::uint64_t bytes) override;
  using Host::free;
  void name_buffer(Address buffer, const std::string& name) override;
  void free(Address address) override;
  void copy_to_device(Address to, std::span<const std::byte> from, StreamId stream) override;
  void copy_from_device(std::span<std::byte> to, Address from, StreamId stream) override;
  void copy_on_device(Address to, Address from, std::uint64_t bytes, StreamId stream) override;
  void fill(Address to, std::uint8_t value, std::uint64_t bytes, StreamId stream) override;
  void copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                      std::span<const std::byte> from, StreamId stream) override;
  void host_write(Address to, std::span<const std::byte> from) override;
  void map_host(Address host, std::uint64_t bytes, Address device) override;
  void unmap_host(Address host) override;
  void end_work() override { abandoned_ = true; }
  void set_registers(std::uint32_t module, const std::string& kernel, std::uint32_t registers) override;
  [[nodiscard]] Address symbol_address(std::uint32_t module, const std::string& symbol) override;
  void launch_raw(std::uint32_t module, const std::string& kernel, const LaunchSpec& spec,
                  std::string parameters) override;
  void limit_pending_launches(std::uint64_t launches) override {
    device_launches_->set_pending_limit(launches);
  }
  void launch_source(const KernelMaker& make, StreamId stream) override;
  void copy_unseen(bool to_device, std::uint64_t offset, std::uint64_t bytes, StreamId stream) override;
  void copy_pinned(HostCopy direction, Address to, Address from, std::uint64_t bytes,
                   StreamId stream) override;
  [[nodiscard]] const arch::MachineConfig& machine() const override { return device_.config(); }
  [[nodiscard]] workload::DeviceMemory& memory() override { return *memory_; }
  [[nodiscard]] emulator::LoadedModule& module(std::uint32_t id) override;
  [[nodiscard]] std::uint64_t ended_operations() const override { return ended_operations_; }
  [[nodiscard]] workload::TextureTable& textures() override { return memory_->textures(); }
  void copy_on_device_to_array(const workload::TextureArray& array, Address from, StreamId stream) override;
  void copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size, std::span<const std::byte> from,
                   StreamId stream) override;
  void copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from, const workload::BoxSize& size,
                     StreamId stream) override;
  void copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from, const workload::BoxSize& size,
                std::optional<HostCopy> link, StreamId stream) override;
  void begin_body() override;
  BodyId end_body() override;
  void enqueue_condition(const Condition& condition, StreamId on) override;
  StreamId create_stream() override;
  EventId create_event() override;
  void record_event(EventId id, StreamId on) override;
  void stream_wait_event(StreamId on, EventId id) override;
  [[nodiscard]] Cycle event_cycle(EventId id) const override;

 protected:
  [[nodiscard]] bool is_idle(WaitFor::What what, std::uint32_t id) const override;
  void wait_until_idle(WaitFor::What what, std::uint32_t id) override;
  void host_time_begins(std::uint64_t ns) override;

 private:
  struct Copy {
    Address to = 0;
    Address from = 0;
    std::uint64_t bytes = 0;
    std::byte* host_to = nullptr;
    std::vector<std::byte> host_from;
    enum class Kind : std::uint8_t {
      In,
      Out,
      OnDevice,
      ToArray,
      Fill,
      Symbol,
      UnseenIn,
      UnseenOut,
      PinnedIn,
      PinnedOut,
      // copies with a `box`
      BoxIn,
      BoxOut,
      BoxOnDevice,
      BoxPinnedIn,
      BoxPinnedOut
    };
    Kind kind = Kind::In;
    workload::TextureArray array;  // ToArray
    struct Box {
      workload::BoxEnd to, from;
      workload::BoxSize size;
    };
    std::unique_ptr<const Box> box;
    std::uint8_t value = 0;
    std::uint32_t module = 0;
    std::string symbol;
  };
  struct Launch {
    std::unique_ptr<workload::KernelSource> kernel;
    std::uint8_t priority = 0;
    std::uint32_t family = 0;  // ticket of its family, if the kernel may launch kernels
  };
  struct Record {
    EventId event;
    std::size_t recording;  // index of the recording of the event, from 0
  };
  struct Wait {
    EventId event;
    std::size_t recording;  // number of recordings at the call; waits for the last of them
  };
  struct Decision {
    Condition condition;
    std::optional<BodyId> under_way;
    Cycle since = kNever;             // cycle in which the last body started
    std::uint64_t begun = 0;          // number of bodies that started in this cycle
    std::uint64_t textures_time = 0;  // time of the call, for launches in its bodies
  };
  using Operation = std::variant<Copy, Launch, Record, Wait, Decision>;
  /// Owner of a stream or event: kHost, or the number of a body.
  using Owner = std::uint32_t;
  static constexpr Owner kHost = ~Owner{0};
  struct Body {
    std::vector<std::function<void()>> calls;
    std::vector<StreamId> streams;
  };
  struct Stream {
    Owner owner = kHost;
    bool used = false;  // by its owner
    std::deque<Operation> queue;
    bool kernel_running = false;
    std::uint32_t family = 0;  // ticket of the running kernel, if it may launch kernels
    Cycle copy_until = 0;      // end of the timed copy at the head; 0: none
  };
  struct Event {
    Owner owner = kHost;
    bool used = false;
    std::vector<bool> completed;  // by recording; recordings in different streams may complete in any order
    Cycle cycle = 0;              // cycle of the last completed recording
    /// True if the last of the first `recordings` recordings is complete. Waiting for an event that was never
    /// recorded ends at once.
    [[nodiscard]] bool done(std::size_t recordings) const {
      return recordings == 0 || completed[recordings - 1];
    }
  };
  void move_on();
  bool pump_stream(StreamId id);
  // Bodies, in bodies.cpp.
  /// TextureTable::time() for new operations: the present time, or, while a body runs, the time of its
  /// condition's call.
  [[nodiscard]] std::uint64_t textures_time() const {
    return body_textures_time_.value_or(memory_->textures().time());
  }
  /// Returns the stream for a new operation. Throws UserError when the host or body that enqueues may not use
  /// the stream. Must be called before each enqueue.
  [[nodiscard]] Stream& enter(StreamId id);
  void enter_event(EventId id);
  /// While a body is described, adds the call, which uses this stream, to the body and returns true.
  bool keeps(StreamId id, std::function<void()> call);
  /// Throws UserError if a body is being described. `what`: the operation that a body cannot have.
  void refuse_in_body(const char* what) const;
  /// Advances a condition. Returns false while the condition waits for a body. Sets `began` if a body was
  /// started.
  bool decide(Decision& decision, bool& began);
  [[nodiscard]] std::optional<BodyId> decided(const Condition& condition) const;
  [[nodiscard]] bool is_idle(const Body& body) const;
  /// A copy of the host's bytes, which the host may change before the copy's turn in the stream.
  [[nodiscard]] std::vector<std::byte> taken(std::span<const std::byte> from);
  /// Keeps the memory of a completed copy for reuse, since its pages are already committed.
  void give_back(std::vector<std::byte>&& bytes);
  void perform(Copy& copy);
  void perform_box(const Copy& copy);
  void move_on_device(const Copy& copy);
  [[nodiscard]] Cycle copy_cycles(const Copy& copy) const;
  /// Lookups that throw UserError for a stream or event that was not created.
  [[nodiscard]] const Stream& stream(StreamId id) const;
  [[nodiscard]] Stream& stream(StreamId id);
  [[nodiscard]] const Event& event(EventId id) const;
  /// Throws UserError when a kernel multiplies matrices and the machine has no tensor units.
  void check_tensor_units(const emulator::KernelInfo& kernel) const;
  /// Throws UserError when no SM of the machine can hold a block. Also throws for a cooperative launch of
  /// more blocks than all SMs can hold together, or than the sharing policy gives the application at best.
  void check_fits(const workload::KernelSource& kernel) const;
  /// Throws UserError when a matrix product occupies a tensor unit for longer than an SM can book.
  void check_products(const workload::KernelSource& kernel) const;

  AppId app_;
  std::string name_;
  std::unique_ptr<Application> application_;
  Device& device_;
  bool verify_;
  emulator::PrintSink* sink_;
  emulator::KernelErrors* errors_ = nullptr;  // of the current run
  std::unique_ptr<workload::DeviceMemory> memory_;
  std::unique_ptr<DeviceLaunches> device_launches_;
  std::vector<std::unique_ptr<emulator::LoadedModule>> modules_;
  std::vector<std::string> module_files_;
  std::map<std::string, workload::BlockMetadata> metadata_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> registers_;  // by module and kernel
  std::deque<Stream> streams_;                                                // never moved
  std::vector<Event> events_;
  std::deque<Body> bodies_;
  std::optional<Body> described_;                    // the body that is being described
  Owner acting_ = kHost;                             // host or body that enqueues
  std::optional<std::uint64_t> body_textures_time_;  // set while a body enqueues
  Task program_;
  bool running_ = false;
  bool abandoned_ = false;
  Cycle host_until_ = 0;  // end of the host's computing time
  std::optional<std::pair<WaitFor::What, std::uint32_t>> waiting_;
  std::uint64_t ended_operations_ = 0;
  std::vector<std::byte> spare_bytes_;
};

}  // namespace gpumux::runtime
