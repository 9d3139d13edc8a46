// dai18/bp: the forward kernel of backprop alone, which is the one that dai18's Table 2 has (its shared
// memory is that of layerforward; adjust_weights has none).
#include <cmath>

#include "benchmarks/backprop/backprop.hpp"
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "embedded/backprop.ptx.hpp"

namespace gpumux::benchmarks::backprop {
namespace {

constexpr const char* kName = "dai18/bp";
constexpr const char* kFile = "benchmarks/backprop/backprop.ptx";
constexpr const char* kKernel = "layerforward";

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"inputs", 262144, 16, 1048560, "input units, a multiple of 16; there are 16 hidden units"}};
  return table;
}

std::uint32_t read_inputs(const runtime::AppParams& values) {
  return Params(kName, param_table(), values).get_multiple("inputs", kUnits);
}

Dim3 grid(std::uint32_t inputs) { return {1, inputs / kUnits}; }

class Forward final : public runtime::Application {
 public:
  Forward(std::uint32_t inputs, std::uint64_t seed) : inputs_(inputs), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (input_.empty()) {
      Random random(seed_);
      input_ = random_floats(random, std::size_t{inputs_} + 1, 0.0F, 1.0F);
      const float range = 3.0F / std::sqrt(static_cast<float>(inputs_));
      weights_ = random_floats(random, weight_index(inputs_, kUnits) + 1, -range, range);
    }
    const std::uint32_t module = host.load_module(embedded::backprop_ptx, kFile);
    const auto input = host.malloc<float>(input_.size());
    const auto weights = host.malloc<float>(weights_.size());
    const auto partial = host.malloc<float>(inputs_);
    host.to_device(input, input_);
    host.to_device(weights, weights_);
    host.launch(module, kKernel, {.grid = grid(inputs_), .block = {kUnits, kUnits}}, input, weights, partial,
                static_cast<std::int32_t>(kUnits));
    std::vector<float> sums(inputs_);
    host.from_device(sums, partial);
    co_await host.synchronize();
    if (verify) {
      PartialSums expected = reference_forward(input_, weights_);
      // Each product is rounded once, then in at most 4 additions of the tree.
      for (double& magnitude : expected.magnitude) magnitude *= sum_tolerance(5).relative;
      check_within("backprop: partial_sum", sums, expected.sum, expected.magnitude);
    }
    host.free(input);
    host.free(weights);
    host.free(partial);
  }

 private:
  std::uint32_t inputs_;
  std::uint64_t seed_;
  std::vector<float> input_;  // made by the first run
  std::vector<float> weights_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "forward reduction of Back Propagation as in Table 2 of dai18",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::backprop_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, grid(read_inputs(values)), {kUnits, kUnits}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Forward>(read_inputs(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::backprop
