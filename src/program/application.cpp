#include "program/application.hpp"

#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "program/keeper.hpp"
#include "program/process.hpp"
#include "program/server.hpp"

namespace gpumux::program {
namespace {

/// The signal that ended a program, or 0.
int ending_signal(int status, bool in_shell) {
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  constexpr int kOfShells = 128, kSignals = 64;
  const int code = WEXITSTATUS(status);
  return in_shell && code > kOfShells && code <= kOfShells + kSignals ? code - kOfShells : 0;
}

/// Sets a pointer to a process for the lifetime of this object.
class Shown {
 public:
  Shown(const Process*& to, const Process& process) : to_(to) { to = &process; }
  ~Shown() { to_ = nullptr; }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  const Process*& to_;
};

class ProgramApplication final : public runtime::Application {
 public:
  ProgramApplication(std::shared_ptr<const Program> program, bool heard)
      : program_(std::move(program)), heard_(heard) {}

  [[nodiscard]] int memory_file() override {
    memory_ = std::make_unique<MemoryFile>();  // zeros, like the memory of an unused device
    return memory_->descriptor();
  }
  [[nodiscard]] bool writes_while_it_waits() const override {
    return process_ != nullptr && !process_->is_one_thread();
  }
  [[nodiscard]] emulator::PrintSink* print_sink() override { return &printed_; }
  [[nodiscard]] emulator::KernelErrors* kernel_errors() override {
    errors_.reset();
    if (!program_->stops_at_errors) errors_.emplace(heard_ && !program_->outcome->begun);
    return errors_ ? &*errors_ : nullptr;
  }

  [[nodiscard]] bool host_order_varies() const override { return host_order_varies_; }
  [[nodiscard]] bool has_gone() const override { return process_ != nullptr && process_->caller_has_ended(); }

  runtime::Task run(runtime::Host& host, bool /*verify*/) override {
    const Program& of = *program_;
    const bool heard = heard_ && !std::exchange(of.outcome->begun, true);
    static_cast<void>(printed_.take());
    Process process(of.command, of.libraries, *memory_, !heard);
    const Shown shown(process_, process);
    Server server(of.name, host, process, *memory_, printed_, errors_ ? &*errors_ : nullptr);
    for (bool ended = false; !ended;) {
      const Process::Event event = server.receive();
      if (event == Process::Event::Request) {
        server.perform();
        host_order_varies_ = host_order_varies_ || server.host_order_varies();
        if (server.wait()) co_await *server.wait();
        server.answer();
        continue;
      }
      // Work in progress ends with the process, as on a GPU. A process that ends normally has waited for its
      // work.
      server.ended();
      host.end_work();
      co_await host.synchronize();
      ended = event == Process::Event::Ended;
    }
    const int status = process.wait();
    const int signal = ending_signal(status, of.in_shell);
    if (signal != 0) {
      throw SimulationFault(fmt::format("error: app {}: signal {} ({}) ended the program", of.name, signal,
                                        ::strsignal(signal)));
    }
    if (heard) {
      of.outcome->ended = true;
      of.outcome->exit_code = WEXITSTATUS(status);
      of.outcome->connected = server.connected();
      of.outcome->launches = server.launches();
      of.outcome->refused_library = server.refused_library();
      of.outcome->refused_launch = server.refused_launch();
    }
  }

 private:
  std::shared_ptr<const Program> program_;
  bool heard_;
  bool host_order_varies_ = false;
  std::unique_ptr<MemoryFile> memory_;
  const Process* process_ = nullptr;  // of the current run
  PrintedText printed_;
  std::optional<ProgramErrors> errors_;  // of the current run
};

}  // namespace

std::string library_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path folder = (program / "../lib/gpumux/cudart").lexically_normal();
  for (const char* const library : {"libcudart.so.13", "libcuda.so.1", kKeeperFile}) {
    if (fs::exists(folder / library, error)) continue;
    throw UserError({(folder / library).string()},
                    "does not exist: CUDA programs need it, which is built and installed with gpumux");
  }
  return folder.string();
}

std::unique_ptr<runtime::Application> make_application(std::shared_ptr<const Program> program, bool heard) {
  return std::make_unique<ProgramApplication>(std::move(program), heard);
}

}  // namespace gpumux::program
