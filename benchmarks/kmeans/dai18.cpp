// dai18/ks: the first kernel of kmeans alone, which turns the points' features about. Table 2's 17 requests
// per memory instruction are the mean of its load, with a line for each lane, and its store, with one.
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/kmeans/kmeans.hpp"
#include "embedded/kmeans.ptx.hpp"

namespace gpumux::benchmarks::kmeans {
namespace {

constexpr const char* kName = "dai18/ks";
constexpr const char* kFile = "benchmarks/kmeans/kmeans.ptx";
constexpr const char* kKernel = "invert_mapping";
constexpr std::uint32_t kThreads = 256;  // as Rodinia
constexpr std::uint32_t kPlaces = 5;     // around which points lie

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"points", 196608, 1, 1048576, "points; points * features at most 25 million"},
      {"features", 34, 1, 256, "features of a point"}};
  return table;
}

struct Sizes {
  std::uint32_t points;
  std::uint32_t features;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(points, kThreads)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("points"), params.get("features")};
  params.require(
      std::uint64_t{sizes.points} * sizes.features <= 25'000'000,
      fmt::format("points={} times features={} must be at most 25000000", sizes.points, sizes.features));
  return sizes;
}

class InvertMapping final : public runtime::Application {
 public:
  InvertMapping(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (points_.values.empty()) points_ = random_points(sizes_.points, sizes_.features, kPlaces, seed_);
    const std::uint32_t module = host.load_module(embedded::kmeans_ptx, kFile);
    const auto by_point = host.malloc<float>(points_.values.size());
    const auto by_feature = host.malloc<float>(points_.values.size());
    host.to_device(by_point, points_.values);
    host.launch(module, kKernel, {.grid = sizes_.grid(), .block = {kThreads}}, by_point, by_feature,
                static_cast<std::int32_t>(sizes_.points), static_cast<std::int32_t>(sizes_.features));
    co_await host.synchronize();
    if (verify) {
      std::vector<float> result(points_.values.size());
      host.from_device(result, by_feature);
      co_await host.synchronize();
      std::vector<float> expected(points_.values.size());
      for (std::uint32_t p = 0; p < points_.count; ++p) {
        for (std::uint32_t f = 0; f < points_.features; ++f) {
          expected[std::size_t{f} * points_.count + p] = points_.point(p)[f];
        }
      }
      check_close("kmeans: by_feature", result, expected, Tolerance{});
    }
    host.free(by_point);
    host.free(by_feature);
  }

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  Points points_;  // made by the first run
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "transposition of Kmeans' points as in Table 2 of dai18",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::kmeans_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), {kThreads}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName,
                                                std::make_unique<InvertMapping>(read_sizes(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::kmeans
