#include "tests/emulator/timed_run.hpp"

#include <cstdlib>
#include <utility>

#include "arch/config_file.hpp"
#include "emulator/program.hpp"
#include "experiment/run.hpp"

namespace gpumux::emulator::test {
namespace {

/// Launches a kernel that is there already.
class OneLaunch final : public runtime::Application {
 public:
  explicit OneLaunch(std::unique_ptr<workload::KernelSource> kernel) : kernel_(std::move(kernel)) {}
  runtime::Task run(runtime::Host& host, bool) override {
    host.launch_source([this](workload::DeviceMemory&, std::uint32_t) { return std::move(kernel_); }, 0);
    co_await host.synchronize();
  }

 private:
  std::unique_ptr<workload::KernelSource> kernel_;
};

}  // namespace

bool is_timed() { return std::getenv("GPUMUX_TIMED") != nullptr; }

std::uint64_t execute(std::unique_ptr<workload::KernelSource> kernel) {
  if (!is_timed()) return run_functionally(*kernel);
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("v100", {"sms=8", "runtime.kernel_launch_latency=0"});
  spec.policy = policy::parse_choice("leftover");
  spec.device_output = false;
  experiment::AppSpec app;
  app.text = app.name = app.identity = "kernel";
  app.create = [&](std::uint64_t) { return std::make_unique<OneLaunch>(std::move(kernel)); };
  spec.apps = {app};
  return experiment::simulate(spec).gpu.warp_instructions;
}

}  // namespace gpumux::emulator::test
