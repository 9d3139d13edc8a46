// histogram: host program of a histogram of bytes.
#include "benchmarks/histogram/histogram.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/histogram.ptx.hpp"

namespace gpumux::benchmarks::histogram {
namespace {

constexpr std::uint32_t kCountThreads = 192;
constexpr std::uint32_t kMergeThreads = 256;

class Histogram final : public KernelProgram {
 public:
  explicit Histogram(const Params& params)
      : count_(params.get_multiple("bytes", 4)), blocks_(params.get("blocks")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"count_bytes", {blocks_}, {kCountThreads}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {shape(), merge()};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    bytes_.resize(count_);
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random.below(kBins));
  }
  void start(KernelRun& run) override {
    const auto bytes = run.upload(bytes_);
    const auto partial = run.allocate<std::uint32_t>(std::size_t{blocks_} * kBins);
    const auto counts = run.allocate<std::uint32_t>(kBins);
    run.launch(partial, bytes, count_ / 4);
    run.launch_as(merge(), counts, partial, blocks_);
    run.download(result_, counts);
  }
  void check() override { check_equal("histogram: bin", result_, reference(bytes_)); }

 private:
  [[nodiscard]] static runtime::AppInfo::KernelShape merge() {
    return {"merge_counts", {kBins}, {kMergeThreads}};
  }

  std::uint32_t count_;
  std::uint32_t blocks_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint32_t> result_;
};

const KernelApp kHistogram{
    .name = "histogram",
    .description = "histogram of bytes, bins of each warp in shared memory (histogram of the CUDA SDK)",
    .params = {{"bytes", 6'291'456, 4, 67'108'864, "bytes, a multiple of 4"},
               {"blocks", 240, 1, 4096, "thread blocks, which walk through the bytes together"}},
    .ptx_file = "benchmarks/histogram/histogram.ptx",
    .ptx_text = embedded::histogram_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Histogram>(kHistogram);
// Most registers with which six blocks fit on an SM, as in Table 3.3.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Histogram, variant::Awatramani17>(
    kHistogram
        .with("awatramani17/histogram", "histogram for awatramani17",
              {{"bytes", 12'582'912}, {"blocks", 768}})
        .of({{"count_bytes", {.registers_per_thread = 28}}}));

}  // namespace
}  // namespace gpumux::benchmarks::histogram
