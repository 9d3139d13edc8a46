// dai18/ks: only the first kernel of kmeans, which transposes the points' features. Table 2's 17 requests per
// memory instruction are the mean of the load, with 32 requests, and the store, with one request.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/kmeans/kmeans.hpp"
#include "embedded/kmeans.ptx.hpp"

namespace gpumux::benchmarks::kmeans {
namespace {

constexpr std::uint32_t kPlaces = 5;  // number of places around which the points are scattered

class InvertMapping final : public KernelProgram {
 public:
  explicit InvertMapping(const Params& params)
      : count_(params.get("points")), features_(params.get("features")) {
    params.require(std::uint64_t{count_} * features_ <= 25'000'000,
                   fmt::format("points={} times features={} must be at most 25000000", count_, features_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"invert_mapping", {blocks_for(count_, kThreads)}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override { points_ = random_points(count_, features_, kPlaces, seed); }
  void start(KernelRun& run) override {
    const auto by_point = run.upload(points_.values);
    const auto by_feature = run.allocate<float>(points_.values.size());
    run.launch(by_point, by_feature, count_, features_);
    if (run.verify()) run.download(by_feature_, by_feature);
  }
  void check() override { check_close("kmeans: by_feature", by_feature_, by_feature(points_), Tolerance{}); }

 private:
  std::uint32_t count_;
  std::uint32_t features_;
  Points points_;
  std::vector<float> by_feature_;
};

[[maybe_unused]] const bool registered_dai18 = register_kernel_app<InvertMapping>({
    .name = "dai18/ks",
    .description = "transposition of Kmeans' points as in Table 2 of dai18",
    .params = {{"points", 196608, 1, 1048576, "points; points * features at most 25 million"},
               {"features", 34, 1, 256, "features of a point"}},
    .ptx_file = "benchmarks/kmeans/kmeans.ptx",
    .ptx_text = embedded::kmeans_ptx,
    .metadata = {.registers_per_thread = 12},
});

}  // namespace
}  // namespace gpumux::benchmarks::kmeans
