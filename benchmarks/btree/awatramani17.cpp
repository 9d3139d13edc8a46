// awatramani17/bt-k1 and bt-k2: one kernel of btree each. BT-K1 is findRangeK, because Table 4.2 gives BT-K1
// more registers and Table 3.2 gives it more phases. findRangeK is also the first kernel that Rodinia's
// program launches (Rodinia's files number the two kernels the other way round).
#include "benchmarks/btree/btree.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/btree.ptx.hpp"

namespace gpumux::benchmarks::btree {
namespace {

/// Base of both applications: a tree, and one block per query.
class Queries : public KernelProgram {
 public:
  explicit Queries(const Params& params)
      : count_(params.get("queries")), keys_(params.get("keys")), order_(params.get("order")) {
    params.require_memory(bytes_of_records(keys_, order_));
  }

 protected:
  [[nodiscard]] runtime::AppInfo::KernelShape shape_of(const char* kernel) const {
    return {kernel, {count_}, {order_}};
  }
  /// The node that the search of each query has reached. At the start this is the root.
  [[nodiscard]] DeviceArray<std::int64_t> roots(KernelRun& run) const {
    return run.upload(std::vector<std::int64_t>(count_));
  }

  std::uint32_t count_, keys_, order_;
  Records records_;
};

class FindRange final : public Queries {
 public:
  explicit FindRange(const Params& params) : Queries(params), range_(params.get("range")) {
    params.require(range_ <= keys_, fmt::format("range={} must be at most keys={}", range_, keys_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shape_of("findRangeK"); }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    records_ = random_records(random, keys_, order_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint32_t rank = random.below(keys_ - range_ + 1);
      starts_.push_back(random_key(random, records_, rank));
      ends_.push_back(random_key(random, records_, rank + range_ - 1));
    }
  }
  void start(KernelRun& run) override {
    const auto nodes = run.upload(records_.tree.nodes);
    const auto current = roots(run), next = roots(run), last = roots(run), next_last = roots(run);
    const auto starts = run.upload(starts_), ends = run.upload(ends_);
    const auto first = run.zeros<std::int32_t>(count_), length = run.zeros<std::int32_t>(count_);
    run.launch(static_cast<std::int64_t>(records_.tree.height), nodes, current, next, last, next_last, starts,
               ends, first, length);
    run.download(first_, first);
    run.download(length_, length);
    run.download(first_leaf_, current);
    run.download(last_leaf_, last);
  }
  void check() override {
    const Ranges ranges = reference_ranges(records_.sorted, starts_, ends_);
    check_equal("btree: first records", first_, ranges.first);
    check_equal("btree: lengths", length_, ranges.length);
    check_equal("btree: first leaves", first_leaf_, leaves_of(records_.tree, starts_));
    check_equal("btree: last leaves", last_leaf_, leaves_of(records_.tree, ends_));
  }

 private:
  std::uint32_t range_;
  std::vector<std::int32_t> starts_, ends_;
  std::vector<std::int32_t> first_, length_;
  std::vector<std::int64_t> first_leaf_, last_leaf_;
};

class Find final : public Queries {
 public:
  using Queries::Queries;
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shape_of("findK"); }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    records_ = random_records(random, keys_, order_);
    for (std::uint32_t i = 0; i < count_; ++i)
      wanted_.push_back(random_key(random, records_, random.below(keys_)));
  }
  void start(KernelRun& run) override {
    const auto nodes = run.upload(records_.tree.nodes);
    const auto records = run.upload(records_.tree.records);
    const auto current = roots(run), next = roots(run);
    const auto wanted = run.upload(wanted_);
    const auto values = run.upload(std::vector<std::int32_t>(count_, -1));
    run.launch(static_cast<std::int64_t>(records_.tree.height), nodes, records, current, next, wanted,
               values);
    run.download(values_, values);
    run.download(leaf_, current);
  }
  void check() override {
    check_equal("btree: values", values_, reference_find(records_.sorted, wanted_));
    check_equal("btree: leaves", leaf_, leaves_of(records_.tree, wanted_));
  }

 private:
  std::vector<std::int32_t> wanted_;
  std::vector<std::int32_t> values_;
  std::vector<std::int64_t> leaf_;
};

// Registers as in Table 4.2.
const KernelApp kFind{
    .name = "awatramani17/bt-k2",
    .description = "queries of keys in a B+ tree: BT-K2 of awatramani17",
    .params = {{"keys", 1'000'000, 1, 1 << 22, "keys of the tree, with a record each"},
               {"order", 256, 16, 1024, "children of a node at most, and threads of a block"},
               {"queries", 8192, 1, 65535, "queries, a block each"}},
    .ptx_file = "benchmarks/btree/btree.ptx",
    .ptx_text = embedded::btree_ptx,
    .metadata = {.registers_per_thread = 20},
};
KernelApp find_range() {
  KernelApp app =
      kFind.with("awatramani17/bt-k1", "queries of ranges of keys in a B+ tree: BT-K1 of awatramani17", {},
                 {.registers_per_thread = 24});
  app.params.push_back({"range", 3000, 1, 1 << 22, "keys of a range, at most as many as the tree has"});
  return app;
}
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<FindRange>(find_range()) && register_kernel_app<Find>(kFind);

}  // namespace
}  // namespace gpumux::benchmarks::btree
