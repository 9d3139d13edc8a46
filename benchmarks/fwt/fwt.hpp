// Dyadic convolution by its definition, for the host program and its tests.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::fwt {

/// result[i] = sum over j of data[i xor j] * kernel[j]; `data` has 2^n elements, `kernel` no more.
[[nodiscard]] std::vector<std::int32_t> dyadic_convolution(const std::vector<std::int32_t>& data,
                                                           const std::vector<std::int32_t>& kernel);

/// The Walsh-Hadamard transform, in natural order, of each run of `length` elements, a power of two:
/// result[i] = sum over j of data[j], less where i and j have an odd number of common bits.
[[nodiscard]] std::vector<double> walsh_transforms(const std::vector<float>& data, std::size_t length);

}  // namespace gpumux::benchmarks::fwt
