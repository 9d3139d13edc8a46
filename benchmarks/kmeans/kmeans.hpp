// kmeans: the host's part and the CPU reference, apart from the host program so that tests can call them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::kmeans {

inline constexpr std::uint32_t kThreads = 256;        // as Rodinia
inline constexpr std::uint32_t kCentreFloats = 8192;  // CENTRE_FLOATS of kmeans.cu

/// Points with their features, point by point.
struct Points {
  std::uint32_t count = 0;
  std::uint32_t features = 0;
  std::vector<float> values;
  [[nodiscard]] const float* point(std::size_t index) const { return values.data() + index * features; }
};

/// Points scattered around `clusters` places in the unit cube.
[[nodiscard]] Points random_points(std::uint32_t count, std::uint32_t features, std::uint32_t clusters,
                                   std::uint64_t seed);

/// The points' features as the device wants them: the first one of all points, the second one, ...
[[nodiscard]] std::vector<float> by_feature(const Points& points);

/// The features of the first `clusters` points: where the search starts.
[[nodiscard]] std::vector<float> first_centres(const Points& points, std::uint32_t clusters);

/// The centre nearest to each point, the first one of equals. Rounded as the kernel does: subtract, then
/// fused multiply-add, feature by feature.
[[nodiscard]] std::vector<std::int32_t> nearest_centres(const Points& points,
                                                        const std::vector<float>& centres);

/// Moves each centre to the mean of its members; one without members stays.
void move_centres(const Points& points, const std::vector<std::int32_t>& membership,
                  std::vector<float>& centres);

/// Membership and centres after at most `iterations` passes; ends when a pass moves no point.
struct Clustering {
  std::vector<std::int32_t> membership;
  std::vector<float> centres;
};
[[nodiscard]] Clustering reference(const Points& points, std::uint32_t clusters, std::uint32_t iterations);

}  // namespace gpumux::benchmarks::kmeans
