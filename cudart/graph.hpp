// Graphs and their nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "graphs.hpp"
#include "user_objects.hpp"

namespace gpumux::cudart {

struct Node {
  Graph* graph = nullptr;
  NodeWork of;
  std::vector<Node*> after;
  const Node* original = nullptr;  // the node of which this one is a copy
  std::vector<void*> pointers;     // pointers to arguments, for programs that query them
};

/// A word of device memory that kernels write, and its value at the start of each launch, if it is assigned.
struct ConditionWord {
  std::uint64_t handle = 0;
  std::uint32_t first = 0;
  bool assigned = false;
};

struct Graph {
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Node* add(NodeWork of, std::vector<Node*> after);
  void remove(Node* node);
  [[nodiscard]] bool has(const void* node) const;
  /// A copy with all child graphs. nullptr for a graph with memory nodes, which cannot be copied.
  [[nodiscard]] std::shared_ptr<Graph> clone() const;
  /// `nodes` and all nodes on which they depend.
  [[nodiscard]] static std::set<const Node*> with_ancestors(const std::vector<Node*>& nodes);
  /// True if the graph or one of its child graphs has memory nodes.
  [[nodiscard]] bool has_memory_nodes() const;

  std::uint64_t number;                      // shown in texts
  std::vector<std::unique_ptr<Node>> nodes;  // in the order of their creation
  std::vector<ConditionWord> words;
  UserObjects objects;
  std::shared_ptr<Graph> self;  // set while the program owns the graph, and no other graph
};

/// The graph or node of a handle, or nullptr. Callers of this and all following functions must hold the
/// session's lock.
[[nodiscard]] Graph* graph_of(void* handle);
[[nodiscard]] Node* node_of(void* handle);
/// Creates a graph that the program owns.
[[nodiscard]] Graph* make_graph();

/// Adds a node. `made` receives its handle.
Error add_node(void** made, void* graph, void* const* after, std::size_t count, NodeWork of);
/// Adds an allocation node after these nodes. Reuses addresses that preceding nodes have freed.
Error add_allocation(Graph& graph, std::vector<Node*> after, AllocationNode& of, Node** made);
Error add_free(Graph& graph, std::vector<Node*> after, void* pointer, Node** made);

// Descriptions of nodes from the arguments of calls. Arguments of kernels are copied immediately.
Error describe_kernel(const KernelNode* of, NodeWork& out);
Error describe_copy(const Copy3D* of, NodeWork& out);
Error describe_copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, NodeWork& out);
Error describe_symbol_copy(bool to_symbol, const void* symbol, void* memory, std::size_t bytes,
                           std::size_t offset, MemcpyKind kind, NodeWork& out);
Error describe_fill(const MemsetNode* of, NodeWork& out);
Error describe_host_call(const HostNode* of, NodeWork& out);
Error describe_event(NodeType type, EventHandle event, NodeWork& out);
Error describe_child(void* graph, NodeWork& out);
/// Describes a node by cudaGraphNodeParams, except for memory and conditional nodes.
Error describe(const GraphNodeParams* of, NodeWork& out);

}  // namespace gpumux::cudart
