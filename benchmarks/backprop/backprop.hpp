// backprop: the CPU references, apart from the host program so that tests can call them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::backprop {

/// Hidden units of the network, and inputs of one thread block (UNITS of backprop.cu).
inline constexpr std::uint32_t kUnits = 16;

/// Index of the weight between an input (0: the bias) and a hidden unit (1 to 16).
[[nodiscard]] constexpr std::size_t weight_index(std::uint32_t input, std::uint32_t unit) {
  return std::size_t{input} * (kUnits + 1) + unit;
}

/// What each thread block sums: partial[block * 16 + h] over its 16 inputs, and the sum of the magnitudes of
/// the same products (which bounds the rounding error). `input` has element 0 for the bias.
struct PartialSums {
  std::vector<double> sum;
  std::vector<double> magnitude;
};
[[nodiscard]] PartialSums reference_forward(const std::vector<float>& input,
                                            const std::vector<float>& weights);

/// The weights after the forward kernel has stored over them what its tree leaves: products of input and
/// weight, and in every 2^k-th row of a block the sums of the 2^k rows from it on. Rounded as the kernel
/// does. Bias and unused column stay.
[[nodiscard]] std::vector<float> reference_tree(const std::vector<float>& input,
                                                const std::vector<float>& weights);

/// New weights and new changes of them, both in double precision, from the errors `delta` of the hidden units
/// (element 0 unused).
struct Adjusted {
  std::vector<double> weights;
  std::vector<double> changes;
};
[[nodiscard]] Adjusted reference_adjust(const std::vector<float>& delta, const std::vector<float>& input,
                                        const std::vector<float>& weights, const std::vector<float>& changes);

/// The host's part of the step: the errors of the hidden units from the blocks' partial sums, the weights of
/// the bias and of the output unit (element 0: its bias), and the output wanted.
[[nodiscard]] std::vector<float> hidden_errors(const std::vector<float>& partial,
                                               const std::vector<float>& weights,
                                               const std::vector<float>& output_weights, float target);

}  // namespace gpumux::benchmarks::backprop
