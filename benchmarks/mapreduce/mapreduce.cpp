// kayiran14/pvc, pvr and iix: host programs of page view count, page view rank and inverted index.
#include "benchmarks/mapreduce/mapreduce.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "benchmarks/common.hpp"
#include "benchmarks/host_flags.hpp"
#include "embedded/mapreduce.ptx.hpp"

namespace gpumux::benchmarks::mapreduce {
namespace {

constexpr const char* kFile = "benchmarks/mapreduce/mapreduce.ptx";
constexpr std::uint32_t kThreads = 256;  // per block, of all kernels (kSumThreads of mapreduce.cu)
constexpr std::uint32_t kTile = 512;     // in pairs (kTile of mapreduce.cu)

using Words = runtime::DevicePtr<std::uint32_t>;
using Pairs = runtime::DevicePtr<Pair>;

/// Array size that a sort of `count` pairs needs, in pairs.
std::uint32_t capacity(std::uint32_t count) { return std::max(kTile, std::bit_ceil(count)); }

/// The stages of one run on the device. All calls only enqueue, in order.
class Stages {
 public:
  Stages(runtime::Host& host, const Text& text)
      : host_(host),
        module_(host.load_module(embedded::mapreduce_ptx, kFile)),
        letters_(upload(std::vector<char>(text.letters.begin(), text.letters.end()))),
        starts_(upload(text.starts)) {}

  template <typename T>
  [[nodiscard]] runtime::DevicePtr<T> allocate(std::size_t elements) {
    const auto array = host_.malloc<T>(elements);
    allocated_.push_back(array.address);
    return array;
  }
  [[nodiscard]] runtime::DevicePtr<char> letters() const { return letters_; }
  [[nodiscard]] Words starts() const { return starts_; }

  template <typename... Args>
  void launch(const char* kernel, std::uint32_t threads, const Args&... args) {
    host_.launch(module_, kernel, {.grid = {blocks_for(threads, kThreads)}, .block = {kThreads}}, args...);
  }
  /// Exclusive prefix sums of the first `count` words. `last` gets the last word and its prefix sum, whose
  /// sum is the sum of all words.
  [[nodiscard]] Words prefix_sum(Words in, std::uint32_t count, std::vector<std::uint32_t>& last) {
    const Words sums = prefix_sum(in, count);
    last.resize(2);
    host_.copy_from_device(std::as_writable_bytes(std::span(last).first(1)), (in + (count - 1)).address, 0);
    host_.copy_from_device(std::as_writable_bytes(std::span(last).last(1)), (sums + (count - 1)).address, 0);
    return sums;
  }
  void sort_by_text(Pairs pairs, std::uint32_t count) {
    sort("bitonic_tiles_text", "bitonic_step_text", pairs, count, letters_);
  }
  void sort_by_number(Pairs pairs, std::uint32_t count) {
    sort("bitonic_tiles_number", "bitonic_step_number", pairs, count);
  }
  /// One word per pair: 1 if the pair begins a group, otherwise 0.
  [[nodiscard]] Words heads(Pairs pairs, std::uint32_t count) {
    const auto heads = allocate<std::uint32_t>(count);
    launch("group_heads", count, letters_, pairs, heads, count);
    return heads;
  }
  /// Index of the first pair of each of `groups` groups.
  [[nodiscard]] Words group_starts(Words heads, Words sums, std::uint32_t count, std::uint32_t groups) {
    const auto starts = allocate<std::uint32_t>(groups);
    launch("group_starts", count, heads, sums, starts, count);
    return starts;
  }
  void release() {
    for (const Address address : allocated_) host_.free(address);
    allocated_.clear();
  }

 private:
  template <typename T>
  [[nodiscard]] runtime::DevicePtr<T> upload(const std::vector<T>& values) {
    const auto array = allocate<T>(values.size());
    host_.to_device(array, values);
    return array;
  }
  [[nodiscard]] Words prefix_sum(Words in, std::uint32_t count) {
    const std::uint32_t tiles = blocks_for(count, kThreads);
    const auto sums = allocate<std::uint32_t>(count);
    const auto totals = allocate<std::uint32_t>(tiles);
    launch("prefix_sum_tiles", count, in, sums, totals, count);
    if (tiles > 1) launch("prefix_sum_add", count, sums, prefix_sum(totals, tiles), count);
    return sums;
  }
  template <typename... Text>
  void sort(const char* tiles, const char* step, Pairs pairs, std::uint32_t count, const Text&... text) {
    const std::uint32_t places = capacity(count), exchanges = places / 2;
    if (places > count) launch("fill_up", places - count, pairs, count, places);
    launch(tiles, exchanges, text..., pairs, 2U, kTile);
    for (std::uint32_t run = 2 * kTile; run <= places; run *= 2) {
      for (std::uint32_t distance = run / 2; distance >= kTile; distance /= 2)
        launch(step, exchanges, text..., pairs, run, distance);
      launch(tiles, exchanges, text..., pairs, run, run);
    }
  }

  runtime::Host& host_;
  std::uint32_t module_;
  std::vector<Address> allocated_;
  runtime::DevicePtr<char> letters_;
  Words starts_;
};

/// The sum of a counting stage's results, from the `last` of prefix_sum(). The sum can be at most `most`.
std::uint32_t total(const char* what, const std::vector<std::uint32_t>& last, std::uint32_t most) {
  for (const std::uint32_t word : last) check_at_most(what, word, most);
  const std::uint32_t sum = last[0] + last[1];
  check_at_most(what, sum, most);
  return sum;
}

void check_pairs(std::string_view what, const std::vector<Pair>& result, const std::vector<Pair>& expected) {
  const auto words = [](const std::vector<Pair>& pairs) {
    std::vector<std::uint32_t> flat;
    for (const Pair& pair : pairs) flat.insert(flat.end(), {pair.hash, pair.start, pair.length, pair.value});
    return flat;
  };
  check_equal(what, words(result), words(expected));
}

std::uint32_t mask_of(const Params& params) { return ~std::uint32_t{0} >> (32U - params.get("hash")); }

const runtime::AppParamInfo kHashParam{"hash", 32, 1, 32,
                                       "bits of a key's hash that are kept; keys with the same are compared"};

/// Page view count in two MapReduces: the first merges equal lines, the second counts the lines of each URL.
class ViewCount final : public runtime::Application {
 public:
  static constexpr const char* kName = "kayiran14/pvc";
  static constexpr const char* kDescription =
      "different views of each page in a web log by MapReduce (Mars PageViewCount)";
  static const std::vector<runtime::AppParamInfo>& params() {
    static const std::vector<runtime::AppParamInfo> table = {
        {"lines", 524'288, 1, 1'000'000, "lines of the log"},
        {"urls", 131'072, 1, 1'000'000, "pages that are asked for"},
        kHashParam};
    return table;
  }
  static constexpr const char* kRecords = "lines";
  static constexpr const char* kKernels[] = {"pvc_map_count", "pvc_map"};
  static constexpr bool kNumbers = false;

  ViewCount(const Params& params, std::uint64_t seed)
      : mask_(mask_of(params)), inputs_([this, lines = params.get("lines"), urls = params.get("urls"), seed] {
          Random random(seed);
          log_ = web_log(lines, urls, random);
        }) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    Stages stages(host, log_);
    std::vector<std::uint32_t> last;
    const std::uint32_t lines = log_.records();
    const auto counts = stages.allocate<std::uint32_t>(lines);
    stages.launch("pvc_map_count", lines, stages.letters(), stages.starts(), counts, lines);
    const Words sums = stages.prefix_sum(counts, lines, last);
    co_await host.synchronize();
    const std::uint32_t views = total("pvc: views", last, lines);

    const auto pairs = stages.allocate<Pair>(capacity(views));
    stages.launch("pvc_map", lines, stages.letters(), stages.starts(), counts, sums, pairs, lines, mask_);
    stages.sort_by_text(pairs, views);
    const Words line_heads = stages.heads(pairs, views);
    const Words line_sums = stages.prefix_sum(line_heads, views, last);
    co_await host.synchronize();
    const std::uint32_t different = total("pvc: different lines", last, views);

    const Words line_groups = stages.group_starts(line_heads, line_sums, views, different);
    const auto urls = stages.allocate<Pair>(capacity(different));
    stages.launch("pvc_map_url", different, stages.letters(), pairs, line_groups, urls, different, mask_);
    stages.sort_by_text(urls, different);
    const Words heads = stages.heads(urls, different);
    const Words url_sums = stages.prefix_sum(heads, different, last);
    co_await host.synchronize();
    const std::uint32_t pages = total("pvc: pages", last, different);

    const Words groups = stages.group_starts(heads, url_sums, different, pages);
    const auto reduced = stages.allocate<std::uint32_t>(pages);
    stages.launch("reduce_count", pages, groups, reduced, pages, different);
    Grouped result{std::vector<Pair>(different), std::vector<std::uint32_t>(pages),
                   std::vector<std::uint32_t>(pages)};
    host.from_device(result.pairs, urls);
    host.from_device(result.groups, groups);
    host.from_device(result.reduced, reduced);
    co_await host.synchronize();
    if (verify) {
      const Grouped expected = page_view_count(log_, mask_);
      check_pairs("pvc: pairs", result.pairs, expected.pairs);
      check_equal("pvc: groups", result.groups, expected.groups);
      check_equal("pvc: views", result.reduced, expected.reduced);
    }
    stages.release();
  }

 private:
  std::uint32_t mask_;
  InputsOfFirstRun inputs_;
  Text log_;
};

/// Page view rank: URLs sorted by their views, without a reduction.
class ViewRank final : public runtime::Application {
 public:
  static constexpr const char* kName = "kayiran14/pvr";
  static constexpr const char* kDescription =
      "pages by falling numbers of views by MapReduce (Mars PageViewRank)";
  static const std::vector<runtime::AppParamInfo>& params() {
    static const std::vector<runtime::AppParamInfo> table = {
        {"lines", 524'288, 1, 1'000'000, "lines of the table of views"},
        {"most", 100'000, 1, 1'000'000'000, "views of a page, at most"}};
    return table;
  }
  static constexpr const char* kRecords = "lines";
  static constexpr const char* kKernels[] = {"pvr_map_count", "pvr_map"};
  static constexpr bool kNumbers = true;

  ViewRank(const Params& params, std::uint64_t seed)
      : inputs_([this, lines = params.get("lines"), most = params.get("most"), seed] {
          Random random(seed);
          table_ = view_table(lines, most, random);
        }) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    Stages stages(host, table_);
    std::vector<std::uint32_t> last;
    const std::uint32_t lines = table_.records();
    const auto counts = stages.allocate<std::uint32_t>(lines);
    stages.launch("pvr_map_count", lines, stages.letters(), stages.starts(), counts, lines);
    const Words sums = stages.prefix_sum(counts, lines, last);
    co_await host.synchronize();
    const std::uint32_t pages = total("pvr: pages", last, lines);

    const auto pairs = stages.allocate<Pair>(capacity(pages));
    stages.launch("pvr_map", lines, stages.letters(), stages.starts(), counts, sums, pairs, lines);
    stages.sort_by_number(pairs, pages);
    std::vector<Pair> result(pages);
    host.from_device(result, pairs);
    co_await host.synchronize();
    if (verify) check_pairs("pvr: pairs", result, page_view_rank(table_).pairs);
    stages.release();
  }

 private:
  InputsOfFirstRun inputs_;
  Text table_;
};

/// Inverted index: the places of each link.
class InvertedIndex final : public runtime::Application {
 public:
  static constexpr const char* kName = "kayiran14/iix";
  static constexpr const char* kDescription =
      "an index of the links in HTML pages by MapReduce (Mars InvertedIndex)";
  static const std::vector<runtime::AppParamInfo>& params() {
    static const std::vector<runtime::AppParamInfo> table = {
        {"pages", 229'376, 1, 1'000'000, "HTML pages"},
        {"words", 8, 1, 1000, "mean number of words of a page; pages * words at most 10 million"},
        {"links", 50, 1, 100'000, "mean number of links of a hundred pages, at most one for each word"},
        {"urls", 65536, 1, 1'000'000, "pages that links lead to"},
        kHashParam};
    return table;
  }
  static constexpr const char* kRecords = "pages";
  static constexpr const char* kKernels[] = {"iix_map_count", "iix_map"};
  static constexpr bool kNumbers = false;

  InvertedIndex(const Params& params, std::uint64_t seed)
      : mask_(mask_of(params)),
        inputs_([this, pages = params.get("pages"), words = params.get("words"), links = params.get("links"),
                 urls = params.get("urls"), seed] {
          Random random(seed);
          pages_ = html_pages(pages, words, links, urls, random);
        }) {
    const std::uint32_t pages = params.get("pages"), words = params.get("words"), links = params.get("links");
    params.require(links <= 100 * words,
                   fmt::format("links={} must be at most 100 times words={}", links, words));
    params.require(std::uint64_t{pages} * words <= 10'000'000,
                   fmt::format("pages={} times words={} must be at most 10000000", pages, words));
  }
  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    Stages stages(host, pages_);
    std::vector<std::uint32_t> last;
    const std::uint32_t pages = pages_.records();
    const auto counts = stages.allocate<std::uint32_t>(pages);
    stages.launch("iix_map_count", pages, stages.letters(), stages.starts(), counts, pages);
    const Words sums = stages.prefix_sum(counts, pages, last);
    co_await host.synchronize();
    const std::uint32_t links = total("iix: links", last, static_cast<std::uint32_t>(pages_.letters.size()));

    const auto pairs = stages.allocate<Pair>(capacity(links));
    stages.launch("iix_map", pages, stages.letters(), stages.starts(), sums, pairs, pages, mask_);
    stages.sort_by_text(pairs, links);
    const Words heads = stages.heads(pairs, links);
    const Words head_sums = stages.prefix_sum(heads, links, last);
    co_await host.synchronize();
    const std::uint32_t different = total("iix: different links", last, links);

    const Words groups = stages.group_starts(heads, head_sums, links, different);
    Grouped result{std::vector<Pair>(links), std::vector<std::uint32_t>(different), {}};
    host.from_device(result.pairs, pairs);
    host.from_device(result.groups, groups);
    co_await host.synchronize();
    if (verify) {
      const Grouped expected = inverted_index(pages_, mask_);
      check_pairs("iix: pairs", result.pairs, expected.pairs);
      check_equal("iix: groups", result.groups, expected.groups);
    }
    stages.release();
  }

 private:
  std::uint32_t mask_;
  InputsOfFirstRun inputs_;
  Text pages_;
};

template <typename App>
bool add() {
  return runtime::register_app({
      .name = App::kName,
      .description = App::kDescription,
      .params = App::params(),
      .ptx_file = kFile,
      .ptx_text = embedded::mapreduce_ptx,
      // The kernels that process records. The numbers of pairs for the other kernels are known only after
      // these have run.
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        const Params params(App::kName, App::params(), values);
        const std::uint32_t records = params.get(App::kRecords);
        const Dim3 by_record{blocks_for(records, kThreads)}, by_pair{capacity(records) / kTile};
        std::vector<runtime::AppInfo::KernelShape> shapes;
        for (const char* kernel : App::kKernels) shapes.push_back({kernel, by_record, {kThreads}});
        shapes.push_back({"prefix_sum_tiles", by_record, {kThreads}});
        for (const char* kernel : {"bitonic_tiles", "bitonic_step"})
          shapes.push_back(
              {fmt::format("{}_{}", kernel, App::kNumbers ? "number" : "text"), by_pair, {kThreads}});
        return shapes;
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<App>(Params(App::kName, App::params(), values), seed);
      },
  });
}

[[maybe_unused]] const bool registered_pvc = add<ViewCount>();
[[maybe_unused]] const bool registered_pvr = add<ViewRank>();
[[maybe_unused]] const bool registered_iix = add<InvertedIndex>();

}  // namespace
}  // namespace gpumux::benchmarks::mapreduce
