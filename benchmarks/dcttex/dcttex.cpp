// dcttex: host program of a discrete cosine transform that reads an image through a texture.
#include "benchmarks/dct/dct.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/dcttex.ptx.hpp"

namespace gpumux::benchmarks::dcttex {
namespace {

using dct::kSide;

class Dcttex final : public KernelProgram {
 public:
  explicit Dcttex(const Params& params)
      : width_(params.get_multiple("width", kSide)),
        height_(params.get_multiple("height", kSide)),
        repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{2} * sizeof(float) * width_ * height_);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"dcttex_8x8", {width_ / kSide, height_ / kSide}, {kSide, kSide}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    image_ = random_floats(random, std::size_t{width_} * height_, -128.0F, 127.0F);
  }
  void start(KernelRun& run) override {
    std::vector<float> cosines;
    for (const auto& row : dct::basis())
      for (const double value : row) cosines.push_back(static_cast<float>(value));
    run.set_symbol("cosines", cosines);
    const workload::TextureArray source = run.float_array(width_, height_);
    run.fill(source, image_);
    const runtime::TextureObject image = run.texture(workload::TextureResource::of(source), {});
    const auto coefficients = run.allocate<float>(image_.size());
    for (std::uint32_t i = 0; i < repeats_; ++i) run.launch(coefficients, image, width_);
    run.download(result_, coefficients);
  }
  void check() override {
    if (expected_.coefficients.empty()) expected_ = dct::reference(image_, width_);
    // A pixel passes at most eight sums per direction. The factors are at most 1/2, and they are rounded,
    // too.
    std::vector<double> allowed;
    for (const double scale : expected_.scales) allowed.push_back(20 * kFloatRounding * scale / 4);
    check_within("dcttex: coefficient", result_, expected_.coefficients, allowed);
  }

 private:
  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t repeats_;
  std::vector<float> image_;
  std::vector<float> result_;
  dct::Transform expected_;
};

const KernelApp kDcttex{
    .name = "dcttex",
    .description =
        "cosine transform of the 8x8 squares of an image as products of matrices, read through a "
        "texture (dct8x8 of the CUDA SDK)",
    .params = {{"width", 512, 8, 8192, "pixels of a row, a multiple of 8"},
               {"height", 512, 8, 8192, "rows, a multiple of 8"},
               {"repeats", 2, 1, 1000, "launches"}},
    .ptx_file = "benchmarks/dcttex/dcttex.ptx",
    .ptx_text = embedded::dcttex_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Dcttex>(kDcttex);
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Dcttex, variant::Awatramani17>(
    kDcttex.with("awatramani17/dcttex", "dcttex for awatramani17", {{"width", 1024}, {"height", 1024}}));
[[maybe_unused]] const bool registered_k1 = register_kernel_app<Dcttex, struct Awatramani17Kernel1>(
    kDcttex.with("awatramani17/dct-k1", "dcttex, launched once: DCT-K1 of awatramani17",
                 {{"width", 1024}, {"height", 512}, {"repeats", 1}}));

}  // namespace
}  // namespace gpumux::benchmarks::dcttex
