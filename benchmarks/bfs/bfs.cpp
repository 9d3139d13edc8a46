#include "benchmarks/bfs/bfs.hpp"

#include "benchmarks/common.hpp"
#include "embedded/bfs.ptx.hpp"

namespace gpumux::benchmarks::bfs {

Graph random_graph(std::uint32_t nodes, std::uint32_t degree, std::uint64_t seed) {
  Random random(seed);
  Graph graph;
  graph.nodes.reserve(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const std::uint32_t edges = 1 + random.below(2 * degree - 1);
    graph.nodes.push_back({static_cast<std::int32_t>(graph.edges.size()), static_cast<std::int32_t>(edges)});
    for (std::uint32_t edge = 0; edge < edges; ++edge) {
      graph.edges.push_back(static_cast<std::int32_t>(random.below(nodes)));
    }
  }
  return graph;
}

std::vector<std::int32_t> reference(const Graph& graph, std::uint32_t source) {
  std::vector<std::int32_t> level(graph.nodes.size(), -1);
  std::vector<std::uint32_t> queue{source};
  level[source] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const Node& node = graph.nodes[queue[at]];
    for (std::int32_t edge = node.first_edge; edge < node.first_edge + node.edges; ++edge) {
      const auto neighbour = static_cast<std::uint32_t>(graph.edges[static_cast<std::size_t>(edge)]);
      if (level[neighbour] >= 0) continue;
      level[neighbour] = level[queue[at]] + 1;
      queue.push_back(neighbour);
    }
  }
  return level;
}

namespace {

constexpr const char* kName = "bfs";
constexpr const char* kFile = "benchmarks/bfs/bfs.ptx";
constexpr std::uint32_t kThreads = 512;  // as in Rodinia's program

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nodes", 131072, 1, 4194304, "nodes of the random graph; nodes * degree at most 32 million"},
      {"degree", 6, 1, 64, "mean number of edges from a node"},
  };
  return table;
}

struct Sizes {
  std::uint32_t nodes;
  std::uint32_t degree;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(nodes, kThreads)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("nodes"), params.get("degree")};
  params.require(std::uint64_t{sizes.nodes} * sizes.degree <= 32'000'000,
                 fmt::format("nodes={} times degree={} must be at most 32000000", sizes.nodes, sizes.degree));
  return sizes;
}

class Bfs final : public runtime::Application {
 public:
  Bfs(const Sizes& sizes, std::uint64_t seed)
      : sizes_(sizes), graph_(random_graph(sizes.nodes, sizes.degree, seed)) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::bfs_ptx, kFile);
    const std::size_t count = graph_.nodes.size();
    const auto nodes = host.malloc<Node>(count);
    const auto edges = host.malloc<std::int32_t>(graph_.edges.size());
    const auto frontier = host.malloc<std::uint8_t>(count);
    const auto reached = host.malloc<std::uint8_t>(count);
    const auto visited = host.malloc<std::uint8_t>(count);
    const auto level = host.malloc<std::int32_t>(count);
    const auto more = host.malloc<std::uint8_t>(1);
    std::vector<std::uint8_t> only_source(count, 0);
    only_source[kSource] = 1;
    std::vector<std::int32_t> levels(count, -1);
    levels[kSource] = 0;
    host.to_device(nodes, graph_.nodes);
    host.to_device(edges, graph_.edges);
    host.to_device(frontier, only_source);
    host.fill(reached.address, 0, count, 0);
    host.to_device(visited, only_source);
    host.to_device(level, levels);

    const runtime::LaunchSpec spec{.grid = sizes_.grid(), .block = {kThreads}};
    const auto node_count = static_cast<std::int32_t>(sizes_.nodes);
    std::vector<std::uint8_t> found(1);
    do {
      host.fill(more.address, 0, 1, 0);
      host.launch(module, "bfs_expand", spec, nodes, edges, frontier, reached, visited, level, node_count);
      host.launch(module, "bfs_update", spec, frontier, reached, visited, more, node_count);
      host.from_device(found, more);
      co_await host.synchronize();
    } while (found[0] != 0);

    host.from_device(levels, level);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = reference(graph_, kSource);
      check_equal("bfs: level", levels, expected_);
    }
    host.free(nodes);
    host.free(edges);
    host.free(frontier);
    host.free(reached);
    host.free(visited);
    host.free(level);
    host.free(more);
  }

 private:
  static constexpr std::uint32_t kSource = 0;
  Sizes sizes_;
  Graph graph_;
  std::vector<std::int32_t> expected_;  // computed by the first verified run
};

const bool registered = runtime::register_app({
    .name = kName,
    .description = "breadth-first search by levels over a random graph (Rodinia BFS)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::bfs_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Dim3 blocks = read_sizes(values).grid();
      return {{"bfs_expand", blocks, {kThreads}}, {"bfs_update", blocks, {kThreads}}};
    },
    .create = [](const runtime::AppParams& values, std::uint64_t seed)
        -> std::unique_ptr<runtime::Application> { return std::make_unique<Bfs>(read_sizes(values), seed); },
});

}  // namespace
}  // namespace gpumux::benchmarks::bfs
