// sad: host program that computes the SADs of larger blocks from those of 4x4 blocks.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/sad/sad_reference.hpp"
#include "embedded/sad.ptx.hpp"

namespace gpumux::benchmarks::sad {
namespace {

constexpr Dim3 kBlock{32, 4};

class Sad final : public KernelProgram {
 public:
  explicit Sad(const Params& params)
      : grid_{params.get("width"), params.get("height")}, quadrants_(grid_.count() * kQuadrants) {
    params.require(grid_.count() <= 3000,
                   fmt::format("width={} times height={} must be at most 3000", grid_.x, grid_.y));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return {"sad_larger", grid_, kBlock}; }
  /// Makes random results of the program's first kernel: sums that 16 differences of bytes can have.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    small_.resize(quadrants_ * 4 * kRow);
    for (std::size_t i = 0; i < small_.size(); ++i) {
      if (i % kRow < kPositions) small_[i] = static_cast<std::uint16_t>(random.below(kLargest + 1));
    }
  }
  void start(KernelRun& run) override {
    const auto small = run.upload(small_);
    const auto wide = run.zeros<std::uint16_t>(2 * quadrants_ * kRow);
    const auto tall = run.zeros<std::uint16_t>(2 * quadrants_ * kRow);
    const auto square = run.zeros<std::uint16_t>(quadrants_ * kRow);
    run.launch(small, wide, tall, square);
    if (!run.verify()) return;
    run.download(larger_.wide, wide);
    run.download(larger_.tall, tall);
    run.download(larger_.square, square);
  }
  void check() override {
    const Sads expected = larger_sads(small_);
    check_equal("sad: wide", larger_.wide, expected.wide);
    check_equal("sad: tall", larger_.tall, expected.tall);
    check_equal("sad: square", larger_.square, expected.square);
  }

 private:
  Dim3 grid_;
  std::size_t quadrants_;
  std::vector<std::uint16_t> small_;
  Sads larger_;
};

[[maybe_unused]] const bool registered = register_kernel_app<Sad>({
    .name = "dai18/s2",
    .description = "SADs of larger blocks of a video frame from those of 4x4 blocks (as in Parboil's sad)",
    .params = {{"width", 32, 1, 256, "macroblocks of 16x16 pixels along x, a block each"},
               {"height", 24, 1, 256, "macroblocks along y; width * height at most 3000"}},
    .ptx_file = "benchmarks/sad/sad.ptx",
    .ptx_text = embedded::sad_ptx,
    .metadata = {.registers_per_thread = 16},
});

}  // namespace
}  // namespace gpumux::benchmarks::sad
