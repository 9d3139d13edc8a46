// histo: host program of a saturating histogram.
#include "benchmarks/histo/histo.hpp"

#include "base/round_up.hpp"
#include "benchmarks/common.hpp"
#include "benchmarks/host_flags.hpp"
#include "embedded/histo.ptx.hpp"

namespace gpumux::benchmarks::histo {
namespace {

constexpr const char* kFile = "benchmarks/histo/histo.ptx";
constexpr std::uint32_t kLines = 16;           // per block of pack_samples (kLines of histo.cu)
constexpr std::uint32_t kParts = 14;           // sub-histograms (kParts of histo.cu)
constexpr std::uint32_t kCleared = 4;          // sub-histograms that are cleared before each histogram
constexpr std::uint32_t kSaturateBlocks = 42;  // of kSaturateThreads threads each
constexpr std::uint32_t kSaturateThreads = 512;
constexpr std::uint32_t kCountThreads = 768;

const std::vector<runtime::AppParamInfo>& param_table(bool of_wang17) {
  const auto make = [](std::int64_t samples, std::int64_t bins, std::int64_t spread, std::int64_t background,
                       std::int64_t rounds) {
    return std::vector<runtime::AppParamInfo>{
        {"samples", samples, 1, 16'000'000, "samples, rounded up to whole lines of the picture"},
        {"width", 996, 1, 2048, "samples of a line"},
        {"bins", bins, 4096, 1'048'576, "bins, a multiple of 4096"},
        {"spread", spread, 1, 1'048'576, "bins at most that occur"},
        {"background", background, 0, 100, "samples of 100 that lie in one bin, in the middle of these"},
        {"blocks", kParts, 1, kParts, "parts of the samples, a block for each and each range of 24,576 bins"},
        {"rounds", rounds, 1, 100'000, "histograms, one after the other"}};
  };
  static const std::vector<runtime::AppParamInfo> own = make(524'288, 98'304, 16'384, 10, 1);
  // Parboil's large input: its numbers of samples, bins and rounds, and as many bins with samples.
  static const std::vector<runtime::AppParamInfo> wang17 = make(1'035'840, 1'048'576, 24'961, 0, 10'000);
  return of_wang17 ? wang17 : own;
}

struct Sizes {
  std::uint32_t samples, width, bins, spread, background, blocks, rounds;

  [[nodiscard]] std::uint32_t lines() const { return samples / width; }
  /// Pairs of samples per line.
  [[nodiscard]] std::uint32_t pairs() const { return blocks_for(width, 2); }
  /// Bins with memory: at least a whole range.
  [[nodiscard]] std::uint32_t capacity() const { return std::max(bins, kRange); }
  /// The highest range that blocks count, which is the last range with all its bins.
  [[nodiscard]] std::uint32_t last_range() const { return capacity() / kRange - 1; }
  /// The first bin with samples. If there are enough bins, the bins with samples are around a border between
  /// ranges.
  [[nodiscard]] std::uint32_t first() const {
    return std::min(round_up(bins / 2, kRange), bins - blocks_for(spread, 2)) - spread / 2;
  }
};

Sizes read_sizes(const char* name, bool of_wang17, const runtime::AppParams& values) {
  const Params params(name, param_table(of_wang17), values);
  Sizes sizes{params.get("samples"), params.get("width"),      params.get_multiple("bins", 4096),
              params.get("spread"),  params.get("background"), params.get("blocks"),
              params.get("rounds")};
  sizes.samples = round_up(sizes.samples, sizes.width);
  sizes.spread = std::min(sizes.spread, sizes.bins);
  return sizes;
}

std::vector<runtime::AppInfo::KernelShape> shapes_of(const Sizes& sizes, std::uint32_t ranges) {
  return {{"find_range", {kFindBlocks}, {kFindThreads}},
          {"pack_samples", {blocks_for(sizes.lines(), kLines)}, {sizes.pairs()}},
          {"count_range", {sizes.blocks, ranges}, {kCountThreads}},
          {"saturate", {kSaturateBlocks}, {kSaturateThreads}}};
}

/// Typical shapes. The number of ranges that find_range leaves depends on the samples; about the ranges
/// within twice the spread.
std::vector<runtime::AppInfo::KernelShape> typical_shapes(const Sizes& sizes) {
  const std::uint32_t middle = sizes.first() + sizes.spread / 2;
  const std::uint32_t low = (middle - std::min(middle, 2 * sizes.spread)) / kRange;
  const std::uint32_t high = (middle + 2 * sizes.spread) / kRange;
  return shapes_of(sizes, std::min(high, sizes.last_range()) - std::min(low, sizes.last_range()) + 1);
}

class Histo final : public runtime::Application {
 public:
  Histo(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes) {
    Random random(seed);
    const std::uint32_t edge = sizes.spread / 10;  // width of the edges, in bins; bins at the edges are rarer
    for (std::uint32_t i = 0; i < sizes.samples; ++i) {
      const bool background = random.below(100) < sizes.background;
      const std::uint32_t bin = random.below(sizes.spread - edge) + random.below(edge + 1);
      samples_.push_back(sizes.first() + (background ? sizes.spread / 2 : bin));
    }
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::histo_ptx, kFile);
    const std::uint32_t bins = sizes_.capacity();
    const std::uint32_t lines = round_up(sizes_.lines(), kLines);
    const std::uint32_t pitch = sizes_.pairs();
    const auto samples = host.malloc<std::uint32_t>(std::size_t{2} * pitch * lines);
    const auto low_high = host.malloc<std::uint32_t>(2);
    const auto places = host.malloc<std::uint32_t>(std::size_t{sizes_.width} * lines);
    const auto parts = host.malloc<std::uint8_t>(std::size_t{kParts} * bins);
    const auto counters = host.malloc<std::uint16_t>(bins);
    const auto overflow = host.malloc<std::uint32_t>(bins);
    const auto result = host.malloc<std::uint8_t>(bins);
    std::vector<std::uint32_t> words = padded();
    host.to_device(samples, words);
    host.fill(parts.address, 0, std::uint64_t{kParts} * bins, 0);  // for `blocks` below kParts
    host.fill(counters.address, 0, std::uint64_t{2} * bins, 0);
    host.fill(overflow.address, 0, std::uint64_t{4} * bins, 0);

    words.resize(sizes_.samples);  // find_range ignores lines
    const std::vector<std::uint32_t> expected = verify ? find_range(words) : std::vector<std::uint32_t>{};
    for (std::uint32_t round = 0; round < sizes_.rounds; ++round) {
      std::vector<std::uint32_t> found = {~0U, 0};
      host.to_device(low_high, found);
      const auto launch = [&](std::size_t kernel, std::uint32_t ranges, const auto&... args) {
        const runtime::AppInfo::KernelShape shape = shapes_of(sizes_, ranges)[kernel];
        host.launch(module, shape.kernel, {.grid = shape.grid, .block = shape.block}, args...);
      };
      launch(0, 1, samples, sizes_.samples, low_high);
      host.from_device(found, low_high);
      co_await host.synchronize();
      if (verify) check_equal("histo: range", found, expected);
      check_at_most("histo: the lowest range", found[0], found[1]);
      const std::uint32_t low = std::min(found[0], sizes_.last_range());
      const std::uint32_t high = std::min(found[1], sizes_.last_range());
      host.fill(parts.address, 0, std::uint64_t{kCleared} * bins, 0);  // as in Parboil's program
      launch(1, 1, samples, sizes_.width, pitch, places);
      launch(2, high - low + 1, places, sizes_.samples, low, high, bins, parts, counters, overflow);
      launch(3, 1, low, high, bins, parts, counters, overflow, result);
    }
    std::vector<std::uint8_t> counts(sizes_.bins);
    host.from_device(counts, result);
    co_await host.synchronize();
    if (verify) check_equal("histo: bin", counts, reference(samples_, sizes_.bins));
    for (const Address address : {samples.address, low_high.address, places.address, parts.address,
                                  counters.address, overflow.address, result.address})
      host.free(address);
  }

 private:
  /// The samples in lines of an even length, with as many lines as whole blocks of pack_samples process.
  [[nodiscard]] std::vector<std::uint32_t> padded() const {
    const std::size_t pitch = std::size_t{2} * sizes_.pairs();
    std::vector<std::uint32_t> lines(pitch * round_up(sizes_.lines(), kLines), 0);
    for (std::size_t i = 0; i < samples_.size(); ++i)
      lines[i / sizes_.width * pitch + i % sizes_.width] = samples_[i];
    return lines;
  }

  Sizes sizes_;
  std::vector<std::uint32_t> samples_;
};

template <bool kOfWang17>
runtime::AppInfo info(const char* name, const char* description) {
  static const char* const kept = name;
  return {
      .name = name,
      .description = description,
      .params = param_table(kOfWang17),
      .ptx_file = kFile,
      .ptx_text = embedded::histo_ptx,
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        return typical_shapes(read_sizes(kept, kOfWang17, values));
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<Histo>(read_sizes(kept, kOfWang17, values), seed);
      },
  };
}

[[maybe_unused]] const bool registered = runtime::register_app(
    info<false>("histo", "histogram that saturates, ranges of bins in shared memory (Parboil histo)"));
[[maybe_unused]] const bool registered_wang17 =
    runtime::register_app(info<true>("wang17/histo", "histo for wang17"));

}  // namespace
}  // namespace gpumux::benchmarks::histo
