// convtex: host program of a separable convolution that reads through textures.
#include "benchmarks/convtex/convtex.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/convtex.ptx.hpp"

namespace gpumux::benchmarks::convtex {
namespace {

constexpr std::uint32_t kBlockX = 16;
constexpr std::uint32_t kBlockY = 12;

/// A convolution along rows, along columns, or along rows and then columns.
template <bool kRows, bool kColumns>
class Convtex final : public KernelProgram {
 public:
  explicit Convtex(const Params& params)
      : width_(params.get("width")), height_(params.get("height")), repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{3} * sizeof(float) * width_ * height_);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes()[0]; }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    std::vector<runtime::AppInfo::KernelShape> result;
    if (kRows) result.push_back(of("convtex_rows"));
    if (kColumns) result.push_back(of("convtex_columns"));
    return result;
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    image_ = random_floats(random, std::size_t{width_} * height_, 0.0F, 1.0F);
    weights_ = random_floats(random, 2 * kRadius + 1, 0.01F, 0.1F);
  }
  void start(KernelRun& run) override {
    using workload::AddressMode;
    run.set_symbol("weights", weights_);
    const workload::TextureArray source = run.float_array(width_, height_);
    const auto result = run.allocate<float>(image_.size());
    workload::TextureSettings settings;
    settings.address = {AddressMode::Clamp, AddressMode::Clamp, AddressMode::Clamp};
    const runtime::TextureObject image = run.texture(workload::TextureResource::of(source), settings);
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      run.fill(source, image_);
      if (kRows) run.launch_as(of("convtex_rows"), result, image, width_, height_);
      if (kRows && kColumns) run.copy(source, result);
      if (kColumns) run.launch_as(of("convtex_columns"), result, image, width_, height_);
    }
    run.download(result_, result);
  }
  void check() override {
    if (expected_.empty()) {
      expected_.assign(image_.begin(), image_.end());
      if (kRows) expected_ = convolve(expected_, width_, weights_, true);
      if (kColumns) expected_ = convolve(expected_, width_, weights_, false);
    }
    // Each pass makes products and sums, and none of their numbers is negative.
    constexpr std::uint64_t kPasses = (kRows ? 1 : 0) + (kColumns ? 1 : 0);
    check_close("convtex: pixel", result_, expected_, sum_tolerance(kPasses * (2 * kRadius + 2)));
  }

 private:
  [[nodiscard]] runtime::AppInfo::KernelShape of(const char* kernel) const {
    return {
        kernel, {(width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY}, {kBlockX, kBlockY}};
  }

  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t repeats_;
  std::vector<float> image_, weights_;
  std::vector<float> result_;
  std::vector<double> expected_;
};

const KernelApp kConvtex{
    .name = "convtex",
    .description =
        "convolution of an image with a separable kernel of 17x17, through textures (convolutionTexture of "
        "the "
        "CUDA SDK)",
    .params = {{"width", 512, 1, 8192, "pixels of a row"},
               {"height", 384, 1, 8192, "rows"},
               {"repeats", 1, 1, 1000, "convolutions, one after the other"}},
    .ptx_file = "benchmarks/convtex/convtex.ptx",
    .ptx_text = embedded::convtex_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Convtex<true, true>>(kConvtex);
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Convtex<true, true>, variant::Awatramani17>(kConvtex.with(
        "awatramani17/convtex", "convtex for awatramani17", {{"width", 1024}, {"height", 768}}));
[[maybe_unused]] const bool registered_k1 = register_kernel_app<Convtex<true, false>>(
    kConvtex.with("awatramani17/cvt-k1", "convolution along rows, through a texture: CVT-K1 of awatramani17",
                  {{"width", 1024}, {"height", 768}}));
[[maybe_unused]] const bool registered_k2 = register_kernel_app<Convtex<false, true>>(kConvtex.with(
    "awatramani17/cvt-k2", "convolution along columns, through a texture: CVT-K2 of awatramani17",
    {{"width", 1024}, {"height", 768}}));

}  // namespace
}  // namespace gpumux::benchmarks::convtex
