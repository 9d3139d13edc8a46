// btree: host program of queries of a B+ tree.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/btree/btree.hpp"
#include "benchmarks/common.hpp"
#include "embedded/btree.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::btree {
namespace {

constexpr const char* kFile = "benchmarks/btree/btree.ptx";

/// One of the applications: its name and defaults. `range_context` and `find_context` are the bytes of
/// registers for which a block of each kernel counts, as a paper's table prints them; 0 if no table does.
struct Variant {
  const char* name;
  const char* description;
  std::int64_t keys, order, ranges, range, queries;
  std::uint32_t range_context, find_context;
};
constexpr Variant kPlain = {
    .name = "btree",
    .description = "queries of keys and of ranges of keys in a B+ tree (as in Rodinia's b+tree)",
    .keys = 65536,
    .order = 128,
    .ranges = 600,
    .range = 300,
    .queries = 1000,
    .range_context = 0,
    .find_context = 0};
constexpr Variant kChimera = {
    .name = "chimera15/BT",
    .description = "queries of keys and of ranges of keys in a B+ tree, as in Table 2 of chimera15",
    .keys = 1'000'000,
    .order = 256,
    .ranges = 6000,
    .range = 3000,
    .queries = 10'000,
    .range_context = 46 * 1024,
    .find_context = 36 * 1024};
constexpr Variant kAwatramani = {  // contexts as in Table 4.2
    .name = "awatramani17/btree",
    .description = "btree for awatramani17",
    .keys = 1'000'000,
    .order = 256,
    .ranges = 4096,
    .range = 3000,
    .queries = 4096,
    .range_context = 24576,
    .find_context = 20480};

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
  params.require_memory(bytes_of_records(sizes.keys, sizes.order));
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
    if (records_.sorted.empty()) make_inputs();
    const std::uint32_t module = host.load_module(embedded::btree_ptx, kFile);
    std::vector<Address> allocated;
    const auto upload = [&]<typename T>(const std::vector<T>& values) {
      const auto array = host.malloc<T>(values.size());
      host.to_device(array, values);
      allocated.push_back(array.address);
      return array;
    };
    const auto nodes = upload(records_.tree.nodes);
    const auto height = static_cast<std::int64_t>(records_.tree.height);
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
      const auto records = upload(records_.tree.records);
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
      const Ranges ranges = reference_ranges(records_.sorted, starts_, ends_);
      check_equal("btree: first records", first, ranges.first);
      check_equal("btree: lengths", length, ranges.length);
      check_equal("btree: first leaves", first_leaf, leaves_of(records_.tree, starts_));
      check_equal("btree: last leaves", last_leaf, leaves_of(records_.tree, ends_));
      check_equal("btree: values", values, reference_find(records_.sorted, keys_));
      check_equal("btree: leaves", leaf, leaves_of(records_.tree, keys_));
    }
    for (const Address address : allocated) host.free(address);
  }

  /// Registers per thread such that a block, whatever its size, counts for the context in the paper's table
  /// (at most 63 registers per thread). The tables' contexts contain no shared memory.
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    if (variant_.range_context == 0) return {};
    constexpr std::uint32_t kMostRegisters = 63;
    const std::uint32_t lanes = blocks_for(sizes_.order, kWarpSize) * kWarpSize;
    const auto registers = [&](std::uint32_t context) {
      return std::clamp(context / (4 * lanes), 1U, kMostRegisters);
    };
    return {{"findRangeK", {.registers_per_thread = registers(variant_.range_context)}},
            {"findK", {.registers_per_thread = registers(variant_.find_context)}}};
  }

 private:
  void make_inputs() {
    Random random(seed_);
    records_ = random_records(random, sizes_.keys, sizes_.order);
    for (std::uint32_t i = 0; i < sizes_.ranges; ++i) {
      const std::uint32_t rank = random.below(sizes_.keys - sizes_.range + 1);
      starts_.push_back(random_key(random, records_, rank));
      ends_.push_back(random_key(random, records_, rank + sizes_.range - 1));
    }
    for (std::uint32_t i = 0; i < sizes_.queries; ++i)
      keys_.push_back(random_key(random, records_, random.below(sizes_.keys)));
  }

  const Variant& variant_;
  Sizes sizes_;
  std::uint64_t seed_;
  Records records_;
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

[[maybe_unused]] const bool registered =
    register_variant<kPlain>() && register_variant<kChimera>() && register_variant<kAwatramani>();

}  // namespace
}  // namespace gpumux::benchmarks::btree
