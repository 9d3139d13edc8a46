// Random graphs for the applications that search graphs: scale-free graphs, and graphs like road maps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::graphs {

/// A weighted edge.
struct Edge {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t weight;
};

/// A graph in compressed rows. The edges that leave node i are elements first[i] to first[i + 1] - 1 of the
/// other arrays.
struct Graph {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> edges;  // index of each edge in the list from which the graph was made
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(first.size() - 1); }
};

/// Makes a graph from a list of edges. Each edge leaves its first end; with `both_ways`, also its second end.
[[nodiscard]] inline Graph rows_of(std::uint32_t nodes, const std::vector<Edge>& edges, bool both_ways) {
  Graph graph;
  graph.first.assign(nodes + std::size_t{1}, 0);
  for (const Edge& edge : edges) {
    ++graph.first[edge.from + 1];
    if (both_ways) ++graph.first[edge.to + 1];
  }
  std::partial_sum(graph.first.begin(), graph.first.end(), graph.first.begin());
  graph.targets.resize(graph.first.back());
  graph.weights.resize(graph.first.back());
  graph.edges.resize(graph.first.back());
  std::vector<std::uint32_t> next(graph.first.begin(), graph.first.end() - 1);
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const auto put = [&](std::uint32_t from, std::uint32_t to) {
      const std::uint32_t at = next[from]++;
      graph.targets[at] = to;
      graph.weights[at] = edges[e].weight;
      graph.edges[at] = e;
    };
    put(edges[e].from, edges[e].to);
    if (both_ways) put(edges[e].to, edges[e].from);
  }
  return graph;
}

/// A scale-free graph: 2^bits nodes and `degree` times as many edges, with weights 1 to 100. Made by the
/// recursive matrix (R-MAT) of Chakrabarti, Zhan and Faloutsos (SDM 2004) with a, b, c, d = 0.45, 0.15, 0.15,
/// 0.25. The nodes are then numbered randomly. Loops and repeated edges occur.
[[nodiscard]] inline std::vector<Edge> rmat(std::uint32_t bits, std::uint32_t degree, Random& random) {
  const std::uint32_t nodes = 1U << bits;
  std::vector<std::uint32_t> number(nodes);
  std::iota(number.begin(), number.end(), 0U);
  for (std::uint32_t i = nodes - 1; i > 0; --i) std::swap(number[i], number[random.below(i + 1)]);
  std::vector<Edge> edges(std::size_t{nodes} * degree);
  for (Edge& edge : edges) {
    std::uint32_t from = 0, to = 0;
    for (std::uint32_t bit = 0; bit < bits; ++bit) {
      const std::uint32_t quarter = random.below(100);
      from = 2 * from + (quarter >= 60 ? 1 : 0);
      to = 2 * to + ((quarter >= 45 && quarter < 60) || quarter >= 75 ? 1 : 0);
    }
    edge = {number[from], number[to], 1 + random.below(100)};
  }
  return edges;
}

/// A graph like a road map: a grid in which one of eight edges is missing, with weights 1 to 1000.
[[nodiscard]] inline std::vector<Edge> roads(std::uint32_t width, std::uint32_t height, Random& random) {
  std::vector<Edge> edges;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t node = y * width + x;
      if (x + 1 < width && random.below(8) != 0) edges.push_back({node, node + 1, 1 + random.below(1000)});
      if (y + 1 < height && random.below(8) != 0)
        edges.push_back({node, node + width, 1 + random.below(1000)});
    }
  }
  return edges;
}

/// The node with the most edges. Of several such nodes, the first.
[[nodiscard]] inline std::uint32_t largest_hub(const Graph& graph) {
  std::uint32_t hub = 0;
  const auto degree = [&](std::uint32_t node) { return graph.first[node + 1] - graph.first[node]; };
  for (std::uint32_t node = 1; node < graph.nodes(); ++node)
    if (degree(node) > degree(hub)) hub = node;
  return hub;
}

}  // namespace gpumux::benchmarks::graphs
