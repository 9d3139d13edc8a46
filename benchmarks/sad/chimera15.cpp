// chimera15/SAD: all three kernels of Parboil's sad. From a frame and the previous frame, they compute the
// SADs of all block sizes.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/sad/sad_reference.hpp"
#include "embedded/sad.ptx.hpp"

namespace gpumux::benchmarks::sad {
namespace {

constexpr std::uint32_t kPixels = 16;  // per side of a macroblock

class MotionSads final : public KernelProgram {
 public:
  explicit MotionSads(const Params& params)
      : width_(params.get_multiple("width", kPixels)), height_(params.get_multiple("height", kPixels)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"sad_small", {width_ / 4, height_ / 4}, {61}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    const Dim3 macroblocks{width_ / kPixels, height_ / kPixels};
    return {shape(), {"sad_larger", macroblocks, {32, 4}}, {"sad_largest", macroblocks, {32}}};
  }
  /// Makes both frames. The previous frame is the frame, shifted by a few pixels, with noise.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    frame_ = {width_, height_, std::vector<std::uint8_t>(std::size_t{width_} * height_)};
    before_ = frame_;
    for (std::uint32_t y = 0; y < height_; ++y)
      for (std::uint32_t x = 0; x < width_; ++x)
        frame_.pixels[std::size_t{y} * width_ + x] =
            static_cast<std::uint8_t>((x * 7 + y * 5) % 192 + random.below(64));
    for (std::uint32_t y = 0; y < height_; ++y)
      for (std::uint32_t x = 0; x < width_; ++x)
        before_.pixels[std::size_t{y} * width_ + x] =
            static_cast<std::uint8_t>((frame_.at(static_cast<int>(x) + 3, static_cast<int>(y) - 2) +
                                       static_cast<int>(random.below(8))) %
                                      256);
  }
  void start(KernelRun& run) override {
    const std::size_t macroblocks = std::size_t{width_ / kPixels} * (height_ / kPixels);
    const auto frame = run.upload(std::vector<std::uint16_t>(frame_.pixels.begin(), frame_.pixels.end()));
    const workload::TextureArray texels =
        run.array({workload::ChannelKind::Unsigned, 16, 1}, width_, height_);
    run.fill(texels, std::vector<std::uint16_t>(before_.pixels.begin(), before_.pixels.end()));
    workload::TextureSettings settings;
    settings.address.fill(workload::AddressMode::Clamp);
    const runtime::TextureObject before = run.texture(workload::TextureResource::of(texels), settings);
    const auto rows = [&](std::size_t each) {
      return run.allocate<std::uint16_t>(each * macroblocks * kRow);
    };
    const auto small = rows(16), wide = rows(8), tall = rows(8), square = rows(4);
    const auto widest = rows(2), tallest = rows(2), whole = rows(1);
    run.launch(frame, before, width_, small);
    run.launch_as(shapes()[1], small, wide, tall, square);
    run.launch_as(shapes()[2], square, widest, tallest, whole);
    if (!run.verify()) return;
    run.download(small_, small);
    run.download(wide_, wide);
    run.download(tall_, tall);
    run.download(square_, square);
    run.download(tallest_, tallest);
    run.download(widest_, widest);
    run.download(whole_, whole);
  }
  void check() override {
    const std::vector<std::uint16_t> small = small_sads(frame_, before_);
    const Sads larger = larger_sads(small);
    const Sads largest = larger_sads(larger.square);
    same("4x4", small_, small);
    same("8x4", wide_, larger.wide);
    same("4x8", tall_, larger.tall);
    same("8x8", square_, larger.square);
    same("16x8", widest_, largest.wide);
    same("8x16", tallest_, largest.tall);
    same("16x16", whole_, largest.square);
  }

 private:
  /// Compares results without the padding of rows, whose content is undefined.
  static void same(const char* what, std::vector<std::uint16_t> result,
                   const std::vector<std::uint16_t>& expected) {
    for (std::size_t i = 0; i < result.size(); ++i)
      if (i % kRow >= kPositions) result[i] = expected[i];
    check_equal(fmt::format("sad: {}", what), result, expected);
  }
  std::uint32_t width_;
  std::uint32_t height_;
  Frame frame_, before_;
  std::vector<std::uint16_t> small_, wide_, tall_, square_, widest_, tallest_, whole_;
};

const KernelApp kSad{
    .name = "sad",
    .description = "SADs of all block sizes of a video frame at all search positions (Parboil sad)",
    .params = {{"width", 176, 16, 1920, "pixels, a multiple of 16"},
               {"height", 144, 16, 1088, "pixels, a multiple of 16"}},
    .ptx_file = "benchmarks/sad/sad.ptx",
    .ptx_text = embedded::sad_ptx,
};
[[maybe_unused]] const bool registered_motion_sads = register_kernel_app<MotionSads>(kSad);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<MotionSads, variant::Chimera15>(
    kSad.with("chimera15/SAD", "SADs of a video frame as in Table 2 of chimera15",
              {{"width", 1920}, {"height", 1072}})
        .of({{"sad_small", {.registers_per_thread = 20, .shared_bytes = 2304}},
             {"sad_larger", {.registers_per_thread = 16}},
             {"sad_largest", {.registers_per_thread = 16}}}));
// Parboil's large input.
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<MotionSads, variant::Wang17>(
    kSad.with("wang17/sad", "SADs of a video frame for wang17", {{"width", 1920}, {"height", 1072}}));

}  // namespace
}  // namespace gpumux::benchmarks::sad
