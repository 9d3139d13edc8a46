// Dyadic convolution by its definition, for the host program and its tests.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::fwt {

/// result[i] = sum over j of data[i xor j] * kernel[j]; `data` has 2^n elements, `kernel` no more.
[[nodiscard]] std::vector<std::int32_t> dyadic_convolution(const std::vector<std::int32_t>& data,
                                                           const std::vector<std::int32_t>& kernel);

}  // namespace gpumux::benchmarks::fwt
