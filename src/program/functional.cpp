#include "program/functional.hpp"

#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "emulator/functional_run.hpp"
#include "emulator/program.hpp"
#include "runtime/context.hpp"
#include "runtime/device.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint32_t kResident = 4;  // few blocks, so that their state stays in the host's caches
constexpr std::size_t kKernels = 32;    // limit of kernels at a time

class UntimedDevice final : public runtime::Device {
 public:
  UntimedDevice(const arch::MachineConfig& machine, emulator::RaceLog* races)
      : machine_(machine), races_(races) {}
  [[nodiscard]] const arch::MachineConfig& config() const override { return machine_; }
  [[nodiscard]] Cycle now() const override { return now_; }
  [[nodiscard]] emulator::RaceLog* races() const override { return races_; }
  /// Runs a kernel and the kernels that it launches to their end.
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t /*priority*/) override {
    submit_child(context, stream, std::move(kernel));
    while (!running_.empty() || !waiting_.empty()) {
      look_for_host(context);
      for (; !waiting_.empty() && running_.size() < kKernels; waiting_.pop_front()) {
        running_.push_back(std::move(waiting_.front()));
        context.kernel_began(running_.back().stream);
      }
      step(context);
    }
  }
  void submit_child(runtime::Context&, std::uint32_t stream,
                    std::unique_ptr<workload::KernelSource> kernel) override {
    // If all blocks of a grid fit on the machine at once, they may wait for each other, so all are made
    // resident.
    const workload::BlockResources need = kernel->resources();
    const std::uint32_t room =
        machine_.sms *
        arch::occupancy(machine_.sm, need.threads, need.registers_per_thread, need.shared_bytes).blocks;
    emulator::FunctionalRun run(*kernel, kernel->blocks() <= room ? room : kResident, room);
    waiting_.push_back({stream, std::move(kernel), std::move(run)});
  }
  void kill(runtime::Context&) override {}  // no kernel runs between two calls
  void copied_to_device(AppId, Address, std::uint64_t) override {}
  void move_to(Cycle cycle) { now_ = cycle; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }

 private:
  struct Running {
    std::uint32_t stream;
    std::unique_ptr<workload::KernelSource> kernel;
    emulator::FunctionalRun run;
  };
  void look_for_host(runtime::Context& context) {
    constexpr std::chrono::milliseconds kInterval{100};
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + kInterval;
    context.look_for_host();
  }
  /// Executes some instructions of each kernel. Kernels for which no one waits end at once.
  void step(runtime::Context& context) {
    for (std::size_t i = 0; i < running_.size();) {
      if (!context.is_abandoned() && running_[i].run.step()) {
        ++i;
        continue;
      }
      const Running ended = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      now_ += ended.run.executed();
      instructions_ += ended.run.executed();
      context.kernel_ended(ended.stream);
    }
  }

  const arch::MachineConfig& machine_;
  emulator::RaceLog* races_;
  Cycle now_ = 0;
  std::uint64_t instructions_ = 0;
  std::chrono::steady_clock::time_point next_look_{};
  std::vector<Running> running_;
  std::deque<Running> waiting_;
};

}  // namespace

std::uint64_t run_functionally(std::unique_ptr<runtime::Application> application, const std::string& name,
                               const arch::MachineConfig& machine, emulator::RaceLog* races) {
  UntimedDevice device(machine, races);
  runtime::Context context(AppId{0}, name, std::move(application), device, false, nullptr);
  context.start();
  while (true) {
    context.pump();
    if (context.finished()) return device.instructions();
    if (context.next_event() == kNever)
      throw UserError(fmt::format("app {}: it waits for what nothing brings about", name));
    device.move_to(context.next_event());
  }
}

}  // namespace gpumux::program
