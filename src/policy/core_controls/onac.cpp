// ONAC, optimal number of active cores: estimates how many cores are enough. Source: awatramani17 section
// 4.4.2.
#include <string>

#include "policy/core_controls/detector.hpp"
#include "policy/core_controls/estimation.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {
namespace {

std::unique_ptr<CoreControl> create_onac(const std::string& argument) {
  LevelArguments read("cores", "onac", argument);
  const double threshold = read.real("threshold", 2, 0, 50) / 100;
  const auto step = static_cast<std::uint32_t>(read.whole("step", 1, 1, 1024));
  const CoreSampling sampling = CoreSampling::read(read);
  read.done();
  return std::make_unique<CoreDetector>(
      [=](std::uint32_t all) { return std::make_unique<CoreEstimation>(all, threshold, step); }, sampling);
}

const bool registered_onac = register_core_control(
    {"onac",
     "as few SMs as are nearly as fast as all, by estimates; the others' power is gated (awatramani17)",
     "threshold=: per cent of the IPC that may be lost, 0 to 50 [2]; step=: SMs more where samples do not "
     "rise, 1 to 1024 [1]; waves=: of blocks, in each sample, 1 to 1000 [4]; warmup=: samples of all SMs "
     "that are dropped first, 0 to 100 [1]; period=one, or each: SMs measure by themselves, and their "
     "IPCs are added up [one]",
     create_onac, "threshold=2/step=1/waves=4/warmup=1"});

}  // namespace
}  // namespace gpumux::policy
