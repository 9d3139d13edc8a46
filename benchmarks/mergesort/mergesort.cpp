// mergesort: host program of a merge sort of keys.
#include "benchmarks/mergesort/mergesort.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/kernel_program.hpp"
#include "embedded/mergesort.ptx.hpp"

namespace gpumux::benchmarks::mergesort {
namespace {

constexpr std::uint32_t kTile = 1024;  // elements per sorted tile (kTile of mergesort.cu)
constexpr std::uint32_t kStep = 128;   // distance between two samples (kStep of mergesort.cu)
constexpr std::uint32_t kRankThreads = 256;
constexpr std::uint32_t kKeys = 65536;  // number of possible keys

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
  /// Number of pairs of samples, one sample of each segment.
  [[nodiscard]] std::uint32_t pairs() const { return count_ / (2 * kStep); }

  std::uint32_t count_;
  std::vector<std::uint32_t> keys_;
  std::vector<std::uint32_t> result_keys_, result_values_;
};

/// One launch of the merge kernel, on pairs of sorted tiles with given cuts.
class MergeIntervals final : public KernelProgram {
 public:
  explicit MergeIntervals(const Params& params) : count_(2 * kTile * params.get("pairs")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"merge_intervals", {count_ / kStep}, {kStep}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    std::vector<std::uint32_t> keys(count_);
    for (std::uint32_t& key : keys) key = random.below(kKeys);
    sort_runs(keys, kTile, keys_, values_);
    sort_runs(keys, 2 * kTile, expected_keys_, expected_values_);
    for (std::uint32_t pair = 0; pair < count_; pair += 2 * kTile) append_cuts(pair);
  }
  void start(KernelRun& run) override {
    const auto keys = run.upload(keys_), values = run.upload(values_);
    const auto cuts_first = run.upload(cuts_first_), cuts_second = run.upload(cuts_second_);
    const auto merged_keys = run.allocate<std::uint32_t>(count_);
    const auto merged_values = run.allocate<std::uint32_t>(count_);
    run.launch(merged_keys, merged_values, keys, values, cuts_first, cuts_second, kTile);
    run.download(result_keys_, merged_keys);
    run.download(result_values_, merged_values);
  }
  void check() override {
    check_equal("mergesort: key", result_keys_, expected_keys_);
    check_equal("mergesort: value", result_values_, expected_values_);
  }

 private:
  /// Sorts each run of `length` keys. `places` gets the former place of each key.
  static void sort_runs(const std::vector<std::uint32_t>& keys, std::uint32_t length,
                        std::vector<std::uint32_t>& sorted, std::vector<std::uint32_t>& places) {
    for (std::uint32_t first = 0; first < keys.size(); first += length) {
      const auto begin = keys.begin() + first;
      for (const std::uint32_t place : reference({begin, begin + length})) {
        sorted.push_back(keys[first + place]);
        places.push_back(first + place);
      }
    }
  }
  /// Appends the cuts of one pair of tiles: the places of both tiles' samples in the first and in the second
  /// tile.
  void append_cuts(std::uint32_t pair) {
    const auto first = keys_.begin() + pair, second = first + kTile, end = second + kTile;
    std::vector<std::uint32_t> in_first, in_second;
    for (std::uint32_t i = 0; i < kTile; i += kStep) {
      in_first.push_back(i);
      in_second.push_back(static_cast<std::uint32_t>(std::lower_bound(second, end, first[i]) - second));
      in_first.push_back(static_cast<std::uint32_t>(std::upper_bound(first, second, second[i]) - first));
      in_second.push_back(i);
    }
    std::sort(in_first.begin(), in_first.end());
    std::sort(in_second.begin(), in_second.end());
    cuts_first_.insert(cuts_first_.end(), in_first.begin(), in_first.end());
    cuts_second_.insert(cuts_second_.end(), in_second.begin(), in_second.end());
  }

  std::uint32_t count_;
  std::vector<std::uint32_t> keys_, values_;
  std::vector<std::uint32_t> cuts_first_, cuts_second_;
  std::vector<std::uint32_t> expected_keys_, expected_values_;
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
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<MergeSort, variant::Awatramani17>(
    kMergeSort.with("awatramani17/mergesort", "mergesort for awatramani17", {{"bits", 17}}));
[[maybe_unused]] const bool registered_ms = register_kernel_app<MergeIntervals>({
    .name = "awatramani17/ms",
    .description = "pairs of sorted tiles merged by intervals: MS of awatramani17",
    .params = {{"pairs", 512, 1, 2048, "pairs of tiles of 1024 keys, 16 blocks each"}},
    .ptx_file = "benchmarks/mergesort/mergesort.ptx",
    .ptx_text = embedded::mergesort_ptx,
});

}  // namespace
}  // namespace gpumux::benchmarks::mergesort
