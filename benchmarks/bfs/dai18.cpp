// dai18/bs: one level of the search, repeated: the first kernel of bfs on the frontier of that level. The
// host computes the search up to the level.
#include "benchmarks/bfs/bfs.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/bfs.ptx.hpp"

namespace gpumux::benchmarks::bfs {
namespace {

constexpr std::uint32_t kLevelThreads = 512;  // as in Rodinia's program
constexpr std::uint32_t kSource = 0;

class Level final : public KernelProgram {
 public:
  explicit Level(const Params& params)
      : nodes_(params.get("nodes")),
        degree_(params.get("degree")),
        level_(static_cast<std::int32_t>(params.get("level"))),
        repeats_(params.get("repeats")) {
    params.require(std::uint64_t{nodes_} * degree_ <= 32'000'000,
                   fmt::format("nodes={} times degree={} must be at most 32000000", nodes_, degree_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"bfs_expand", {blocks_for(nodes_, kLevelThreads)}, {kLevelThreads}};
  }
  /// Makes the graph, and the state of the search before and after the level.
  void make_inputs(std::uint64_t seed) override {
    graph_ = random_graph(nodes_, degree_, seed);
    const std::size_t count = graph_.nodes.size();
    const std::vector<std::int32_t> levels = reference(graph_, kSource);
    level_before_.assign(count, -1);
    level_after_.assign(count, -1);
    frontier_.resize(count);
    visited_.resize(count);
    reached_.resize(count);
    for (std::size_t node = 0; node < count; ++node) {
      if (levels[node] < 0) continue;
      frontier_[node] = levels[node] == level_ ? 1 : 0;
      visited_[node] = levels[node] <= level_ ? 1 : 0;
      reached_[node] = levels[node] == level_ + 1 ? 1 : 0;
      if (visited_[node] != 0) level_before_[node] = levels[node];
      if (levels[node] <= level_ + 1) level_after_[node] = levels[node];
    }
  }
  void start(KernelRun& run) override {
    const std::size_t count = graph_.nodes.size();
    const auto nodes = run.upload(graph_.nodes);
    const auto edges = run.upload(graph_.edges);
    const auto frontier = run.allocate<std::uint8_t>(count);
    const auto frontier_before = run.upload(frontier_);
    const auto reached = run.zeros<std::uint8_t>(count);
    const auto visited = run.upload(visited_);
    const auto level = run.upload(level_before_);
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      run.copy(frontier, frontier_before);
      run.launch(nodes, edges, frontier, reached, visited, level, nodes_);
    }
    run.download(levels_now_, level);
    run.download(reached_now_, reached);
    run.download(frontier_now_, frontier);
  }
  void check() override {
    check_equal("bfs: level", levels_now_, level_after_);
    check_equal("bfs: reached", reached_now_, reached_);
    check_equal("bfs: frontier", frontier_now_, std::vector<std::uint8_t>(frontier_now_.size()));
  }

 private:
  std::uint32_t nodes_;
  std::uint32_t degree_;
  std::int32_t level_;
  std::uint32_t repeats_;
  Graph graph_;
  std::vector<std::uint8_t> frontier_;
  std::vector<std::uint8_t> visited_;
  std::vector<std::uint8_t> reached_;
  std::vector<std::int32_t> level_before_;
  std::vector<std::int32_t> level_after_;
  std::vector<std::int32_t> levels_now_;  // levels after the run
  std::vector<std::uint8_t> reached_now_;
  std::vector<std::uint8_t> frontier_now_;
};

[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Level>({
    .name = "dai18/bs",
    .description = "a level of a breadth-first search as in Table 2 of dai18",
    .params = {{"nodes", 1048576, 1, 4194304, "nodes of the random graph; nodes * degree at most 32 million"},
               {"degree", 6, 1, 64, "mean number of edges from a node"},
               {"level", 0, 0, 1000,
                "distance of the frontier from the source; nothing is left to do beyond the last"},
               {"repeats", 32, 1, 1000,
                "launches for the same level, the frontier being restored before each"}},
    .ptx_file = "benchmarks/bfs/bfs.ptx",
    .ptx_text = embedded::bfs_ptx,
    .metadata = {.registers_per_thread = 16},
});

}  // namespace
}  // namespace gpumux::benchmarks::bfs
