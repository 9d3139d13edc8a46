// dxtc: host program of the texture compression.
#include <algorithm>

#include "benchmarks/dxtc/dxtc_reference.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/dxtc.ptx.hpp"

namespace gpumux::benchmarks::dxtc {
namespace {

class Dxtc final : public KernelProgram {
 public:
  explicit Dxtc(const Params& params)
      : blocks_(params.get_multiple("width", 4) / 4 * (params.get_multiple("height", 4) / 4)),
        squares_(params.get("squares")) {
    params.require((squares_ == 1 || squares_ == 4) && blocks_ % squares_ == 0,
                   fmt::format("squares={} must be 1, or 4 and divide the image's {} squares of 4x4 pixels",
                               squares_, blocks_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {squares_ == 1 ? "dxtc_compress" : "dxtc_compress_four",
            {blocks_ / squares_},
            {squares_ * std::uint32_t{kThreads}}};
  }
  void make_inputs(std::uint64_t seed) override {
    cuts_ = all_cuts();
    // Most blocks have colours between two random colours, with noise, as in a photograph. Every eighth block
    // has only its two colours, as in a drawing, so that several cuts have equal errors.
    Random random(seed);
    image_.reserve(std::size_t{blocks_} * kPixels);
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      std::array<float, 3> from{};
      std::array<float, 3> to{};
      for (std::size_t c = 0; c < 3; ++c) {
        from[c] = random.uniform(0.0F, 255.0F);
        to[c] = random.uniform(0.0F, 255.0F);
      }
      for (std::size_t i = 0; i < kPixels; ++i) {
        const bool drawing = block % 8 == 7;
        const float noise = drawing ? 0.0F : 8.0F;
        const float share = drawing ? static_cast<float>(random.below(2)) : random.unit();
        std::uint32_t pixel = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          const float value = from[c] + share * (to[c] - from[c]) + random.uniform(-noise, noise);
          pixel |= static_cast<std::uint32_t>(std::clamp(value, 0.0F, 255.0F)) << (8 * c);
        }
        image_.push_back(pixel);
      }
    }
  }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    const auto cuts = run.upload(cuts_);
    const auto compressed = run.allocate<std::uint32_t>(std::size_t{2} * blocks_);
    run.launch(image, cuts, compressed, static_cast<std::int32_t>(cuts_.size()));
    run.download(compressed_, compressed);
  }
  void check() override {
    if (expected_.empty()) {
      for (std::uint32_t block = 0; block < blocks_; ++block) {
        const Compressed c = compress(&image_[std::size_t{block} * kPixels], cuts_);
        expected_.push_back(c.colours);
        expected_.push_back(c.indices);
      }
    }
    check_equal("dxtc: compressed", compressed_, expected_);
  }

 private:
  std::uint32_t blocks_;   // of 4x4 pixels each
  std::uint32_t squares_;  // of 4x4 pixels, of a thread block
  std::vector<std::uint32_t> cuts_;
  std::vector<std::uint32_t> image_;
  std::vector<std::uint32_t> compressed_;
  std::vector<std::uint32_t> expected_;
};

const KernelApp kDxtc{
    .name = "dai18/dc",
    .description = "DXT1 texture compression by cluster fit (as the CUDA SDK's dxtc)",
    .params = {{"width", 512, 4, 2048, "pixels of the image along x, a multiple of 4"},
               {"height", 512, 4, 2048, "pixels along y, a multiple of 4"},
               {"squares", 1, 1, 4, "squares of 4x4 pixels of a thread block, with 64 threads each: 1 or 4"}},
    .ptx_file = "benchmarks/dxtc/dxtc.ptx",
    .ptx_text = embedded::dxtc_ptx,
    .metadata = {.registers_per_thread = 36, .shared_bytes = 2046},
};
[[maybe_unused]] const bool registered = register_kernel_app<Dxtc>(kDxtc);
// The grid and the blocks of Table 3.3: 4096 of 256 threads, of which four fit on an SM. With blocks of 64
// threads, the same image has the 16384 blocks of Table 4.4.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Dxtc, variant::Awatramani17>(
    kDxtc.with("awatramani17/dxtc", "DXT1 texture compression for awatramani17", {{"squares", 4}},
               {.registers_per_thread = 32}));

}  // namespace
}  // namespace gpumux::benchmarks::dxtc
