// mergesort: host program of keys sorted by merging.
#include "benchmarks/mergesort/mergesort.hpp"

#include <utility>

#include "benchmarks/kernel_program.hpp"
#include "embedded/mergesort.ptx.hpp"

namespace gpumux::benchmarks::mergesort {
namespace {

constexpr std::uint32_t kTile = 1024;  // elements of a sorted tile: kTile of mergesort.cu
constexpr std::uint32_t kStep = 128;   // between two samples: kStep
constexpr std::uint32_t kRankThreads = 256;
constexpr std::uint32_t kKeys = 65536;  // different ones

class MergeSort final : public KernelProgram {
 public:
  explicit MergeSort(const Params& params) : count_(1U << params.get("bits")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes()[0]; }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {{"merge_sort_tile", {count_ / kTile}, {kTile / 2}},
            {"sample_ranks", {blocks_for(pairs(), kRankThreads)}, {kRankThreads}},
            {"merge_ranks", {blocks_for(pairs(), kRankThreads)}, {kRankThreads}},
            {"merge_intervals", {count_ / kStep}, {kStep}}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    keys_.resize(count_);
    for (std::uint32_t& key : keys_) key = random.below(kKeys);
  }
  void start(KernelRun& run) override {
    std::vector<std::uint32_t> places(count_);
    std::iota(places.begin(), places.end(), 0U);
    auto keys = run.upload(keys_);
    auto values = run.upload(places);
    auto other_keys = run.allocate<std::uint32_t>(count_);
    auto other_values = run.allocate<std::uint32_t>(count_);
    const auto array_of_samples = [&] { return run.allocate<std::uint32_t>(std::size_t{2} * pairs()); };
    const auto ranks_first = array_of_samples(), ranks_second = array_of_samples();
    const auto cuts_first = array_of_samples(), cuts_second = array_of_samples();
    const std::vector<runtime::AppInfo::KernelShape> kernels = shapes();
    const auto swap = [&] {
      std::swap(keys, other_keys);
      std::swap(values, other_values);
    };
    run.launch_as(kernels[0], other_keys, other_values, keys, values);
    swap();
    for (std::uint32_t length = kTile; length < count_; length *= 2) {
      run.launch_as(kernels[1], ranks_first, ranks_second, keys, length, pairs());
      run.launch_as(kernels[2], cuts_first, ranks_first, length, pairs());
      run.launch_as(kernels[2], cuts_second, ranks_second, length, pairs());
      run.launch_as(kernels[3], other_keys, other_values, keys, values, cuts_first, cuts_second, length);
      swap();
    }
    run.download(result_keys_, keys);
    run.download(result_values_, values);
  }
  void check() override {
    const std::vector<std::uint32_t> order = reference(keys_);
    std::vector<std::uint32_t> sorted;
    for (const std::uint32_t place : order) sorted.push_back(keys_[place]);
    check_equal("mergesort: key", result_keys_, sorted);
    check_equal("mergesort: value", result_values_, order);
  }

 private:
  /// Of samples, one of either segment.
  [[nodiscard]] std::uint32_t pairs() const { return count_ / (2 * kStep); }

  std::uint32_t count_;
  std::vector<std::uint32_t> keys_;
  std::vector<std::uint32_t> result_keys_, result_values_;
};

const KernelApp kMergeSort{
    .name = "mergesort",
    .description =
        "keys with values sorted: tiles in shared memory, then merged by ranks (mergeSort of the CUDA SDK)",
    .params = {{"bits", 16, 10, 22, "2^bits keys"}},
    .ptx_file = "benchmarks/mergesort/mergesort.ptx",
    .ptx_text = embedded::mergesort_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<MergeSort>(kMergeSort);
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<MergeSort, struct Awatramani17>(
    kMergeSort.with("awatramani17/mergesort", "mergesort for awatramani17", {{"bits", 17}}));

}  // namespace
}  // namespace gpumux::benchmarks::mergesort
