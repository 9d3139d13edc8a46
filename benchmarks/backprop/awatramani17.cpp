// awatramani17/bp-k2: only the second kernel of backprop, which updates the weights. The thesis calls it
// BP-K2 (Tables 3.2, 4.2 and 4.4; registers as in Table 4.2). It is bound by memory, the first kernel by
// computation.
#include <cmath>

#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/backprop.ptx.hpp"

namespace gpumux::benchmarks::backprop {
namespace {

class Adjust final : public KernelProgram {
 public:
  explicit Adjust(const Params& params) : inputs_(params.get_multiple("inputs", kUnits)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"adjust_weights", {1, inputs_ / kUnits}, {kUnits, kUnits}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    input_ = random_floats(random, std::size_t{inputs_} + 1, 0.0F, 1.0F);
    const float range = 3.0F / std::sqrt(static_cast<float>(inputs_));
    const std::size_t count = weight_index(inputs_, kUnits) + 1;
    weights_ = random_floats(random, count, -range, range);
    changes_ = random_floats(random, count, -0.1F * range, 0.1F * range);
    delta_ = random_floats(random, kUnits + 1, -0.1F, 0.1F);
  }
  void start(KernelRun& run) override {
    const auto delta = run.upload(delta_);
    const auto input = run.upload(input_);
    const auto weights = run.upload(weights_);
    const auto changes = run.upload(changes_);
    run.launch(delta, input, weights, changes, kUnits);
    run.download(new_weights_, weights);
    run.download(new_changes_, changes);
  }
  void check() override {
    const Adjusted expected = reference_adjust(delta_, input_, weights_, changes_);
    // The kernel computes in double precision and rounds once to float. The tolerance is two roundings,
    // because the kernel and the reference can be on different sides of a tie.
    const Tolerance tolerance{.relative = 2 * kFloatRounding, .absolute = 0x1p-50};
    check_close("backprop: weights", new_weights_, expected.weights, tolerance);
    check_close("backprop: changes", new_changes_, expected.changes, tolerance);
  }

 private:
  std::uint32_t inputs_;
  std::vector<float> input_, weights_, changes_, delta_;
  std::vector<float> new_weights_, new_changes_;
};

[[maybe_unused]] const bool registered_adjust = register_kernel_app<Adjust>({
    .name = "awatramani17/bp-k2",
    .description = "weight update of Back Propagation: BP-K2 of awatramani17",
    .params = {{"inputs", 262144, 16, 1048560, "input units, a multiple of 16; there are 16 hidden units"}},
    .ptx_file = "benchmarks/backprop/backprop.ptx",
    .ptx_text = embedded::backprop_ptx,
    .metadata = {.registers_per_thread = 24},
});

}  // namespace
}  // namespace gpumux::benchmarks::backprop
