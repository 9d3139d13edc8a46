// kayiran14/bfs and kayiran14/sssp: host programs that compute distances in a scale-free graph.
#include "benchmarks/relaxation/relaxation.hpp"

#include <queue>
#include <utility>

#include "benchmarks/common.hpp"
#include "benchmarks/host_flags.hpp"
#include "embedded/relaxation.ptx.hpp"

namespace gpumux::benchmarks::relaxation {

std::vector<std::uint32_t> distances(const graphs::Graph& graph, std::uint32_t source, bool hops) {
  std::vector<std::uint32_t> result(graph.nodes(), kFar);
  using Reached = std::pair<std::uint32_t, std::uint32_t>;  // distance, node
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
  result[source] = 0;
  open.emplace(0, source);
  while (!open.empty()) {
    const auto [distance, node] = open.top();
    open.pop();
    if (distance > result[node]) continue;
    for (std::uint32_t at = graph.first[node]; at < graph.first[node + 1]; ++at) {
      const std::uint32_t further = distance + (hops ? 1 : graph.weights[at]);
      std::uint32_t& known = result[graph.targets[at]];
      if (further >= known) continue;
      known = further;
      open.emplace(further, graph.targets[at]);
    }
  }
  return result;
}

namespace {

constexpr const char* kFile = "benchmarks/relaxation/relaxation.ptx";
constexpr std::uint32_t kThreads = 256;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"bits", 20, 1, 20, "2^bits nodes of the scale-free graph"},
      {"degree", 8, 1, 16, "mean number of edges from a node"},
  };
  return table;
}

struct Sizes {
  std::uint32_t bits;
  std::uint32_t degree;
  [[nodiscard]] std::uint32_t nodes() const { return 1U << bits; }
};

/// The common part of both searches: the graph on the device, and the check. `Search` has the rounds.
template <typename Search>
class Distances final : public runtime::Application {
 public:
  Distances(const Sizes& sizes, std::uint64_t seed)
      : inputs_([this, sizes, seed] {
          Random random(seed);
          graph_ = graphs::rows_of(sizes.nodes(), graphs::rmat(sizes.bits, sizes.degree, random), false);
          source_ = graphs::largest_hub(graph_);
        }) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    const std::uint32_t module = host.load_module(embedded::relaxation_ptx, kFile);
    const std::uint32_t nodes = graph_.nodes();
    const auto first = upload(host, graph_.first);
    const auto targets = upload(host, graph_.targets);
    const auto weights = upload(host, graph_.weights);
    const auto distance = host.malloc<std::uint32_t>(nodes);
    const auto more = host.malloc<std::uint32_t>(1);
    host.launch(module, "relax_init", grid(nodes), distance, source_, nodes);
    Search search(host, source_, nodes);
    std::vector<std::uint32_t> left(1, 1);
    while (left[0] != 0) {
      host.fill(more.address, 0, sizeof(std::uint32_t), 0);
      search.round(module, left[0], first, targets, weights, distance, more);
      host.from_device(left, more);
      co_await host.synchronize();
      check_at_most(Search::kLeft, left[0], Search::kHops ? 1U : nodes);
    }
    std::vector<std::uint32_t> result(nodes);
    host.from_device(result, distance);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = distances(graph_, source_, Search::kHops);
      check_equal(Search::kWhat, result, expected_);
    }
    search.release();
    for (const auto array : {first, targets, weights, distance, more}) host.free(array);
  }

  [[nodiscard]] static runtime::LaunchSpec grid(std::uint32_t threads) {
    return {.grid = {blocks_for(threads, kThreads)}, .block = {kThreads}};
  }

 private:
  static runtime::DevicePtr<std::uint32_t> upload(runtime::Host& host,
                                                  const std::vector<std::uint32_t>& values) {
    const auto array = host.malloc<std::uint32_t>(values.size());
    host.to_device(array, values);
    return array;
  }

  InputsOfFirstRun inputs_;
  graphs::Graph graph_;
  std::uint32_t source_ = 0;
  std::vector<std::uint32_t> expected_;  // computed by the first verified run
};

using Words = runtime::DevicePtr<std::uint32_t>;

/// Rounds that relax the edges of all nodes, until a round changes nothing.
class ByTopology {
 public:
  static constexpr bool kHops = true;
  static constexpr const char *kWhat = "bfs: distance", *kLeft = "bfs: changed";
  static constexpr const char* kKernel = "bfs_relax";
  ByTopology(runtime::Host& host, std::uint32_t /*source*/, std::uint32_t nodes)
      : host_(host), nodes_(nodes) {}
  void round(std::uint32_t module, std::uint32_t /*left*/, Words first, Words targets, Words /*weights*/,
             Words distance, Words changed) {
    host_.launch(module, kKernel, Distances<ByTopology>::grid(nodes_), first, targets, distance, changed,
                 nodes_);
  }
  void release() {}

 private:
  runtime::Host& host_;
  std::uint32_t nodes_;
};

/// Rounds that relax the edges of the nodes that the previous round improved.
class ByWorkList {
 public:
  static constexpr bool kHops = false;
  static constexpr const char *kWhat = "sssp: distance", *kLeft = "sssp: nodes in the list";
  static constexpr const char* kKernel = "sssp_relax";
  ByWorkList(runtime::Host& host, std::uint32_t source, std::uint32_t nodes)
      : host_(host),
        queued_(host.malloc<std::uint32_t>(nodes)),
        list_(host.malloc<std::uint32_t>(nodes)),
        next_(host.malloc<std::uint32_t>(nodes)) {
    host.fill(queued_.address, 0, nodes * sizeof(std::uint32_t), 0);
    host.to_device(list_, std::vector<std::uint32_t>{source});
  }
  /// Enqueues one round. `left`: number of nodes in the list.
  void round(std::uint32_t module, std::uint32_t left, Words first, Words targets, Words weights,
             Words distance, Words next_count) {
    host_.launch(module, kKernel, Distances<ByWorkList>::grid(left), first, targets, weights, distance,
                 queued_, list_, left, next_, next_count);
    std::swap(list_, next_);
  }
  void release() {
    for (const Words array : {queued_, list_, next_}) host_.free(array);
  }

 private:
  runtime::Host& host_;
  Words queued_, list_, next_;
};

template <typename Search>
bool add(const char* name, const char* description) {
  static const char* const kName = name;
  static const auto read = [](const runtime::AppParams& values) {
    const Params params(kName, param_table(), values);
    return Sizes{params.get("bits"), params.get("degree")};
  };
  return runtime::register_app({
      .name = name,
      .description = description,
      .params = param_table(),
      .ptx_file = kFile,
      .ptx_text = embedded::relaxation_ptx,
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        const Dim3 blocks{blocks_for(read(values).nodes(), kThreads)};
        return {{Search::kKernel, blocks, {kThreads}}, {"relax_init", blocks, {kThreads}}};
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<Distances<Search>>(read(values), seed);
      },
  });
}

[[maybe_unused]] const bool registered_bfs = add<ByTopology>(
    "kayiran14/bfs", "breadth-first search of a scale-free graph by relaxing all edges (LonestarGPU BFS)");
[[maybe_unused]] const bool registered_sssp = add<ByWorkList>(
    "kayiran14/sssp", "shortest paths in a scale-free graph by a work list (LonestarGPU SSSP)");

}  // namespace
}  // namespace gpumux::benchmarks::relaxation
