// Sequential detection of how many cores are enough, with one core fewer in each sample. Source: awatramani17
// section 4.4.
#include "policy/core_controls/descent.hpp"
#include "policy/core_controls/detector.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {
namespace {

std::unique_ptr<CoreControl> create_seq_det(const std::string& argument) {
  LevelArguments read("cores", "seq-det", argument);
  const double threshold = read.real("threshold", 2, 0, 50) / 100;
  const CoreSampling sampling = CoreSampling::read(read);
  const bool of_best = read.choice("against", "all", {"all", "best"}) == "best";
  read.done();
  return std::make_unique<CoreDetector>(
      [=](std::uint32_t all) { return std::make_unique<CoreDescent>(all, threshold, of_best); }, sampling);
}

const bool registered_seq_det = register_core_control(
    {"seq-det", "one SM fewer after each sample, as long as it costs next to nothing (awatramani17)",
     "threshold=, waves=, warmup= and period= as for onac; against=all, or best: what a sample is compared "
     "with [all]",
     create_seq_det, "against=all"});

}  // namespace
}  // namespace gpumux::policy
