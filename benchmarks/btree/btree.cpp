// btree: host program of queries of a B+ tree.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/btree/btree.hpp"
#include "benchmarks/common.hpp"
#include "embedded/btree.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::btree {
namespace {

constexpr const char* kFile = "benchmarks/btree/btree.ptx";
constexpr std::int32_t kKeySpace = 1 << 30;

/// An application: its name and defaults, and whether its blocks count for what chimera15's Table 2 says.
struct Variant {
  const char* name;
  const char* description;
  std::int64_t keys, order, ranges, range, queries;
  bool table;
};
constexpr Variant kPlain = {
    "btree", "queries of keys and of ranges of keys in a B+ tree (as in Rodinia's b+tree)",
    65536,   128,
    600,     300,
    1000,    false};
constexpr Variant kChimera = {
    "chimera15/BT", "queries of keys and of ranges of keys in a B+ tree, as in Table 2 of chimera15",
    1'000'000,      256,
    6000,           3000,
    10'000,         true};

std::vector<runtime::AppParamInfo> param_table(const Variant& variant) {
  return {{"keys", variant.keys, 1, 1 << 22, "keys of the tree, with a record each"},
          {"order", variant.order, 16, 1024, "children of a node at most, and threads of a block"},
          {"ranges", variant.ranges, 1, 65535, "queries of findRangeK, a block each"},
          {"range", variant.range, 1, 1 << 22, "keys of a range, at most as many as the tree has"},
          {"queries", variant.queries, 1, 65535, "queries of findK, a block each"}};
}

struct Sizes {
  std::uint32_t keys, order, ranges, range, queries;
};

Sizes read_sizes(const Variant& variant, const runtime::AppParams& values) {
  const std::vector<runtime::AppParamInfo> table = param_table(variant);
  const Params params(variant.name, table, values);
  const Sizes sizes{params.get("keys"), params.get("order"), params.get("ranges"), params.get("range"),
                    params.get("queries")};
  params.require(sizes.range <= sizes.keys,
                 fmt::format("range={} must be at most keys={}", sizes.range, sizes.keys));
  // Nodes are at least half full, and less than half of them are inner ones.
  const std::uint64_t leaves = sizes.keys / (sizes.order / 2) + 1;
  params.require_memory(4 * (2 * leaves * NodeLayout{sizes.order}.words() + sizes.keys));
  return sizes;
}

std::vector<runtime::AppInfo::KernelShape> shapes(const Sizes& sizes) {
  return {{"findRangeK", {sizes.ranges}, {sizes.order}}, {"findK", {sizes.queries}, {sizes.order}}};
}

class Btree final : public runtime::Application {
 public:
  Btree(const Variant& variant, const Sizes& sizes, std::uint64_t seed)
      : variant_(variant), sizes_(sizes), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (sorted_.empty()) make_inputs();
    const std::uint32_t module = host.load_module(embedded::btree_ptx, kFile);
    std::vector<Address> allocated;
    const auto upload = [&]<typename T>(const std::vector<T>& values) {
      const auto array = host.malloc<T>(values.size());
      host.to_device(array, values);
      allocated.push_back(array.address);
      return array;
    };
    const auto nodes = upload(tree_.nodes);
    const auto height = static_cast<std::int64_t>(tree_.height);
    const std::vector<runtime::AppInfo::KernelShape> kernels = shapes(sizes_);

    const std::vector<std::int64_t> roots(sizes_.ranges);
    std::vector<std::int32_t> first(sizes_.ranges);
    std::vector<std::int32_t> length(sizes_.ranges);
    std::vector<std::int64_t> first_leaf(sizes_.ranges);
    std::vector<std::int64_t> last_leaf(sizes_.ranges);
    {
      const auto current = upload(roots);
      const auto next = upload(roots);
      const auto last = upload(roots);
      const auto next_last = upload(roots);
      const auto starts = upload(starts_);
      const auto ends = upload(ends_);
      const auto firsts = upload(first);
      const auto lengths = upload(length);
      host.launch(module, kernels[0].kernel, {.grid = kernels[0].grid, .block = kernels[0].block}, height,
                  nodes, current, next, last, next_last, starts, ends, firsts, lengths);
      host.from_device(first, firsts);
      host.from_device(length, lengths);
      host.from_device(first_leaf, current);
      host.from_device(last_leaf, last);
    }

    const std::vector<std::int64_t> query_roots(sizes_.queries);
    std::vector<std::int32_t> values(sizes_.queries, -1);
    std::vector<std::int64_t> leaf(sizes_.queries);
    {
      const auto records = upload(tree_.records);
      const auto current = upload(query_roots);
      const auto next = upload(query_roots);
      const auto keys = upload(keys_);
      const auto answers = upload(values);
      host.launch(module, kernels[1].kernel, {.grid = kernels[1].grid, .block = kernels[1].block}, height,
                  nodes, records, current, next, keys, answers);
      host.from_device(values, answers);
      host.from_device(leaf, current);
    }
    co_await host.synchronize();

    if (verify) {
      const Ranges ranges = reference_ranges(sorted_, starts_, ends_);
      check_equal("btree: first records", first, ranges.first);
      check_equal("btree: lengths", length, ranges.length);
      check_equal("btree: first leaves", first_leaf, leaves_of(starts_));
      check_equal("btree: last leaves", last_leaf, leaves_of(ends_));
      check_equal("btree: values", values, reference_find(sorted_, keys_));
      check_equal("btree: leaves", leaf, leaves_of(keys_));
    }
    for (const Address address : allocated) host.free(address);
  }

  /// The table's contexts are 46 and 36 KB without shared memory: with 256 threads 46 and 36 registers each.
  /// Blocks of another size count for the same, as far as a thread can have as many registers.
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    if (!variant_.table) return {};
    constexpr std::uint32_t kMostRegisters = 63;
    const std::uint32_t lanes = blocks_for(sizes_.order, kWarpSize) * kWarpSize;
    const auto registers = [&](std::uint32_t context) {
      return std::clamp(context / (4 * lanes), 1U, kMostRegisters);
    };
    return {{"findRangeK", {.registers_per_thread = registers(46 * 1024)}},
            {"findK", {.registers_per_thread = registers(36 * 1024)}}};
  }

 private:
  // One key in each stretch of the key space; queries of the same stretch's other keys find nothing.
  void make_inputs() {
    Random random(seed_);
    const std::uint32_t stretch = static_cast<std::uint32_t>(kKeySpace) / sizes_.keys;
    for (std::uint32_t i = 0; i < sizes_.keys; ++i) {
      sorted_.push_back({static_cast<std::int32_t>(i * stretch + 1 + random.below(stretch)),
                         static_cast<std::int32_t>(random.below(std::numeric_limits<std::int32_t>::max()))});
    }
    std::vector<Entry> shuffled = sorted_;
    for (std::uint32_t i = sizes_.keys; i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
    tree_ = build(shuffled, sizes_.order);

    const auto key = [&](std::uint32_t rank) {
      const bool absent = random.below(16) == 0;
      if (!absent) return sorted_[rank].key;
      const std::uint32_t begin = rank * stretch + 1;
      const std::uint32_t taken = static_cast<std::uint32_t>(sorted_[rank].key) - begin;
      return static_cast<std::int32_t>(begin + (taken + 1 + random.below(stretch - 1)) % stretch);
    };
    for (std::uint32_t i = 0; i < sizes_.ranges; ++i) {
      const std::uint32_t rank = random.below(sizes_.keys - sizes_.range + 1);
      starts_.push_back(key(rank));
      ends_.push_back(key(rank + sizes_.range - 1));
    }
    for (std::uint32_t i = 0; i < sizes_.queries; ++i) keys_.push_back(key(random.below(sizes_.keys)));
  }

  [[nodiscard]] std::vector<std::int64_t> leaves_of(const std::vector<std::int32_t>& keys) const {
    std::vector<std::int64_t> leaves;
    for (const std::int32_t key : keys) leaves.push_back(tree_.leaf_of(key));
    return leaves;
  }

  const Variant& variant_;
  Sizes sizes_;
  std::uint64_t seed_;
  std::vector<Entry> sorted_;
  Tree tree_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> ends_;
  std::vector<std::int32_t> keys_;
};

template <const Variant& kVariant>
bool register_variant() {
  return runtime::register_app({
      .name = kVariant.name,
      .description = kVariant.description,
      .params = param_table(kVariant),
      .ptx_file = kFile,
      .ptx_text = embedded::btree_ptx,
      .shapes = [](const runtime::AppParams& values) { return shapes(read_sizes(kVariant, values)); },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<Btree>(kVariant, read_sizes(kVariant, values), seed);
      },
  });
}

[[maybe_unused]] const bool registered = register_variant<kPlain>() && register_variant<kChimera>();

}  // namespace
}  // namespace gpumux::benchmarks::btree
