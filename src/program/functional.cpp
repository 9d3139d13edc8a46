#include "program/functional.hpp"

#include <utility>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "emulator/program.hpp"
#include "runtime/context.hpp"
#include "runtime/device.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint32_t kResident = 4;  // few, whose state stays in the host's caches

class UntimedDevice final : public runtime::Device {
 public:
  UntimedDevice(const arch::MachineConfig& machine, emulator::RaceLog* races)
      : machine_(machine), races_(races) {}
  [[nodiscard]] const arch::MachineConfig& config() const override { return machine_; }
  [[nodiscard]] Cycle now() const override { return now_; }
  [[nodiscard]] emulator::RaceLog* races() const override { return races_; }
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t /*priority*/) override {
    // Blocks of a grid that the machine would hold at once may wait for each other.
    const workload::BlockResources need = kernel->resources();
    const std::uint32_t room =
        machine_.sms *
        arch::occupancy(machine_.sm, need.threads, need.registers_per_thread, need.shared_bytes).blocks;
    const std::uint64_t executed =
        emulator::run_functionally(*kernel, kernel->blocks() <= room ? room : kResident, room);
    now_ += executed;
    instructions_ += executed;
    context.kernel_ended(stream);
  }
  void kill(runtime::Context&) override {}  // nothing is under way between two calls
  void copied_to_device(AppId, Address, std::uint64_t) override {}
  void move_to(Cycle cycle) { now_ = cycle; }
  [[nodiscard]] std::uint64_t instructions() const { return instructions_; }

 private:
  const arch::MachineConfig& machine_;
  emulator::RaceLog* races_;
  Cycle now_ = 0;
  std::uint64_t instructions_ = 0;
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
