// Answers the CUDA calls of one run of a program, in the order in which they come, with a runtime::Host.
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

/// Errors of a program's kernels: said, and told to the program.
class ProgramErrors final : public emulator::KernelErrors {
 public:
  /// `heard`: somebody reads what is said.
  explicit ProgramErrors(bool heard) : heard_(heard) {}
  void outside(const std::string& message) override;
  void assertion(const std::string& line) override;
  /// What all of its CUDA calls return from then on; Success: nothing has happened.
  [[nodiscard]] Error code() const;

 protected:
  void has_ended(const std::string& message) override;

 private:
  bool heard_;
};

/// What kernels have printed and the program has not been given.
class PrintedText final : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view text) override { text_ += text; }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

/// Between receive() and answer() a call may have to wait for the device: then wait() says for what, and time
/// passes. Nothing else lets time pass, so that what a run takes depends on its calls alone.
class Server {
 public:
  /// `name`: of the program, for messages.
  /// `errors`: nullptr where they end the simulation.
  Server(std::string name, runtime::Host& host, Process& process, const MemoryFile& memory,
         PrintedText& printed, const ProgramErrors* errors);

  /// The next call, or what has ended. Throws UserError for what no call is.
  Process::Event receive();
  /// Does what it says. Throws UserError for kernels that cannot be compiled, and programs without PTX.
  void perform();
  [[nodiscard]] const std::optional<runtime::Host::WaitFor>& wait() const { return wait_; }
  void answer();
  /// The program or its caller has ended: what it still wrote is said.
  void ended() { record_host_writes(); }

  /// The program has used the run-time library.
  [[nodiscard]] bool connected() const { return process_number_ != 0; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  /// The first library of the program whose CUDA run time cannot be simulated; empty: none.
  [[nodiscard]] const std::string& refused_library() const { return refused_library_; }
  [[nodiscard]] const std::string& refused_launch() const { return refused_launch_; }
  [[nodiscard]] bool host_order_varies() const { return host_order_varies_; }

 private:
  /// Of kernels' threads, by name: as the program's machine code has them.
  using Registers = std::map<std::string, std::uint32_t>;
  struct Module {
    std::vector<ptx::Unit> units;  // until all are there
    std::uint32_t architecture = 0;
    std::string file;                     // what messages call it
    std::optional<std::uint32_t> loaded;  // of the host
    Registers registers;
  };
  struct Kernel {
    std::uint32_t module = 0;  // of the host
    std::string name;
    const emulator::KernelInfo* info = nullptr;
    std::uint32_t registers = 0;  // of a thread
  };
  struct Variable {
    std::uint32_t module = 0;  // of the host
    std::string name;
  };
  struct Allocation {
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::Device;
  };
  /// Of the program's numbers; 0 is the legacy default stream, which waits for all that block, and for which
  /// they wait: by an event of each, recorded when the other side has something to wait for.
  struct Stream {
    runtime::StreamId id = 0;  // the host's
    runtime::EventId order = 0;
    bool alive = true;
    bool blocking = true;
    std::uint8_t priority = 0;
    bool of_body = false;
    bool unseen_work = false;         // that the default stream has not been told to wait for
    bool unawaited = false;           // work for which the program has not waited
    std::uint64_t default_works = 0;  // of the default stream's, those that it has been told to wait for
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
  /// Throws UserError when the call came with others than so many bytes.
  void take_arguments(std::span<std::byte> to) const;
  template <class T>
  void result(const T& value) {
    result_.assign(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void fail(Error error) { error_ = error; }

  void perform_call();
  void hello();
  void load_module();
  /// What a program gives as a module.
  struct Image {
    std::string text;  // PTX; empty: there is nothing in it
    std::string file;  // what messages call it
    std::uint32_t architecture = 0;
    Registers registers{};
  };
  [[nodiscard]] Image image_of(ModuleImage kind);
  /// `own`: PTX that the program itself has, which may be wrong in any of its kernels; of what nvcc made,
  /// those that cannot be compiled here may never be asked for.
  void load(Module& module, bool own);
  /// The host's number of one of the program's modules; none: there is no such module.
  [[nodiscard]] std::optional<std::uint32_t> loaded_module(std::uint32_t number) const;
  void take_registers();
  /// Of the machine code that the machine would execute, or that is of this architecture.
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
  // Bodies and conditions: bodies.cpp.
  [[nodiscard]] bool is_possible_in_body() const;
  void begin_body();
  void end_body();
  void enqueue_condition();
  // Arrays and textures: arrays.cpp.
  void create_array();
  void copy_box();
  void create_texture();
  void destroy_texture();  // or surface
  void create_surface();

  [[nodiscard]] DeviceDescription describe_device() const;
  [[nodiscard]] std::uint32_t most_threads(const emulator::KernelInfo& info, std::uint32_t registers) const;
  [[nodiscard]] Error check_launch(const LaunchArguments& of, const Kernel& kernel) const;
  /// The call waits for the device, or for one stream: what is known to have ended afterwards.
  void wait_for_all();
  void wait_for(Stream& stream);
  void finish();
  /// Frees what freed itself in streams for which the program has waited.
  void free_delayed();
  void free_now(Address address);
  void record_host_writes();
  /// nullptr, and the call fails, for a number that no stream or event has.
  [[nodiscard]] Stream* stream(std::uint32_t number);
  [[nodiscard]] Event* event(std::uint32_t number);
  /// To be called before something is enqueued in the stream: the host's stream.
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
  std::string refused_library_, refused_launch_;  // the first of them
  bool host_order_varies_ = false;
  std::optional<runtime::Host::WaitFor> wait_;
  std::optional<SharedMemory> shared_;  // where the host wants to hear of what is written there
  std::function<void()> after_wait_;

  std::int64_t process_number_ = 0;
  std::uint64_t launches_ = 0;
  std::uint32_t texts_ = 0;          // of PTX that the program has loaded itself
  std::uint64_t default_works_ = 0;  // enqueued in the default stream
  std::uint64_t default_recorded_ = 0;
  std::vector<Module> modules_;
  std::vector<Kernel> kernels_;
  std::vector<Variable> variables_;
  std::map<Address, Allocation> allocations_;  // and arrays
  std::deque<Stream> streams_;
  std::vector<std::uint32_t> idle_streams_;  // destroyed, to be used again
  std::vector<Event> events_;
  std::vector<std::uint32_t> idle_events_;
  std::deque<DelayedFree> delayed_frees_;
  bool in_body_ = false;
  std::uint32_t bodies_ = 0;  // that there are
};

}  // namespace gpumux::program
