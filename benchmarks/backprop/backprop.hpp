// backprop: the CPU references. Tests call them, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::backprop {

/// Number of hidden units, and number of inputs per thread block (UNITS of backprop.cu).
inline constexpr std::uint32_t kUnits = 16;

/// Index of the weight between an input (0: the bias) and a hidden unit (1 to 16).
[[nodiscard]] constexpr std::size_t weight_index(std::uint32_t input, std::uint32_t unit) {
  return std::size_t{input} * (kUnits + 1) + unit;
}

/// Sums of each thread block: sum[block * 16 + h] over its 16 inputs. `magnitude` has the sums of the
/// magnitudes of the same products, which bound the rounding error. Element 0 of `input` is the bias.
struct PartialSums {
  std::vector<double> sum;
  std::vector<double> magnitude;
};
[[nodiscard]] PartialSums reference_forward(const std::vector<float>& input,
                                            const std::vector<float>& weights);

/// The weights after the forward kernel has stored the state of its tree over them: products of input and
/// weight, and in every 2^k-th row of a block the sum of the 2^k rows that start there. Rounded as in the
/// kernel. The bias row and the unused column keep their values.
[[nodiscard]] std::vector<float> reference_tree(const std::vector<float>& input,
                                                const std::vector<float>& weights);

/// New weights and their new changes, in double precision, computed from the errors `delta` of the hidden
/// units (element 0 is unused).
struct Adjusted {
  std::vector<double> weights;
  std::vector<double> changes;
};
[[nodiscard]] Adjusted reference_adjust(const std::vector<float>& delta, const std::vector<float>& input,
                                        const std::vector<float>& weights, const std::vector<float>& changes);

/// The host's part of the step: the errors of the hidden units. They follow from the blocks' partial sums,
/// the weights of the bias, the weights of the output unit (element 0: its bias) and the target output.
[[nodiscard]] std::vector<float> hidden_errors(const std::vector<float>& partial,
                                               const std::vector<float>& weights,
                                               const std::vector<float>& output_weights, float target);

}  // namespace gpumux::benchmarks::backprop
