// histo: host program of a histogram that saturates.
#include "benchmarks/histo/histo.hpp"

#include <cmath>

#include "benchmarks/kernel_program.hpp"
#include "embedded/histo.ptx.hpp"

namespace gpumux::benchmarks::histo {
namespace {

constexpr std::uint32_t kRange = 4096;  // bins of a block: kRange of histo.cu
constexpr std::uint32_t kThreads = 512;
constexpr std::uint32_t kCountThreads = 768;

class Histo final : public KernelProgram {
 public:
  explicit Histo(const Params& params)
      : count_(params.get_multiple("samples", 2)),
        bins_(params.get_multiple("bins", kRange)),
        blocks_(params.get("blocks")),
        rounds_(params.get("rounds")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes()[2]; }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {{"find_range", {64}, {kThreads}},
            {"pack_samples", {blocks_for(count_ / 2, kThreads)}, {kThreads}},
            {"count_range", {blocks_, bins_ / kRange}, {kCountThreads}},
            {"saturate", {blocks_for(bins_ / 4, kThreads)}, {kThreads}}};
  }
  /// Most lie near the middle: sums of four numbers at random.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uint32_t sum = 0;
      for (int k = 0; k < 4; ++k) sum += random.below(bins_);
      samples_.push_back(sum / 4);
    }
  }
  void start(KernelRun& run) override {
    const auto samples = run.upload(samples_);
    const auto packed = run.allocate<std::uint32_t>(count_ / 2);
    const auto counts = run.allocate<std::uint32_t>(bins_);
    const auto result = run.allocate<std::uint8_t>(bins_);
    const auto none = run.zeros<std::uint32_t>(bins_);
    const auto range = run.allocate<std::uint32_t>(2);
    const auto no_range = run.upload(std::vector<std::uint32_t>{0xffff'ffff, 0});
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      run.copy(counts, none);
      run.copy(range, no_range);
      run.launch_as(shapes()[0], samples, count_, range);
      run.launch_as(shapes()[1], samples, count_, range, packed);
      run.launch_as(shapes()[2], packed, count_ / 2, range, counts);
      run.launch_as(shapes()[3], counts, bins_ / 4, result);
    }
    run.download(result_, result);
  }
  void check() override { check_equal("histo: bin", result_, reference(samples_, bins_)); }

 private:
  std::uint32_t count_;
  std::uint32_t bins_;
  std::uint32_t blocks_;
  std::uint32_t rounds_;
  std::vector<std::uint32_t> samples_;
  std::vector<std::uint8_t> result_;
};

const KernelApp kHisto{
    .name = "histo",
    .description = "histogram that saturates, ranges of bins in shared memory (Parboil histo)",
    .params = {{"samples", 262144, 2, 16'000'000, "samples, an even number"},
               {"bins", 32768, 4096, 65536, "bins, a multiple of 4096"},
               {"blocks", 42, 1, 1024, "parts of the samples, a block for each and each range of 4096 bins"},
               {"rounds", 1, 1, 100'000, "histograms, one after the other"}},
    .ptx_file = "benchmarks/histo/histo.ptx",
    .ptx_text = embedded::histo_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Histo>(kHisto);
// The samples and rounds of Parboil's large input, in as many bins as give the blocks of its main kernel.
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<Histo, variant::Wang17>(
    kHisto.with("wang17/histo", "histo for wang17",
                {{"samples", 1'035'840}, {"bins", 24576}, {"blocks", 14}, {"rounds", 10'000}}));

}  // namespace
}  // namespace gpumux::benchmarks::histo
