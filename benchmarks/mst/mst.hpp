// mst: the CPU reference, apart from the host program so that tests can call it.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/graphs.hpp"

namespace gpumux::benchmarks::mst {

struct Forest {
  std::vector<std::uint32_t> in_tree;    // 1: the edge belongs to the forest
  std::vector<std::uint32_t> component;  // the smallest node of each node's tree
  std::uint64_t weight = 0;
};

/// The minimum spanning forest by Kruskal's algorithm; of equally heavy edges the first one in the list is
/// the lighter.
[[nodiscard]] Forest reference(std::uint32_t nodes, const std::vector<graphs::Edge>& edges);

/// `labels`, one of a component's nodes each, as Forest::component has them. Throws SimulationFault where a
/// label is no node, or is not its own.
[[nodiscard]] std::vector<std::uint32_t> smallest_nodes(const std::vector<std::uint32_t>& labels);

}  // namespace gpumux::benchmarks::mst
