#include "benchmarks/kmeans/kmeans.hpp"

#include <cmath>
#include <limits>

#include "benchmarks/common.hpp"
#include "embedded/kmeans.ptx.hpp"

namespace gpumux::benchmarks::kmeans {

Points random_points(std::uint32_t count, std::uint32_t features, std::uint32_t clusters,
                     std::uint64_t seed) {
  Random random(seed);
  const std::vector<float> places = random_floats(random, std::size_t{clusters} * features, 0.0F, 1.0F);
  Points points{.count = count, .features = features, .values = {}};
  points.values.reserve(std::size_t{count} * features);
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::size_t place = std::size_t{random.below(clusters)} * features;
    for (std::uint32_t f = 0; f < features; ++f) {
      points.values.push_back(places[place + f] + random.uniform(-0.5F, 0.5F));
    }
  }
  return points;
}

std::vector<float> by_feature(const Points& points) {
  std::vector<float> values(points.values.size());
  for (std::uint32_t p = 0; p < points.count; ++p)
    for (std::uint32_t f = 0; f < points.features; ++f)
      values[std::size_t{f} * points.count + p] = points.point(p)[f];
  return values;
}

std::vector<float> first_centres(const Points& points, std::uint32_t clusters) {
  return {points.values.begin(), points.values.begin() + std::ptrdiff_t{clusters} * points.features};
}

std::vector<std::int32_t> nearest_centres(const Points& points, const std::vector<float>& centres) {
  std::vector<std::int32_t> membership(points.count);
  const std::size_t clusters = centres.size() / points.features;
  for (std::uint32_t p = 0; p < points.count; ++p) {
    const float* point = points.point(p);
    float smallest = std::numeric_limits<float>::max();
    for (std::size_t c = 0; c < clusters; ++c) {
      const float* centre = centres.data() + c * points.features;
      float distance = 0;
      for (std::uint32_t f = 0; f < points.features; ++f) {
        const float difference = point[f] - centre[f];
        distance = std::fma(difference, difference, distance);
      }
      if (distance < smallest) {
        smallest = distance;
        membership[p] = static_cast<std::int32_t>(c);
      }
    }
  }
  return membership;
}

void move_centres(const Points& points, const std::vector<std::int32_t>& membership,
                  std::vector<float>& centres) {
  std::vector<double> sums(centres.size());
  std::vector<std::uint32_t> members(centres.size() / points.features);
  for (std::uint32_t p = 0; p < points.count; ++p) {
    const auto centre = static_cast<std::size_t>(membership[p]);
    ++members[centre];
    for (std::uint32_t f = 0; f < points.features; ++f) {
      sums[centre * points.features + f] += static_cast<double>(points.point(p)[f]);
    }
  }
  for (std::size_t i = 0; i < centres.size(); ++i) {
    const std::uint32_t count = members[i / points.features];
    if (count > 0) centres[i] = static_cast<float>(sums[i] / count);
  }
}

Clustering reference(const Points& points, std::uint32_t clusters, std::uint32_t iterations) {
  Clustering result{{}, first_centres(points, clusters)};
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::vector<std::int32_t> membership = nearest_centres(points, result.centres);
    const bool moved = membership != result.membership;
    result.membership = std::move(membership);
    if (!moved) break;
    move_centres(points, result.membership, result.centres);
  }
  return result;
}

namespace {

constexpr const char* kName = "kmeans";
constexpr const char* kFile = "benchmarks/kmeans/kmeans.ptx";

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"points", 65536, 1, 1048576,
       "points, at least as many as clusters; points * features at most 25 million"},
      {"features", 34, 1, 256, "features of a point"},
      {"clusters", 5, 1, 256, "clusters; clusters * features at most 8192"},
      {"iterations", 2, 1, 1000, "passes at most; ends earlier when no point changes its cluster"},
  };
  return table;
}

struct Sizes {
  std::uint32_t points;
  std::uint32_t features;
  std::uint32_t clusters;
  std::uint32_t iterations;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(points, kThreads)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("points"), params.get("features"), params.get("clusters"),
                    params.get("iterations")};
  params.require(sizes.points >= sizes.clusters,
                 fmt::format("points={} must be at least clusters={}", sizes.points, sizes.clusters));
  params.require(
      sizes.clusters * sizes.features <= kCentreFloats,
      fmt::format("clusters={} times features={} must be at most {}, the constant memory for the centres",
                  sizes.clusters, sizes.features, kCentreFloats));
  params.require(
      std::uint64_t{sizes.points} * sizes.features <= 25'000'000,
      fmt::format("points={} times features={} must be at most 25000000", sizes.points, sizes.features));
  return sizes;
}

class Kmeans : public runtime::Application {
 public:
  Kmeans(const Sizes& sizes, std::uint64_t seed)
      : sizes_(sizes), points_(random_points(sizes.points, sizes.features, sizes.clusters, seed)) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::kmeans_ptx, kFile);
    const auto by_point = host.malloc<float>(points_.values.size());
    const auto by_feature = host.malloc<float>(points_.values.size());
    const auto membership = host.malloc<std::int32_t>(points_.count);
    const runtime::LaunchSpec spec{.grid = sizes_.grid(), .block = {kThreads}};
    const auto count = static_cast<std::int32_t>(sizes_.points);
    const auto features = static_cast<std::int32_t>(sizes_.features);
    const auto clusters = static_cast<std::int32_t>(sizes_.clusters);
    host.to_device(by_point, points_.values);
    host.launch(module, "invert_mapping", spec, by_point, by_feature, count, features);

    std::vector<float> centres = first_centres(points_, sizes_.clusters);
    std::vector<std::int32_t> members;
    for (std::uint32_t i = 0; i < sizes_.iterations; ++i) {
      host.copy_to_symbol(module, "centres", 0, std::as_bytes(std::span(centres)), 0);
      host.launch(module, "nearest_centre", spec, by_feature, count, features, clusters, membership);
      std::vector<std::int32_t> new_members(points_.count);
      host.from_device(new_members, membership);
      co_await host.synchronize();
      const bool moved = new_members != members;
      members.swap(new_members);
      if (!moved) break;
      move_centres(points_, members, centres);
    }

    if (verify) {
      std::vector<float> inverted(points_.values.size());
      host.from_device(inverted, by_feature);
      co_await host.synchronize();
      check(inverted, members, centres);
    }
    host.free(by_point);
    host.free(by_feature);
    host.free(membership);
  }

 private:
  /// Results must be equal, because the first kernel copies and the second fixes the rounding of every
  /// operation.
  void check(const std::vector<float>& inverted, const std::vector<std::int32_t>& members,
             const std::vector<float>& centres) {
    if (expected_.membership.empty()) expected_ = reference(points_, sizes_.clusters, sizes_.iterations);
    check_close("kmeans: by_feature", inverted, by_feature(points_), Tolerance{});
    check_equal("kmeans: membership", members, expected_.membership);
    check_close("kmeans: centres", centres, expected_.centres, Tolerance{});
  }

  Sizes sizes_;
  Points points_;
  Clustering expected_;  // computed by the first verified run
};

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& values) {
  const Dim3 blocks = read_sizes(values).grid();
  return {{"invert_mapping", blocks, {kThreads}}, {"nearest_centre", blocks, {kThreads}}};
}

const bool registered = runtime::register_app({
    .name = kName,
    .description = "Lloyd's clustering: nearest centre on the device, means on the host (Rodinia Kmeans)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::kmeans_ptx,
    .shapes = shapes,
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Kmeans>(read_sizes(values), seed);
    },
});

/// Blocks count for the registers in Table 2 of chimera15.
class Chimera15Kmeans final : public Kmeans {
 public:
  using Kmeans::Kmeans;
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    return {{"invert_mapping", {.registers_per_thread = 10}},
            {"nearest_centre", {.registers_per_thread = 12}}};
  }
};

std::vector<runtime::AppParamInfo> chimera15_params() {
  std::vector<runtime::AppParamInfo> params = param_table();
  params[0].default_value = 524288;
  return params;
}

const bool registered_chimera15 = runtime::register_app({
    .name = "chimera15/KM",
    .description = "Kmeans as in Table 2 of chimera15",
    .params = chimera15_params(),
    .ptx_file = kFile,
    .ptx_text = embedded::kmeans_ptx,
    .shapes = shapes,
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Chimera15Kmeans>(read_sizes(values), seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::kmeans
