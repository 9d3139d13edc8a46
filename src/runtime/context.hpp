// One application's context: its memory, modules, streams and events, and its host program. It restarts
// the host program when asked to.
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

/// Not thread-safe; lives longer than every kernel it submitted.
class Context final : public Host {
 public:
  /// `sink` takes device printf text; may be null (then it is dropped).
  Context(AppId app, std::string name, std::unique_ptr<Application> application, Device& device, bool verify,
          emulator::PrintSink* sink);
  ~Context() override;

  /// Starts the host program anew, from empty memory.
  void start();
  /// Ends the host program and all its work where they stand; finished() when the machine has let its kernels
  /// go. Nothing is verified.
  void kill();
  /// It has work for which nobody waits any more: its host program has gone, or has said so (end_work()).
  [[nodiscard]] bool is_abandoned() const { return abandoned_ && !is_idle(WaitFor::What::Device, 0); }
  /// Application's.
  [[nodiscard]] bool host_order_varies() const { return application_->host_order_varies(); }
  /// Asks whether the host program has gone.
  void look_for_host() { abandoned_ = abandoned_ || application_->has_gone(); }
  /// Ends all its work where it stands; the host program goes on when the machine has let its kernels go.
  void drop_work();
  /// Moves on whatever can: host program, copies, launches. Throws what the host program throws.
  void pump();
  /// True when the host program has ended and all its work is done.
  [[nodiscard]] bool finished() const;
  /// The next cycle at which pump() can do more without a kernel's end (timed copies, the host's own time);
  /// kNever: none.
  [[nodiscard]] Cycle next_event() const;
  /// Of a child: the machine has admitted it.
  void kernel_began(StreamId stream);
  void kernel_ended(StreamId stream);
  /// The host's stream in which a kernel of Device::submit() or submit_child() is.
  [[nodiscard]] StreamId host_stream(StreamId stream) const;
  [[nodiscard]] AppId app() const { return app_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Neither the host program nor a copy does anything before a kernel has ended.
  [[nodiscard]] bool waits_for_kernels() const;

  // For DeviceLaunches
  /// Throws UserError for a kernel that could not be compiled, or that the machine lacks units for.
  [[nodiscard]] std::unique_ptr<workload::KernelSource> make_kernel(emulator::LoadedModule& module,
                                                                    const emulator::KernelInfo& kernel,
                                                                    emulator::LaunchConfig config) const;
  void family_ended(StreamId stream);

  // Host
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
      // Of a `box`.
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
    std::uint32_t family = 0;  // its ticket, if it may launch kernels
  };
  struct Record {
    EventId event;
    std::size_t recording;  // which recording of the event it is, from 0
  };
  struct Wait {
    EventId event;
    std::size_t recording;  // the number of recordings at the call; it waits for the last of them
  };
  struct Decision {
    Condition condition;
    std::optional<BodyId> under_way;
    Cycle since = kNever;             // of the last body that began,
    std::uint64_t begun = 0;          // and how many did in that cycle
    std::uint64_t textures_time = 0;  // of the call, for what its bodies launch
  };
  using Operation = std::variant<Copy, Launch, Record, Wait, Decision>;
  /// Whose a stream or event is: kHost, or a body's.
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
    std::uint32_t family = 0;  // of this kernel, if its blocks have not ended and it may launch others
    Cycle copy_until = 0;      // a timed copy at the head ends then; 0: none
  };
  struct Event {
    Owner owner = kHost;
    bool used = false;
    std::vector<bool> completed;  // by recording; those of different streams may complete in any order
    Cycle cycle = 0;              // of the last that completed
    /// The last of the first `recordings` ones is done. An event that was never recorded holds nobody up.
    [[nodiscard]] bool done(std::size_t recordings) const {
      return recordings == 0 || completed[recordings - 1];
    }
  };
  void move_on();
  bool pump_stream(StreamId id);
  // Bodies: bodies.cpp.
  /// TextureTable::time() of what the host enqueues now, or has, where a body is the one that enqueues.
  [[nodiscard]] std::uint64_t textures_time() const {
    return body_textures_time_.value_or(memory_->textures().time());
  }
  /// To be called before anything is enqueued: the stream. Throws UserError when it is not for who enqueues.
  [[nodiscard]] Stream& enter(StreamId id);
  void enter_event(EventId id);
  /// True: a body is being described, and has the call now, which uses this stream.
  bool keeps(StreamId id, std::function<void()> call);
  /// What cannot be in a body.
  void refuse_in_body(const char* what) const;
  /// False: it waits for a body. `began`: a body has something to do now.
  bool decide(Decision& decision, bool& began);
  [[nodiscard]] std::optional<BodyId> decided(const Condition& condition) const;
  [[nodiscard]] bool is_idle(const Body& body) const;
  /// Bytes of the host, which may change them before the copy has its turn.
  [[nodiscard]] std::vector<std::byte> taken(std::span<const std::byte> from);
  /// The memory of those of a copy that is done is used again: large ones have pages already.
  void give_back(std::vector<std::byte>&& bytes);
  void perform(Copy& copy);
  void perform_box(const Copy& copy);
  void move_on_device(const Copy& copy);
  [[nodiscard]] Cycle copy_cycles(const Copy& copy) const;
  /// Throw UserError for a stream or event that was not created.
  [[nodiscard]] const Stream& stream(StreamId id) const;
  [[nodiscard]] Stream& stream(StreamId id);
  [[nodiscard]] const Event& event(EventId id) const;
  /// Throws UserError when a kernel multiplies matrices on a machine without tensor units.
  void check_tensor_units(const emulator::KernelInfo& kernel) const;
  /// Throws UserError when no SM of the machine can hold a block, or a cooperative launch has more than all
  /// SMs can hold together, or than whoever shares the machine gives the application at best.
  void check_fits(const workload::KernelSource& kernel) const;
  /// Throws UserError when a matrix product holds a tensor unit for longer than an SM can book.
  void check_products(const workload::KernelSource& kernel) const;

  AppId app_;
  std::string name_;
  std::unique_ptr<Application> application_;
  Device& device_;
  bool verify_;
  emulator::PrintSink* sink_;
  emulator::KernelErrors* errors_ = nullptr;  // of this run
  std::unique_ptr<workload::DeviceMemory> memory_;
  std::unique_ptr<DeviceLaunches> device_launches_;
  std::vector<std::unique_ptr<emulator::LoadedModule>> modules_;
  std::vector<std::string> module_files_;
  std::map<std::string, workload::BlockMetadata> metadata_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> registers_;  // by module and kernel
  std::deque<Stream> streams_;                                                // never moved
  std::vector<Event> events_;
  std::deque<Body> bodies_;
  std::optional<Body> described_;                    // the one that is
  Owner acting_ = kHost;                             // who enqueues
  std::optional<std::uint64_t> body_textures_time_;  // while a body does
  Task program_;
  bool running_ = false;
  bool abandoned_ = false;
  Cycle host_until_ = 0;  // the host computes until then
  std::optional<std::pair<WaitFor::What, std::uint32_t>> waiting_;
  std::uint64_t ended_operations_ = 0;
  std::vector<std::byte> spare_bytes_;
};

}  // namespace gpumux::runtime
