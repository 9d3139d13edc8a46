// dai18/bs: one level of the search, over and over: the first kernel of bfs on the frontier of that level.
// The host works the search out up to the level.
#include "benchmarks/bfs/bfs.hpp"
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "embedded/bfs.ptx.hpp"

namespace gpumux::benchmarks::bfs {
namespace {

constexpr const char* kName = "dai18/bs";
constexpr const char* kFile = "benchmarks/bfs/bfs.ptx";
constexpr const char* kKernel = "bfs_expand";
constexpr std::uint32_t kThreads = 512;  // as Rodinia
constexpr std::uint32_t kSource = 0;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nodes", 1048576, 1, 4194304, "nodes of the random graph; nodes * degree at most 32 million"},
      {"degree", 6, 1, 64, "mean number of edges from a node"},
      {"level", 0, 0, 1000,
       "distance of the frontier from the source; nothing is left to do beyond the last"},
      {"repeats", 32, 1, 1000, "launches for the same level, the frontier being restored before each"}};
  return table;
}

struct Sizes {
  std::uint32_t nodes;
  std::uint32_t degree;
  std::int32_t level;
  std::uint32_t repeats;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(nodes, kThreads)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("nodes"), params.get("degree"), static_cast<std::int32_t>(params.get("level")),
                    params.get("repeats")};
  params.require(std::uint64_t{sizes.nodes} * sizes.degree <= 32'000'000,
                 fmt::format("nodes={} times degree={} must be at most 32000000", sizes.nodes, sizes.degree));
  return sizes;
}

class Level final : public runtime::Application {
 public:
  Level(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (graph_.nodes.empty()) search();
    const std::uint32_t module = host.load_module(embedded::bfs_ptx, kFile);
    const std::size_t count = graph_.nodes.size();
    const auto nodes = host.malloc<Node>(count);
    const auto edges = host.malloc<std::int32_t>(graph_.edges.size());
    const auto frontier = host.malloc<std::uint8_t>(count);
    const auto frontier_before = host.malloc<std::uint8_t>(count);
    const auto reached = host.malloc<std::uint8_t>(count);
    const auto visited = host.malloc<std::uint8_t>(count);
    const auto level = host.malloc<std::int32_t>(count);
    host.to_device(nodes, graph_.nodes);
    host.to_device(edges, graph_.edges);
    host.to_device(frontier_before, frontier_);
    host.fill(reached.address, 0, count, 0);
    host.to_device(visited, visited_);
    host.to_device(level, level_before_);
    for (std::uint32_t i = 0; i < sizes_.repeats; ++i) {
      host.copy_on_device(frontier.address, frontier_before.address, count, 0);
      host.launch(module, kKernel, {.grid = sizes_.grid(), .block = {kThreads}}, nodes, edges, frontier,
                  reached, visited, level, static_cast<std::int32_t>(sizes_.nodes));
    }
    std::vector<std::int32_t> levels(count);
    std::vector<std::uint8_t> now_reached(count);
    std::vector<std::uint8_t> left(count);
    host.from_device(levels, level);
    host.from_device(now_reached, reached);
    host.from_device(left, frontier);
    co_await host.synchronize();
    if (verify) {
      check_equal("bfs: level", levels, level_after_);
      check_equal("bfs: reached", now_reached, reached_);
      check_equal("bfs: frontier", left, std::vector<std::uint8_t>(count));
    }
    host.free(nodes);
    host.free(edges);
    host.free(frontier);
    host.free(frontier_before);
    host.free(reached);
    host.free(visited);
    host.free(level);
  }

 private:
  /// The state before and after the level.
  void search() {
    graph_ = random_graph(sizes_.nodes, sizes_.degree, seed_);
    const std::size_t count = graph_.nodes.size();
    const std::vector<std::int32_t> levels = reference(graph_, kSource);
    level_before_.assign(count, -1);
    level_after_.assign(count, -1);
    frontier_.resize(count);
    visited_.resize(count);
    reached_.resize(count);
    for (std::size_t node = 0; node < count; ++node) {
      if (levels[node] < 0) continue;
      frontier_[node] = levels[node] == sizes_.level ? 1 : 0;
      visited_[node] = levels[node] <= sizes_.level ? 1 : 0;
      reached_[node] = levels[node] == sizes_.level + 1 ? 1 : 0;
      if (visited_[node] != 0) level_before_[node] = levels[node];
      if (levels[node] <= sizes_.level + 1) level_after_[node] = levels[node];
    }
  }

  Sizes sizes_;
  std::uint64_t seed_;
  Graph graph_;  // this and the rest made by the first run
  std::vector<std::uint8_t> frontier_;
  std::vector<std::uint8_t> visited_;
  std::vector<std::uint8_t> reached_;
  std::vector<std::int32_t> level_before_;
  std::vector<std::int32_t> level_after_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "a level of a breadth-first search as in Table 2 of dai18",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::bfs_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), {kThreads}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Level>(read_sizes(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::bfs
