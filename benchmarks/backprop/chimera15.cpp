// chimera15/BP and kayiran14/bp: both kernels of a training step. The forward kernel also stores over the
// weights, and the weights are copied again before the update, both as in Rodinia's program. The errors of
// the hidden units are inputs, so the kernels do not wait for the host.
#include <cmath>

#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/backprop.ptx.hpp"

namespace gpumux::benchmarks::backprop {
namespace {

class Step final : public KernelProgram {
 public:
  explicit Step(const Params& params) : inputs_(params.get_multiple("inputs", kUnits)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"layerforward_over", {1, inputs_ / kUnits}, {kUnits, kUnits}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {shape(), {"adjust_weights", {1, inputs_ / kUnits}, {kUnits, kUnits}}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    input_ = random_floats(random, std::size_t{inputs_} + 1, 0.0F, 1.0F);
    input_[0] = 1.0F;
    const float range = 3.0F / std::sqrt(static_cast<float>(inputs_));
    const std::size_t count = weight_index(inputs_, kUnits) + 1;
    weights_ = random_floats(random, count, -range, range);
    changes_ = random_floats(random, count, -0.1F * range, 0.1F * range);
    errors_ = random_floats(random, kUnits + 1, -0.1F, 0.1F);
  }
  void start(KernelRun& run) override {
    const auto input = run.upload(input_);
    const auto over = run.upload(weights_);
    const auto weights = run.allocate<float>(weights_.size());
    const auto changes = run.upload(changes_);
    const auto errors = run.upload(errors_);
    const auto partial = run.allocate<float>(inputs_);
    run.copy(weights, over);
    run.launch(input, over, partial, kUnits);
    run.launch_as(shapes()[1], errors, input, weights, changes, kUnits);
    run.download(sums_, partial);
    if (!run.verify()) return;
    run.download(left_, over);
    run.download(new_weights_, weights);
    run.download(new_changes_, changes);
  }
  void check() override {
    PartialSums expected = reference_forward(input_, weights_);
    // Each product is rounded once, and then at most 4 times in the additions of the tree.
    for (double& magnitude : expected.magnitude) magnitude *= sum_tolerance(5).relative;
    check_within("backprop: partial_sum", sums_, expected.sum, expected.magnitude);
    check_close("backprop: what the tree leaves", left_, reference_tree(input_, weights_), Tolerance{});
    // The kernel computes in double precision and rounds once to float. The tolerance is two roundings,
    // because the kernel and the reference can be on different sides of a tie.
    const Adjusted adjusted = reference_adjust(errors_, input_, weights_, changes_);
    const Tolerance tolerance{.relative = 2 * kFloatRounding, .absolute = 0x1p-50};
    check_close("backprop: weights", new_weights_, adjusted.weights, tolerance);
    check_close("backprop: changes", new_changes_, adjusted.changes, tolerance);
  }

 private:
  std::uint32_t inputs_;
  std::vector<float> input_, weights_, changes_, errors_;
  std::vector<float> sums_, left_, new_weights_, new_changes_;
};

const KernelApp kStep{
    .name = "chimera15/BP",
    .description = "Back Propagation, forward and update, as in Table 2 of chimera15",
    .params = {{"inputs", 131072, 16, 1048560, "input units, a multiple of 16; there are 16 hidden units"}},
    .ptx_file = "benchmarks/backprop/backprop.ptx",
    .ptx_text = embedded::backprop_ptx,
    .kernels = {{"layerforward_over", {.registers_per_thread = 10, .shared_bytes = 1920}},
                {"adjust_weights", {.registers_per_thread = 22}}},
};
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Step>(kStep);
// As many inputs as in Rodinia's own runs.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<Step, variant::Kayiran14>(
    kStep.with("kayiran14/bp", "Back Propagation, forward and update, for kayiran14", {{"inputs", 65536}}));

}  // namespace
}  // namespace gpumux::benchmarks::backprop
