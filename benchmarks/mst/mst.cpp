// kayiran14/mst: host program of a minimum spanning forest of a graph like a road map.
#include "benchmarks/mst/mst.hpp"

#include <algorithm>
#include <limits>

#include "benchmarks/common.hpp"
#include "benchmarks/host_flags.hpp"
#include "embedded/mst.ptx.hpp"

namespace gpumux::benchmarks::mst {

Forest reference(std::uint32_t nodes, const std::vector<graphs::Edge>& edges) {
  std::vector<std::uint32_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return edges[a].weight < edges[b].weight; });
  Forest forest;
  forest.in_tree.resize(edges.size());
  forest.component.resize(nodes);
  std::vector<std::uint32_t>& root = forest.component;
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&](std::uint32_t node) {
    while (root[node] != node) node = root[node] = root[root[node]];
    return node;
  };
  for (const std::uint32_t edge : order) {
    const std::uint32_t a = find(edges[edge].from), b = find(edges[edge].to);
    if (a == b) continue;
    root[std::max(a, b)] = std::min(a, b);  // the root is the smallest node
    forest.in_tree[edge] = 1;
    forest.weight += edges[edge].weight;
  }
  for (std::uint32_t node = 0; node < nodes; ++node) root[node] = find(node);
  return forest;
}

std::vector<std::uint32_t> smallest_nodes(const std::vector<std::uint32_t>& labels) {
  constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> smallest(labels.size(), kUnknown), result;
  for (std::uint32_t node = 0; node < labels.size(); ++node) {
    const std::uint32_t label = labels[node];
    if (label >= labels.size() || labels[label] != label)
      throw SimulationFault(fmt::format("mst: component[{}] is {}, which is no root", node, label));
    smallest[label] = std::min(smallest[label], node);
    result.push_back(smallest[label]);
  }
  return result;
}

namespace {

constexpr const char* kName = "kayiran14/mst";
constexpr const char* kFile = "benchmarks/mst/mst.ptx";
constexpr std::uint32_t kThreads = 256;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"width", 1024, 1, 1024, "nodes of a row of the grid"},
      {"height", 1024, 1, 1024,
       "rows of the grid; one node must have a neighbour, so that width * height is not 1"},
  };
  return table;
}

struct Sizes {
  std::uint32_t width;
  std::uint32_t height;
  [[nodiscard]] std::uint32_t nodes() const { return width * height; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("width"), params.get("height")};
  params.require(sizes.nodes() > 1, "width=1 and height=1 leave no edge; one of them must be more");
  return sizes;
}

struct Ends {
  std::uint32_t from, to;
};

class Mst final : public runtime::Application {
 public:
  Mst(const Sizes& sizes, std::uint64_t seed)
      : inputs_([this, sizes, seed] {
          Random random(seed);
          // In a graph of few nodes, all edges can be missing. The loop ends when there is an edge.
          do edges_ = graphs::roads(sizes.width, sizes.height, random);
          while (edges_.empty());
          graph_ = graphs::rows_of(nodes_, edges_, true);
        }),
        nodes_(sizes.nodes()) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    const std::uint32_t module = host.load_module(embedded::mst_ptx, kFile);
    std::vector<Ends> both;
    for (const graphs::Edge& edge : edges_) both.push_back({edge.from, edge.to});
    const auto first = upload(host, graph_.first), targets = upload(host, graph_.targets);
    const auto weights = upload(host, graph_.weights), edges = upload(host, graph_.edges);
    const auto ends = upload(host, both);
    const auto component = host.malloc<std::uint32_t>(nodes_), parent = host.malloc<std::uint32_t>(nodes_);
    const auto lightest = host.malloc<std::uint64_t>(nodes_);
    const auto in_tree = host.malloc<std::uint32_t>(edges_.size());
    const auto more = host.malloc<std::uint32_t>(1);
    const auto weight = host.malloc<std::uint64_t>(1);
    host.fill(in_tree.address, 0, edges_.size() * sizeof(std::uint32_t), 0);
    host.fill(weight.address, 0, sizeof(std::uint64_t), 0);
    const runtime::LaunchSpec spec{.grid = {blocks_for(nodes_, kThreads)}, .block = {kThreads}};
    host.launch(module, "mst_init", spec, component, parent, lightest, nodes_);
    std::vector<std::uint32_t> joined(1);
    do {
      host.fill(more.address, 0, sizeof(std::uint32_t), 0);
      host.launch(module, "mst_lightest", spec, first, targets, weights, edges, component, lightest, nodes_);
      host.launch(module, "mst_join", spec, ends, component, lightest, parent, in_tree, more, weight, nodes_);
      host.launch(module, "mst_label", spec, component, parent, lightest, nodes_);
      host.from_device(joined, more);
      co_await host.synchronize();
      check_at_most("mst: more", joined[0], 1U);
    } while (joined[0] != 0);
    std::vector<std::uint32_t> labels(nodes_), chosen(edges_.size());
    std::vector<std::uint64_t> total(1);
    host.from_device(chosen, in_tree);
    host.from_device(total, weight);
    if (verify) host.from_device(labels, component);
    co_await host.synchronize();
    if (verify) {
      const Forest expected = reference(nodes_, edges_);
      check_equal("mst: in_tree", chosen, expected.in_tree);
      check_equal("mst: weight", total, {expected.weight});
      check_equal("mst: component", smallest_nodes(labels), expected.component);
    }
    for (const auto array : {first, targets, weights, edges, component, parent, in_tree, more})
      host.free(array);
    host.free(ends);
    host.free(lightest);
    host.free(weight);
  }

 private:
  template <typename T>
  static runtime::DevicePtr<T> upload(runtime::Host& host, const std::vector<T>& values) {
    const auto array = host.malloc<T>(values.size());
    host.to_device(array, values);
    return array;
  }

  InputsOfFirstRun inputs_;
  std::uint32_t nodes_;
  std::vector<graphs::Edge> edges_;
  graphs::Graph graph_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "minimum spanning forest of a graph like a road map by Boruvka's algorithm (LonestarGPU MST)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::mst_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Dim3 blocks{blocks_for(read_sizes(values).nodes(), kThreads)};
      std::vector<runtime::AppInfo::KernelShape> shapes;
      for (const char* kernel : {"mst_lightest", "mst_join", "mst_label", "mst_init"})
        shapes.push_back({kernel, blocks, {kThreads}});
      return shapes;
    },
    .create = [](const runtime::AppParams& values, std::uint64_t seed)
        -> std::unique_ptr<runtime::Application> { return std::make_unique<Mst>(read_sizes(values), seed); },
});

}  // namespace
}  // namespace gpumux::benchmarks::mst
