// relaxation: the CPU reference, apart from the host programs so that tests can call it.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/graphs.hpp"

namespace gpumux::benchmarks::relaxation {

inline constexpr std::uint32_t kFar = ~std::uint32_t{0};  // no way leads there: kFar of relaxation.cu

/// Of the shortest ways from `source`, with the graph's weights or (`hops`) counting edges, by Dijkstra's
/// algorithm.
[[nodiscard]] std::vector<std::uint32_t> distances(const graphs::Graph& graph, std::uint32_t source,
                                                   bool hops);

}  // namespace gpumux::benchmarks::relaxation
