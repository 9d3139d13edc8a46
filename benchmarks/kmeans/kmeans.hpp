// kmeans: the host's part and the CPU reference. Tests call them, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::kmeans {

inline constexpr std::uint32_t kThreads = 256;        // threads per block, as in Rodinia's program
inline constexpr std::uint32_t kCentreFloats = 8192;  // CENTRE_FLOATS of kmeans.cu

/// Points with their features, point by point.
struct Points {
  std::uint32_t count = 0;
  std::uint32_t features = 0;
  std::vector<float> values;
  [[nodiscard]] const float* point(std::size_t index) const { return values.data() + index * features; }
};

/// Random points, scattered around `clusters` places in the unit cube.
[[nodiscard]] Points random_points(std::uint32_t count, std::uint32_t features, std::uint32_t clusters,
                                   std::uint64_t seed);

/// The points' features in the layout of the device: the first feature of all points, then the second, ...
[[nodiscard]] std::vector<float> by_feature(const Points& points);

/// The initial centres: the features of the first `clusters` points.
[[nodiscard]] std::vector<float> first_centres(const Points& points, std::uint32_t clusters);

/// The centre nearest to each point; of equally near centres, the first. Rounded as in the kernel: a
/// subtraction, then a fused multiply-add, feature by feature.
[[nodiscard]] std::vector<std::int32_t> nearest_centres(const Points& points,
                                                        const std::vector<float>& centres);

/// Moves each centre to the mean of its members. A centre without members stays.
void move_centres(const Points& points, const std::vector<std::int32_t>& membership,
                  std::vector<float>& centres);

/// Membership and centres after at most `iterations` passes. The search ends with the first pass that moves
/// no point.
struct Clustering {
  std::vector<std::int32_t> membership;
  std::vector<float> centres;
};
[[nodiscard]] Clustering reference(const Points& points, std::uint32_t clusters, std::uint32_t iterations);

}  // namespace gpumux::benchmarks::kmeans
