// The dyadic convolution by its definition, and the Walsh-Hadamard transform, for the host program and its
// tests.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::fwt {

/// result[i] = sum over j of data[i xor j] * kernel[j]. `data` has 2^n elements, `kernel` has at most as
/// many.
[[nodiscard]] std::vector<std::int32_t> dyadic_convolution(const std::vector<std::int32_t>& data,
                                                           const std::vector<std::int32_t>& kernel);

/// Walsh-Hadamard transform in natural order of each run of `length` elements, a power of two. result[i] is
/// the sum of data[j] over j; elements for which i and j have an odd number of common bits are subtracted.
[[nodiscard]] std::vector<double> walsh_transforms(const std::vector<float>& data, std::size_t length);

}  // namespace gpumux::benchmarks::fwt
