// dwt: host program of a Haar wavelet decomposition.
#include "benchmarks/dwt/dwt.hpp"

#include <bit>

#include "benchmarks/kernel_program.hpp"
#include "embedded/dwt.ptx.hpp"

namespace gpumux::benchmarks::dwt {
namespace {

constexpr std::uint32_t kMostThreads = 512;  // per block; each thread takes two elements

class Dwt final : public KernelProgram {
 public:
  explicit Dwt(const Params& params) : bits_(params.get("bits")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return levels_of(1U << bits_); }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    signal_ = random_floats(random, std::size_t{1} << bits_, -1.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    const auto signal = run.upload(signal_);
    const auto coefficients = run.allocate<float>(signal_.size());
    DeviceArray<float> from = signal;
    for (std::uint32_t length = 1U << bits_; length > 1;) {
      const runtime::AppInfo::KernelShape shape = levels_of(length);
      const std::uint32_t blocks = shape.grid.x;
      // The sum of the last block is the first coefficient.
      const DeviceArray<float> rest = blocks == 1 ? coefficients : run.allocate<float>(blocks);
      const auto levels = static_cast<std::uint32_t>(std::bit_width(shape.block.x));
      run.launch_as(shape, from, coefficients, rest, levels, length / 2);
      from = rest;
      length = blocks;
    }
    run.download(result_, coefficients);
  }
  void check() override {
    const Decomposition expected = reference(signal_);
    // Each level rounds a sum, the root of 1/2 and a product. Each rounding is at most half a unit of the
    // scale.
    std::vector<double> allowed;
    for (const double scale : expected.scales) allowed.push_back(4 * kFloatRounding * scale);
    check_within("dwt: coefficient", result_, expected.coefficients, allowed);
  }

 private:
  /// Shape of one launch on `elements` elements.
  [[nodiscard]] static runtime::AppInfo::KernelShape levels_of(std::uint32_t elements) {
    const std::uint32_t threads = std::min(elements / 2, kMostThreads);
    const std::uint32_t padding = 2 * threads / 16;
    return {"haar_levels", {elements / (2 * threads)}, {threads}, 4 * (2 * threads + padding)};
  }

  std::uint32_t bits_;
  std::vector<float> signal_;
  std::vector<float> result_;
};

const KernelApp kDwt{
    .name = "dwt",
    .description =
        "Haar wavelet decomposition, ten levels a launch in shared memory (dwtHaar1D of the CUDA SDK)",
    .params = {{"bits", 19, 1, 22, "2^bits elements"}},
    .ptx_file = "benchmarks/dwt/dwt.ptx",
    .ptx_text = embedded::dwt_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Dwt>(kDwt);
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Dwt, variant::Awatramani17>(
    kDwt.with("awatramani17/dwt", "dwt for awatramani17", {{"bits", 20}}));

}  // namespace
}  // namespace gpumux::benchmarks::dwt
