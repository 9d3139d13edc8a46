#include "benchmarks/backprop/backprop.hpp"

#include <cmath>

#include "benchmarks/common.hpp"
#include "embedded/backprop.ptx.hpp"

namespace gpumux::benchmarks::backprop {

PartialSums reference_forward(const std::vector<float>& input, const std::vector<float>& weights) {
  const std::size_t inputs = input.size() - 1;
  PartialSums partial;
  partial.sum.resize(inputs);  // 16 sums per block of 16 inputs
  partial.magnitude.resize(inputs);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    const std::size_t block = i / kUnits;
    for (std::uint32_t h = 0; h < kUnits; ++h) {
      const double product =
          static_cast<double>(input[i + 1]) * static_cast<double>(weights[weight_index(i + 1, h + 1)]);
      partial.sum[block * kUnits + h] += product;
      partial.magnitude[block * kUnits + h] += std::abs(product);
    }
  }
  return partial;
}

std::vector<float> reference_tree(const std::vector<float>& input, const std::vector<float>& weights) {
  std::vector<float> result = weights;
  for (std::uint32_t first = 1; first < input.size(); first += kUnits) {
    for (std::uint32_t h = 1; h <= kUnits; ++h) {
      for (std::uint32_t i = first; i < first + kUnits; ++i) result[weight_index(i, h)] *= input[i];
      for (std::uint32_t distance = 1; distance < kUnits; distance *= 2) {
        for (std::uint32_t i = first; i < first + kUnits; i += 2 * distance) {
          result[weight_index(i, h)] += result[weight_index(i + distance, h)];
        }
      }
    }
  }
  return result;
}

Adjusted reference_adjust(const std::vector<float>& delta, const std::vector<float>& input,
                          const std::vector<float>& weights, const std::vector<float>& changes) {
  constexpr double kRate = 0.3;
  constexpr double kMomentum = 0.3;
  Adjusted result{{weights.begin(), weights.end()}, {changes.begin(), changes.end()}};
  for (std::uint32_t i = 0; i < input.size(); ++i) {
    const double x = i == 0 ? 1.0 : static_cast<double>(input[i]);
    for (std::uint32_t h = 1; h <= kUnits; ++h) {
      const std::size_t at = weight_index(i, h);
      result.changes[at] =
          kRate * static_cast<double>(delta[h]) * x + kMomentum * static_cast<double>(changes[at]);
      result.weights[at] += result.changes[at];
    }
  }
  return result;
}

std::vector<float> hidden_errors(const std::vector<float>& partial, const std::vector<float>& weights,
                                 const std::vector<float>& output_weights, float target) {
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  std::vector<double> hidden(kUnits + 1);
  double sum = static_cast<double>(output_weights[0]);
  for (std::uint32_t h = 1; h <= kUnits; ++h) {
    double into = static_cast<double>(weights[weight_index(0, h)]);
    for (std::size_t at = h - 1; at < partial.size(); at += kUnits) into += static_cast<double>(partial[at]);
    hidden[h] = sigmoid(into);
    sum += hidden[h] * static_cast<double>(output_weights[h]);
  }
  const double output = sigmoid(sum);
  const double output_error = output * (1 - output) * (static_cast<double>(target) - output);
  std::vector<float> errors(kUnits + 1);
  for (std::uint32_t h = 1; h <= kUnits; ++h) {
    errors[h] = static_cast<float>(hidden[h] * (1 - hidden[h]) * output_error *
                                   static_cast<double>(output_weights[h]));
  }
  return errors;
}

namespace {

constexpr const char* kName = "backprop";
constexpr const char* kFile = "benchmarks/backprop/backprop.ptx";

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"inputs", 32768, 16, 1048560,
       "input units, a multiple of 16; there are 16 hidden units and one output"},
  };
  return table;
}

std::uint32_t read_inputs(const runtime::AppParams& values) {
  return Params(kName, param_table(), values).get_multiple("inputs", kUnits);
}

Dim3 grid(std::uint32_t inputs) { return {1, inputs / kUnits}; }

class Backprop final : public runtime::Application {
 public:
  Backprop(std::uint32_t inputs, std::uint64_t seed) : inputs_(inputs) {
    Random random(seed);
    input_ = random_floats(random, std::size_t{inputs} + 1, 0.0F, 1.0F);
    input_[0] = 1.0F;
    // The sum that enters a hidden unit is near 1 with these weights. Its sigmoid and its error are then not
    // zero.
    const float range = 3.0F / std::sqrt(static_cast<float>(inputs));
    const std::size_t count = weight_index(inputs, kUnits) + 1;
    weights_ = random_floats(random, count, -range, range);
    changes_ = random_floats(random, count, -0.1F * range, 0.1F * range);
    output_weights_ = random_floats(random, kUnits + 1, -1.0F, 1.0F);
    target_ = random.unit();
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::backprop_ptx, kFile);
    const auto input = host.malloc<float>(input_.size());
    const auto weights = host.malloc<float>(weights_.size());
    const auto changes = host.malloc<float>(weights_.size());
    const auto partial = host.malloc<float>(inputs_);
    const auto delta = host.malloc<float>(kUnits + 1);
    host.to_device(input, input_);
    host.to_device(weights, weights_);
    host.to_device(changes, changes_);
    const runtime::LaunchSpec spec{.grid = grid(inputs_), .block = {kUnits, kUnits}};
    const auto units = static_cast<std::int32_t>(kUnits);

    host.launch(module, "layerforward", spec, input, weights, partial, units);
    std::vector<float> sums(inputs_);
    host.from_device(sums, partial);
    co_await host.synchronize();

    const std::vector<float> errors = hidden_errors(sums, weights_, output_weights_, target_);
    host.to_device(delta, errors);
    host.launch(module, "adjust_weights", spec, delta, input, weights, changes, units);
    std::vector<float> new_weights(weights_.size());
    std::vector<float> new_changes(weights_.size());
    host.from_device(new_weights, weights);
    host.from_device(new_changes, changes);
    co_await host.synchronize();

    if (verify) check(sums, errors, new_weights, new_changes);
    host.free(input);
    host.free(weights);
    host.free(changes);
    host.free(partial);
    host.free(delta);
  }

 private:
  void check(const std::vector<float>& sums, const std::vector<float>& errors,
             const std::vector<float>& new_weights, const std::vector<float>& new_changes) {
    if (expected_.sum.empty()) {
      expected_ = reference_forward(input_, weights_);
      // Each product is rounded once, and then at most 4 times in the additions of the tree.
      for (const double magnitude : expected_.magnitude) {
        allowed_.push_back(sum_tolerance(5).relative * magnitude);
      }
    }
    check_within("backprop: partial_sum", sums, expected_.sum, allowed_);
    // The reference starts from the errors of this run, so that the check judges only the second kernel. The
    // kernel computes in double precision and rounds once to float. The tolerance is two roundings, because
    // kernel and reference can be on different sides of a tie. All terms are below 1, so the absolute
    // tolerance covers the roundings in double precision even if terms cancel.
    const Adjusted adjusted = reference_adjust(errors, input_, weights_, changes_);
    const Tolerance tolerance{.relative = 2 * kFloatRounding, .absolute = 0x1p-50};
    check_close("backprop: weights", new_weights, adjusted.weights, tolerance);
    check_close("backprop: changes", new_changes, adjusted.changes, tolerance);
  }

  std::uint32_t inputs_;
  std::vector<float> input_;
  std::vector<float> weights_;
  std::vector<float> changes_;
  std::vector<float> output_weights_;
  float target_;
  PartialSums expected_;  // computed by the first verified run
  std::vector<double> allowed_;
};

const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "one training step of a network: forward reduction, weight update (Rodinia Back Propagation)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::backprop_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Dim3 blocks = grid(read_inputs(values));
      return {{"layerforward", blocks, {kUnits, kUnits}}, {"adjust_weights", blocks, {kUnits, kUnits}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Backprop>(read_inputs(values), seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::backprop
