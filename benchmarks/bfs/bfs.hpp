// bfs: the graph and the CPU reference, apart from the host program so that tests can call them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::bfs {

/// A node's edges are edges[first_edge] to edges[first_edge + edges - 1]. Laid out as Node in bfs.cu.
struct Node {
  std::int32_t first_edge;
  std::int32_t edges;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<std::int32_t> edges;  // the node at the other end
};

/// Every node gets 1 to 2 * degree - 1 edges to nodes drawn at random (loops and repeats may occur).
[[nodiscard]] Graph random_graph(std::uint32_t nodes, std::uint32_t degree, std::uint64_t seed);

/// Edges on the shortest way from `source` to each node; -1 where there is none.
[[nodiscard]] std::vector<std::int32_t> reference(const Graph& graph, std::uint32_t source);

}  // namespace gpumux::benchmarks::bfs
