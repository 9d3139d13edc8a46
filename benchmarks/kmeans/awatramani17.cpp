// awatramani17/km: only the second kernel of kmeans, in one pass that finds the nearest centres. The thesis's
// tables have one kernel of K-means. This kernel does most of the work and runs in every pass.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/kmeans/kmeans.hpp"
#include "embedded/kmeans.ptx.hpp"

namespace gpumux::benchmarks::kmeans {
namespace {

class NearestCentre final : public KernelProgram {
 public:
  explicit NearestCentre(const Params& params)
      : count_(params.get("points")), features_(params.get("features")), clusters_(params.get("clusters")) {
    params.require(count_ >= clusters_,
                   fmt::format("points={} must be at least clusters={}", count_, clusters_));
    params.require(
        clusters_ * features_ <= kCentreFloats,
        fmt::format("clusters={} times features={} must be at most {}, the constant memory for the centres",
                    clusters_, features_, kCentreFloats));
    // Four times as much as other applications may have: Table 4.4's grid with the 34 features of Rodinia's
    // data.
    params.require_memory(std::uint64_t{sizeof(float)} * count_ * (features_ + 1), 4 * kMostMemory);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"nearest_centre", {blocks_for(count_, kThreads)}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    points_ = random_points(count_, features_, clusters_, seed);
    by_feature_ = by_feature(points_);
    centres_ = first_centres(points_, clusters_);
  }
  void start(KernelRun& run) override {
    run.set_symbol("centres", centres_);
    const auto values = run.upload(by_feature_);
    const auto membership = run.allocate<std::int32_t>(count_);
    run.launch(values, count_, features_, clusters_, membership);
    run.download(membership_, membership);
  }
  void check() override {
    check_equal("kmeans: membership", membership_, nearest_centres(points_, centres_));
  }

 private:
  std::uint32_t count_, features_, clusters_;
  Points points_;
  std::vector<float> by_feature_, centres_;
  std::vector<std::int32_t> membership_;
};

// Most registers with which six blocks fit on an SM, as in Table 3.2.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<NearestCentre>({
    .name = "awatramani17/km",
    .description = "nearest centre of each point, one pass of Kmeans: KM of awatramani17",
    .params = {{"points", 524'288, 1, 8'388'608, "points, at least as many as clusters"},
               {"features", 34, 1, 256, "features of a point"},
               {"clusters", 5, 1, 256, "clusters; clusters * features at most 8192"}},
    .ptx_file = "benchmarks/kmeans/kmeans.ptx",
    .ptx_text = embedded::kmeans_ptx,
    .metadata = {.registers_per_thread = 20},
});

}  // namespace
}  // namespace gpumux::benchmarks::kmeans
