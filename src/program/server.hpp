// Server of a program's CUDA calls: performs them in order on a runtime::Host, for one run of the program.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/kernel_errors.hpp"
#include "emulator/program.hpp"
#include "program/fat_binary.hpp"
#include "program/process.hpp"
#include "program/shared_memory.hpp"
#include "ptx/link.hpp"
#include "runtime/host.hpp"

namespace gpumux::program {

/// Reports errors of a program's kernels to the user and to the program.
class ProgramErrors final : public emulator::KernelErrors {
 public:
  /// `heard`: messages are shown to the user.
  explicit ProgramErrors(bool heard) : heard_(heard) {}
  void outside(const std::string& message) override;
  void assertion(const std::string& line) override;
  /// The error that all CUDA calls return after a fault, or Success.
  [[nodiscard]] Error code() const;

 protected:
  void has_ended(const std::string& message) override;

 private:
  bool heard_;
};

/// Collects text that kernels print until it is sent to the program.
class PrintedText final : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view text) override { text_ += text; }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

/// Performs the calls of one run. If a call must wait for the device, wait() returns the awaited event
/// between receive() and answer(), and simulated time passes. Time passes only then, so the duration of a run
/// depends only on its calls.
class Server {
 public:
  /// `name`: the program's name in messages.
  /// `errors`: nullptr if errors of kernels end the simulation.
  Server(std::string name, runtime::Host& host, Process& process, const MemoryFile& memory,
         PrintedText& printed, const ProgramErrors* errors);

  /// Receives the next call, or the end of a process. Throws UserError for bytes that are no call.
  Process::Event receive();
  /// Performs the received call. Throws UserError for kernels that cannot be compiled, and for programs
  /// without PTX.
  void perform();
  [[nodiscard]] const std::optional<runtime::Host::WaitFor>& wait() const { return wait_; }
  void answer();
  /// Must be called when the program or its caller has ended. Records the last writes of the host.
  void ended() { record_host_writes(); }

  /// True if the program has used the run-time library.
  [[nodiscard]] bool connected() const { return process_number_ != 0; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  /// The program's first library whose CUDA run time cannot be simulated, or empty.
  [[nodiscard]] const std::string& refused_library() const { return refused_library_; }
  [[nodiscard]] const std::string& refused_launch() const { return refused_launch_; }
  [[nodiscard]] bool host_order_varies() const { return host_order_varies_; }

 private:
  /// Registers per thread by kernel name, from the program's machine code.
  using Registers = std::map<std::string, std::uint32_t>;
  struct Module {
    std::vector<ptx::Unit> units;  // until all parts have arrived
    std::uint32_t architecture = 0;
    std::string file;                     // name in messages
    std::optional<std::uint32_t> loaded;  // number of the loaded module at the host
    Registers registers;
  };
  struct Kernel {
    std::uint32_t module = 0;  // number at the host
    std::string name;
    const emulator::KernelInfo* info = nullptr;
    std::uint32_t registers = 0;  // per thread
  };
  struct Variable {
    std::uint32_t module = 0;  // number at the host
    std::string name;
  };
  struct Allocation {
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::Device;
  };
  /// A stream of the program, by the program's number. Number 0 is the legacy default stream: it waits for
  /// all blocking streams, and they wait for it. Each waits by an event of the other side, which is recorded
  /// only if there is work to wait for.
  struct Stream {
    runtime::StreamId id = 0;  // number at the host
    runtime::EventId order = 0;
    bool alive = true;
    bool blocking = true;
    std::uint8_t priority = 0;
    bool of_body = false;
    bool unseen_work = false;         // work that the default stream does not wait for yet
    bool unawaited = false;           // work that the program has not waited for
    std::uint64_t default_works = 0;  // number of the default stream's works that it waits for
  };
  struct Event {
    runtime::EventId id = 0;
    bool alive = true;
    bool recorded = false;
    bool of_body = false;
  };
  struct DelayedFree {
    std::uint32_t stream = 0;
    Address address = 0;
  };

  template <class T>
  [[nodiscard]] T arguments() const {
    T value;
    take_arguments(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Copies the arguments. Throws UserError unless the request has exactly this number of bytes.
  void take_arguments(std::span<std::byte> to) const;
  template <class T>
  void result(const T& value) {
    result_.assign(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void fail(Error error) { error_ = error; }

  void perform_call();
  void hello();
  void load_module();
  /// The content of a module that the program loads.
  struct Image {
    std::string text;  // PTX; empty if the image has none
    std::string file;  // name in messages
    std::uint32_t architecture = 0;
    Registers registers{};
  };
  [[nodiscard]] Image image_of(ModuleImage kind);
  /// Loads a module whose parts have all arrived. `own`: the program provides the PTX itself, so all its
  /// kernels are checked. In PTX from nvcc, kernels that cannot be compiled may never be launched, so they
  /// are not checked.
  void load(Module& module, bool own);
  /// The host's number of a module of the program, or nothing if there is no such module.
  [[nodiscard]] std::optional<std::uint32_t> loaded_module(std::uint32_t number) const;
  void take_registers();
  /// Register counts from the machine code that the machine would execute, or from that of `architecture`.
  [[nodiscard]] Registers registers_in(const FatBinary& binary, std::uint32_t architecture) const;
  void set_registers(Module& module, Registers registers);
  void kernel_names();
  void find_kernel();
  void find_variable();
  void allocate();
  void free();
  void free_in_stream();
  void map_host();
  void unmap_host();
  void transfer();
  void fill();
  void fill_with_words(const FillArguments& of, runtime::StreamId id);
  void write_constant();
  void read_constant();
  void launch();
  void limit_pending_launches();
  void active_blocks();
  void create_stream();
  void set_stream_priority();
  void destroy_stream();
  void query(runtime::Host::WaitFor wait);
  [[nodiscard]] static bool seen_over(const runtime::Host::WaitFor& wait);
  void wait_for_stream();
  void stream_waits_for_event();
  void create_event();
  void destroy_event();
  void record_event();
  void query_event();
  void is_event_over();
  void wait_for_event();
  void elapsed_time();
  void memory_info();
  // Bodies and conditions, in bodies.cpp.
  [[nodiscard]] bool is_possible_in_body() const;
  void begin_body();
  void end_body();
  void enqueue_condition();
  // Arrays and textures, in arrays.cpp.
  void create_array();
  void copy_box();
  void create_texture();
  void destroy_texture();  // also for surfaces
  void create_surface();

  [[nodiscard]] DeviceDescription describe_device() const;
  [[nodiscard]] std::uint32_t most_threads(const emulator::KernelInfo& info, std::uint32_t registers) const;
  [[nodiscard]] Error check_launch(const LaunchArguments& of, const Kernel& kernel) const;
  /// Makes the call wait for the device or for one stream, and notes that its work is awaited.
  void wait_for_all();
  void wait_for(Stream& stream);
  void finish();
  /// Frees memory whose delayed free was in streams that the program has waited for.
  void free_delayed();
  void free_now(Address address);
  void record_host_writes();
  /// The stream or event with this number. Otherwise the call fails, and the result is nullptr.
  [[nodiscard]] Stream* stream(std::uint32_t number);
  [[nodiscard]] Event* event(std::uint32_t number);
  /// Orders a stream with the default stream and returns the host's stream. Must be called before each
  /// enqueue.
  runtime::StreamId enter(Stream& stream);

  std::string name_;
  runtime::Host& host_;
  Process& process_;
  const MemoryFile& memory_;
  PrintedText& printed_;
  const ProgramErrors* errors_;

  Request request_;
  Error error_ = Error::Success;
  std::string result_;
  std::string tail_;
  std::string refused_library_, refused_launch_;  // the first ones
  bool host_order_varies_ = false;
  std::optional<runtime::Host::WaitFor> wait_;
  std::optional<SharedMemory> shared_;  // if the host records writes to shared memory
  std::function<void()> after_wait_;

  std::int64_t process_number_ = 0;
  std::uint64_t launches_ = 0;
  std::uint32_t texts_ = 0;          // number of PTX texts that the program loaded itself
  std::uint64_t default_works_ = 0;  // number of works enqueued in the default stream
  std::uint64_t default_recorded_ = 0;
  std::vector<Module> modules_;
  std::vector<Kernel> kernels_;
  std::vector<Variable> variables_;
  std::map<Address, Allocation> allocations_;  // including arrays
  std::deque<Stream> streams_;
  std::vector<std::uint32_t> idle_streams_;  // destroyed streams that can be reused
  std::vector<Event> events_;
  std::vector<std::uint32_t> idle_events_;
  std::deque<DelayedFree> delayed_frees_;
  bool in_body_ = false;
  std::uint32_t bodies_ = 0;  // number of bodies
};

}  // namespace gpumux::program
