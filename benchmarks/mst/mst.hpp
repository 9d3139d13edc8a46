// mst: the CPU reference. Tests call it, too.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/graphs.hpp"

namespace gpumux::benchmarks::mst {

struct Forest {
  std::vector<std::uint32_t> in_tree;    // 1 if the edge belongs to the forest
  std::vector<std::uint32_t> component;  // the smallest node of each node's tree
  std::uint64_t weight = 0;
};

/// The minimum spanning forest by Kruskal's algorithm. Of equally heavy edges, the first in the list counts
/// as lighter.
[[nodiscard]] Forest reference(std::uint32_t nodes, const std::vector<graphs::Edge>& edges);

/// Converts labels, each of them some node of the component, to the component's smallest node, as in
/// Forest::component. Throws SimulationFault if a label is not a node, or if that node has another label.
[[nodiscard]] std::vector<std::uint32_t> smallest_nodes(const std::vector<std::uint32_t>& labels);

}  // namespace gpumux::benchmarks::mst
