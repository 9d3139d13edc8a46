// bfs: the graph and the CPU reference. Tests call them, too.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::bfs {

/// A node and its edges, edges[first_edge] to edges[first_edge + edges - 1]. Layout of Node in bfs.cu.
struct Node {
  std::int32_t first_edge;
  std::int32_t edges;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<std::int32_t> edges;  // node at the other end of each edge
};

/// A random graph. Each node has 1 to 2 * degree - 1 edges to random nodes; loops and repeated edges can
/// occur.
[[nodiscard]] Graph random_graph(std::uint32_t nodes, std::uint32_t degree, std::uint64_t seed);

/// Number of edges on the shortest path from `source` to each node; -1 for a node that cannot be reached.
[[nodiscard]] std::vector<std::int32_t> reference(const Graph& graph, std::uint32_t source);

}  // namespace gpumux::benchmarks::bfs
