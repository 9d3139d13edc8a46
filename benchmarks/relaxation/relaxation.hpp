// relaxation: the CPU reference. Tests call it, too.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/graphs.hpp"

namespace gpumux::benchmarks::relaxation {

inline constexpr std::uint32_t kFar = ~std::uint32_t{0};  // unreachable; kFar of relaxation.cu

/// Lengths of the shortest paths from `source`, by Dijkstra's algorithm. With `hops`, the number of edges
/// counts instead of their weights.
[[nodiscard]] std::vector<std::uint32_t> distances(const graphs::Graph& graph, std::uint32_t source,
                                                   bool hops);

}  // namespace gpumux::benchmarks::relaxation
