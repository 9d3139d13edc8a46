// convsep: host program of a separable convolution.
#include "benchmarks/convsep/convsep.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/convsep.ptx.hpp"

namespace gpumux::benchmarks::convsep {
namespace {

constexpr std::uint32_t kResults = 8;  // results per thread (kResults of convsep.cu)

/// A convolution along rows, along columns, or along rows and then columns.
template <bool kRows, bool kColumns>
class Convsep final : public KernelProgram {
 public:
  explicit Convsep(const Params& params)
      : width_(params.get_multiple("width", 16 * kResults)),
        height_(params.get_multiple("height", 8 * kResults)),
        repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{3} * sizeof(float) * width_ * height_);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes()[0]; }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    std::vector<runtime::AppInfo::KernelShape> result;
    if (kRows) result.push_back(rows());
    if (kColumns) result.push_back(columns());
    return result;
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    image_ = random_floats(random, std::size_t{width_} * height_, 0.0F, 1.0F);
    weights_ = random_floats(random, 2 * kRadius + 1, 0.01F, 0.1F);
  }
  void start(KernelRun& run) override {
    run.set_symbol("weights", weights_);
    const auto image = run.upload(image_);
    const auto half = kRows && kColumns ? run.allocate<float>(image_.size()) : image;
    const auto result = run.allocate<float>(image_.size());
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      if (kRows) run.launch_as(rows(), kColumns ? half : result, image, width_);
      if (kColumns) run.launch_as(columns(), result, half, width_, height_);
    }
    run.download(result_, result);
  }
  void check() override {
    if (expected_.empty()) {
      expected_.assign(image_.begin(), image_.end());
      if (kRows) expected_ = convolve_rows(expected_, width_, weights_);
      if (kColumns) expected_ = convolve_columns(expected_, width_, weights_);
    }
    // Each pass makes products and sums, and none of their numbers is negative.
    constexpr std::uint64_t kPasses = (kRows ? 1 : 0) + (kColumns ? 1 : 0);
    check_close("convsep: pixel", result_, expected_, sum_tolerance(kPasses * (2 * kRadius + 2)));
  }

 private:
  [[nodiscard]] runtime::AppInfo::KernelShape rows() const {
    return {"convsep_rows", {width_ / (16 * kResults), height_ / 4}, {16, 4}};
  }
  [[nodiscard]] runtime::AppInfo::KernelShape columns() const {
    return {"convsep_columns", {width_ / 16, height_ / (8 * kResults)}, {16, 8}};
  }

  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t repeats_;
  std::vector<float> image_, weights_;
  std::vector<float> result_;
  std::vector<double> expected_;
};

const KernelApp kConvsep{
    .name = "convsep",
    .description =
        "convolution of an image with a separable kernel of 17x17 (convolutionSeparable of the CUDA SDK)",
    .params = {{"width", 1024, 128, 8192, "pixels of a row, a multiple of 128"},
               {"height", 512, 64, 8192, "rows, a multiple of 64"},
               {"repeats", 1, 1, 1000, "convolutions, one after the other"}},
    .ptx_file = "benchmarks/convsep/convsep.ptx",
    .ptx_text = embedded::convsep_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Convsep<true, true>>(kConvsep);
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Convsep<true, true>, variant::Awatramani17>(
        kConvsep.with("awatramani17/convsep", "convsep for awatramani17", {{"height", 1024}}));
// The paper runs one kernel. This is the kernel that takes longer.
[[maybe_unused]] const bool registered_cvsep = register_kernel_app<Convsep<false, true>>(
    kConvsep.with("awatramani17/cvsep", "convolution along columns: CVSEP of awatramani17",
                  {{"width", 2048}, {"height", 2048}}));

}  // namespace
}  // namespace gpumux::benchmarks::convsep
