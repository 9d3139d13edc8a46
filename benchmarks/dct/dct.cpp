// dct: host program of a discrete cosine transform of the squares of an image.
#include "benchmarks/dct/dct.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/dct.ptx.hpp"

namespace gpumux::benchmarks::dct {
namespace {

constexpr std::uint32_t kAcross = 4;  // squares per block along x (kAcross and kDown of dct.cu)
constexpr std::uint32_t kDown = 2;

class Dct final : public KernelProgram {
 public:
  explicit Dct(const Params& params)
      : width_(params.get_multiple("width", kAcross * kSide)),
        height_(params.get_multiple("height", kDown * kSide)),
        repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{2} * sizeof(float) * width_ * height_);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"dct_8x8", {width_ / (kAcross * kSide), height_ / (kDown * kSide)}, {kSide, kAcross, kDown}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    image_ = random_floats(random, std::size_t{width_} * height_, -128.0F, 127.0F);
  }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    const auto coefficients = run.allocate<float>(image_.size());
    for (std::uint32_t i = 0; i < repeats_; ++i) run.launch(coefficients, image, width_);
    run.download(result_, coefficients);
  }
  void check() override {
    if (expected_.coefficients.empty()) expected_ = reference(image_, width_);
    // A pixel passes at most eight roundings per direction, with factors of at most 1/2.
    std::vector<double> allowed;
    for (const double scale : expected_.scales) allowed.push_back(16 * kFloatRounding * scale / 4);
    check_within("dct: coefficient", result_, expected_.coefficients, allowed);
  }

 private:
  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t repeats_;
  std::vector<float> image_;
  std::vector<float> result_;
  Transform expected_;
};

const KernelApp kDct{
    .name = "dct",
    .description =
        "cosine transform of the 8x8 squares of an image in shared memory (dct8x8 of the CUDA SDK)",
    .params = {{"width", 512, 32, 8192, "pixels of a row, a multiple of 32"},
               {"height", 512, 16, 8192, "rows, a multiple of 16"},
               {"repeats", 8, 1, 1000, "launches"}},
    .ptx_file = "benchmarks/dct/dct.ptx",
    .ptx_text = embedded::dct_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Dct>(kDct);
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Dct, variant::Awatramani17>(kDct.with(
        "awatramani17/dct", "dct for awatramani17", {{"width", 1024}, {"height", 1024}, {"repeats", 2}}));
[[maybe_unused]] const bool registered_k2 = register_kernel_app<Dct, struct Awatramani17Kernel2>(
    kDct.with("awatramani17/dct-k2", "dct, launched once: DCT-K2 of awatramani17",
              {{"width", 2048}, {"height", 2048}, {"repeats", 1}}));

}  // namespace
}  // namespace gpumux::benchmarks::dct
