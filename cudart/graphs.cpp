// Graphs: their nodes and dependencies.
#include <algorithm>

#include "graph.hpp"
#include "graph_memory.hpp"
#include "versioned.hpp"

namespace gpumux::cudart {
namespace {

struct Registry {
  std::set<Graph*> graphs;
  std::set<Node*> nodes;
  std::uint64_t made = 0;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

/// Returns several handles as CUDA's calls do: the number of all if `out` is null. Otherwise as many handles
/// as there is room for, filled up with null.
template <class Each>
Error give(
    const std::vector<Each>& all, std::size_t* count, void** out,
    void* (*handle)(const Each&) = [](const Each& each) -> void* { return each; }) {
  if (count == nullptr) return returned(Error::InvalidValue);
  if (out != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? handle(all[i]) : nullptr;
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
  return Error::Success;
}

struct Edge {
  Node* from;
  Node* to;
};
std::vector<Edge> edges(const Graph& graph) {
  std::vector<Edge> all;
  for (const auto& node : graph.nodes)
    for (Node* const before : node->after) all.push_back({before, node.get()});
  return all;
}

/// A copy of a content with its own copies of the graphs within it.
NodeWork copy_of(const NodeWork& of) {
  NodeWork copy = of;
  if (auto* const child = std::get_if<ChildContent>(&copy.content)) child->graph = child->graph->clone();
  if (auto* const condition = std::get_if<ConditionContent>(&copy.content)) {
    for (std::size_t i = 0; i < condition->bodies.size(); ++i) {
      condition->bodies[i] = condition->bodies[i]->clone();
      condition->handles[i] = condition->bodies[i].get();
    }
  }
  return copy;
}

/// Calls `each` for each dependency. Both ends must be nodes of the graph.
template <class Each>
Error for_dependencies(void* handle, void* const* from, void* const* to, std::size_t count, Each each) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr)))
    return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (!graph->has(from[i]) || !graph->has(to[i])) return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const Error error = each(static_cast<Node*>(from[i]), static_cast<Node*>(to[i]));
    if (error != Error::Success) return returned(error);
  }
  return Error::Success;
}

}  // namespace

Graph::Graph() : number(++registry().made) { registry().graphs.insert(this); }
Graph::~Graph() {
  registry().graphs.erase(this);
  for (const auto& node : nodes) registry().nodes.erase(node.get());
}

Node* Graph::add(NodeWork of, std::vector<Node*> after) {
  nodes.push_back(std::make_unique<Node>());
  Node* const node = nodes.back().get();
  node->graph = this;
  node->of = std::move(of);
  node->after = std::move(after);
  registry().nodes.insert(node);
  return node;
}

void Graph::remove(Node* node) {
  for (const auto& other : nodes) std::erase(other->after, node);
  registry().nodes.erase(node);
  std::erase_if(nodes, [&](const auto& each) { return each.get() == node; });
}

bool Graph::has(const void* node) const {
  return std::ranges::any_of(nodes, [&](const auto& each) { return each.get() == node; });
}

std::shared_ptr<Graph> Graph::clone() const {
  auto made = std::make_shared<Graph>();
  std::map<const Node*, Node*> copies;
  for (const auto& node : nodes) {
    Node* const copy = made->add(copy_of(node->of), {});
    copy->original = node.get();
    copies[node.get()] = copy;
  }
  for (const auto& node : nodes)
    for (Node* const before : node->after) copies[node.get()]->after.push_back(copies[before]);
  made->words = words;
  return made;
}

std::set<const Node*> Graph::with_ancestors(const std::vector<Node*>& nodes) {
  std::set<const Node*> all;
  std::vector<const Node*> next(nodes.begin(), nodes.end());
  while (!next.empty()) {
    const Node* const node = next.back();
    next.pop_back();
    if (all.insert(node).second) next.insert(next.end(), node->after.begin(), node->after.end());
  }
  return all;
}

bool Graph::has_memory_nodes() const {
  return std::ranges::any_of(nodes, [](const auto& node) {
    return node->of.type == NodeType::MemAlloc || node->of.type == NodeType::MemFree;
  });
}

Graph* graph_of(void* handle) {
  auto* const graph = static_cast<Graph*>(handle);
  return registry().graphs.contains(graph) ? graph : nullptr;
}
Node* node_of(void* handle) {
  auto* const node = static_cast<Node*>(handle);
  return registry().nodes.contains(node) ? node : nullptr;
}
Graph* make_graph() {
  const auto graph = std::make_shared<Graph>();
  graph->self = graph;
  return graph.get();
}

GPUMUX_CUDART_API Error cudaGraphCreate(void** made, unsigned flags) {
  const std::scoped_lock lock(Session::get().lock());
  if (made == nullptr || flags != 0) return returned(Error::InvalidValue);
  *made = make_graph();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphDestroy(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  if (graph == nullptr || graph->self == nullptr) return returned(Error::InvalidValue);
  const std::shared_ptr<Graph> last = std::move(graph->self);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphClone(void** made, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr) return returned(Error::InvalidValue);
  if (graph->has_memory_nodes()) return returned(Error::NotSupported);  // not supported by CUDA either
  const std::shared_ptr<Graph> clone = graph->clone();
  clone->self = clone;
  *made = clone.get();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphNodeFindInClone(void** found, void* original, void* clone) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(clone);
  if (graph == nullptr || found == nullptr) return returned(Error::InvalidValue);
  const auto copy =
      std::ranges::find_if(graph->nodes, [&](const auto& node) { return node->original == original; });
  if (copy == graph->nodes.end()) return returned(Error::InvalidValue);
  *found = copy->get();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphGetNodes(void* handle, void** nodes, std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return returned(Error::InvalidValue);
  std::vector<Node*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return give(all, count, nodes);
}
GPUMUX_CUDART_API Error cudaGraphGetRootNodes(void* handle, void** nodes, std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return returned(Error::InvalidValue);
  std::vector<Node*> roots;
  for (const auto& node : graph->nodes)
    if (node->after.empty()) roots.push_back(node.get());
  return give(roots, count, nodes);
}
GPUMUX_CUDART_API Error cudaGraphNodeGetType(void* handle, int* type) {
  const std::scoped_lock lock(Session::get().lock());
  const Node* const node = node_of(handle);
  if (node == nullptr || type == nullptr) return returned(Error::InvalidValue);
  *type = static_cast<int>(node->of.type);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphDestroyNode(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Node* const node = node_of(handle);
  if (node == nullptr) return returned(Error::InvalidValue);
  const bool of_memory = node->of.type == NodeType::MemAlloc || node->of.type == NodeType::MemFree;
  if (of_memory) return returned(Error::NotSupported);  // not supported by CUDA either
  node->graph->remove(node);
  return Error::Success;
}

GPUMUX_CUDART_API Error gpumux_graph_get_edges(void* handle, void** from, void** to, std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || (from == nullptr) != (to == nullptr)) return returned(Error::InvalidValue);
  const std::vector<Edge> all = edges(*graph);
  std::size_t of_ends = count == nullptr ? 0 : *count;
  const Error error = give<Edge>(all, count, from, [](const Edge& edge) -> void* { return edge.from; });
  if (error != Error::Success || to == nullptr) return error;
  return give<Edge>(all, &of_ends, to, [](const Edge& edge) -> void* { return edge.to; });
}
GPUMUX_CUDART_API Error gpumux_graph_node_get_dependencies(void* handle, void** nodes, std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Node* const node = node_of(handle);
  return node == nullptr ? returned(Error::InvalidValue) : give(node->after, count, nodes);
}
GPUMUX_CUDART_API Error gpumux_graph_node_get_dependent_nodes(void* handle, void** nodes,
                                                              std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Node* const node = node_of(handle);
  if (node == nullptr) return returned(Error::InvalidValue);
  std::vector<Node*> behind;
  for (const Edge& edge : edges(*node->graph))
    if (edge.from == node) behind.push_back(edge.to);
  return give(behind, count, nodes);
}
GPUMUX_CUDART_API Error gpumux_graph_add_dependencies(void* handle, void* const* from, void* const* to,
                                                      std::size_t count) {
  return for_dependencies(handle, from, to, count, [](Node* before, Node* after) {
    if (before == after || std::ranges::find(after->after, before) != after->after.end())
      return Error::InvalidValue;
    after->after.push_back(before);
    return Error::Success;
  });
}
GPUMUX_CUDART_API Error gpumux_graph_remove_dependencies(void* handle, void* const* from, void* const* to,
                                                         std::size_t count) {
  return for_dependencies(handle, from, to, count, [](Node* before, Node* after) {
    return std::erase(after->after, before) == 1 ? Error::Success : Error::InvalidValue;
  });
}

}  // namespace gpumux::cudart
