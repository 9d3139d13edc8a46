// dai18/bp and awatramani17/bp-k1: only the forward kernel of backprop, with the store over the weights of
// Rodinia's kernel. dai18's Table 2 describes this kernel: it prints the shared memory of layerforward, and
// adjust_weights uses no shared memory.
#include <cmath>

#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/backprop.ptx.hpp"

namespace gpumux::benchmarks::backprop {
namespace {

class Forward final : public KernelProgram {
 public:
  explicit Forward(const Params& params) : inputs_(params.get_multiple("inputs", kUnits)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"layerforward_over", {1, inputs_ / kUnits}, {kUnits, kUnits}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    input_ = random_floats(random, std::size_t{inputs_} + 1, 0.0F, 1.0F);
    const float range = 3.0F / std::sqrt(static_cast<float>(inputs_));
    weights_ = random_floats(random, weight_index(inputs_, kUnits) + 1, -range, range);
  }
  void start(KernelRun& run) override {
    const auto input = run.upload(input_);
    const auto weights = run.upload(weights_);
    const auto partial = run.allocate<float>(inputs_);
    run.launch(input, weights, partial, kUnits);
    run.download(sums_, partial);
    if (run.verify()) run.download(left_, weights);
  }
  void check() override {
    PartialSums expected = reference_forward(input_, weights_);
    // Each product is rounded once, and then at most 4 times in the additions of the tree.
    for (double& magnitude : expected.magnitude) magnitude *= sum_tolerance(5).relative;
    check_within("backprop: partial_sum", sums_, expected.sum, expected.magnitude);
    check_close("backprop: weights", left_, reference_tree(input_, weights_), Tolerance{});
  }

 private:
  std::uint32_t inputs_;
  std::vector<float> input_;
  std::vector<float> weights_;
  std::vector<float> sums_;
  std::vector<float> left_;  // the weights after the launch
};

const KernelApp kForward{
    .name = "dai18/bp",
    .description = "forward reduction of Back Propagation as in Table 2 of dai18",
    .params = {{"inputs", 262144, 16, 1048560, "input units, a multiple of 16; there are 16 hidden units"}},
    .ptx_file = "benchmarks/backprop/backprop.ptx",
    .ptx_text = embedded::backprop_ptx,
    .metadata = {.registers_per_thread = 12, .shared_bytes = 1090},
};
[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Forward>(kForward);
// Registers as in Table 4.2 of awatramani17.
[[maybe_unused]] const bool registered_layer_forward = register_kernel_app<Forward, variant::Awatramani17>(
    kForward.with("awatramani17/bp-k1", "forward reduction of Back Propagation: BP-K1 of awatramani17", {},
                  {.registers_per_thread = 12}));

}  // namespace
}  // namespace gpumux::benchmarks::backprop
