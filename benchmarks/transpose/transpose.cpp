// transpose: host program that transposes a matrix, and the tiles of a matrix.
#include "benchmarks/transpose/transpose.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/transpose.ptx.hpp"

namespace gpumux::benchmarks::transpose {
namespace {

/// Launches transpose_tiles (kWhole), transpose_coarse (kTiles), or both.
template <bool kWhole, bool kTiles>
class Transpose final : public KernelProgram {
 public:
  explicit Transpose(const Params& params)
      : width_(params.get_multiple("width", kTile)),
        height_(params.get_multiple("height", kTile)),
        repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{3} * sizeof(float) * width_ * height_);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes()[0]; }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    std::vector<runtime::AppInfo::KernelShape> result;
    if (kWhole) result.push_back(kernel("transpose_tiles"));
    if (kTiles) result.push_back(kernel("transpose_coarse"));
    return result;
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    matrix_ = random_floats(random, std::size_t{width_} * height_, -1.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    const auto matrix = run.upload(matrix_);
    const std::vector<runtime::AppInfo::KernelShape> kernels = shapes();
    std::vector<DeviceArray<float>> results;
    for (std::size_t i = 0; i < kernels.size(); ++i) results.push_back(run.allocate<float>(matrix_.size()));
    if (kWhole)
      for (std::uint32_t i = 0; i < repeats_; ++i)
        run.launch_as(kernels.front(), results.front(), matrix, width_, height_);
    if (kTiles)
      for (std::uint32_t i = 0; i < repeats_; ++i)
        run.launch_as(kernels.back(), results.back(), matrix, width_);
    if (kWhole) run.download(whole_, results.front());
    if (kTiles) run.download(tiles_, results.back());
  }
  void check() override {
    if (kWhole) check_close("transpose: whole", whole_, transposed(matrix_, width_), Tolerance{});
    if (kTiles) check_close("transpose: tiles", tiles_, tiles_transposed(matrix_, width_), Tolerance{});
  }

 private:
  [[nodiscard]] runtime::AppInfo::KernelShape kernel(const char* name) const {
    return {name, {width_ / kTile, height_ / kTile}, {kTile, kTile}};
  }

  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t repeats_;
  std::vector<float> matrix_;
  std::vector<float> whole_, tiles_;
};

const KernelApp kTranspose{
    .name = "transpose",
    .description =
        "matrix transposed through shared memory, whole and tile by tile (transpose of the CUDA SDK)",
    .params = {{"width", 512, 16, 8192, "columns, a multiple of 16"},
               {"height", 512, 16, 8192, "rows, a multiple of 16"},
               {"repeats", 4, 1, 1000, "launches of each kernel"}},
    .ptx_file = "benchmarks/transpose/transpose.ptx",
    .ptx_text = embedded::transpose_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Transpose<true, true>>(kTranspose);
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Transpose<true, true>, variant::Awatramani17>(
        kTranspose.with("awatramani17/transpose", "transpose for awatramani17",
                        {{"width", 1024}, {"height", 1024}, {"repeats", 1}}));
[[maybe_unused]] const bool registered_k1 = register_kernel_app<Transpose<true, false>>(
    kTranspose.with("awatramani17/tp-k1", "matrix transposed as a whole: TP-K1 of awatramani17",
                    {{"width", 1024}, {"height", 1024}, {"repeats", 1}}));
[[maybe_unused]] const bool registered_k2 = register_kernel_app<Transpose<false, true>>(
    kTranspose.with("awatramani17/tp-k2", "tiles transposed where they lie: TP-K2 of awatramani17",
                    {{"width", 1024}, {"height", 1024}, {"repeats", 1}}));

}  // namespace
}  // namespace gpumux::benchmarks::transpose
