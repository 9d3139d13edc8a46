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
  const Node* original = nullptr;  // what it is a copy of
  std::vector<void*> pointers;     // to arguments, for who asks for them
};

/// A word that kernels write, and the value that it gets at each launch, if it gets one.
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
  /// With all that is in it. nullptr: it has memory nodes, of which there can be one each.
  [[nodiscard]] std::shared_ptr<Graph> clone() const;
  /// `nodes` and all that they come after.
  [[nodiscard]] static std::set<const Node*> with_ancestors(const std::vector<Node*>& nodes);
  /// It, or a graph within it, has nodes of memory.
  [[nodiscard]] bool has_memory_nodes() const;

  std::uint64_t number;                      // for texts
  std::vector<std::unique_ptr<Node>> nodes;  // in the order in which they were added
  std::vector<ConditionWord> words;
  UserObjects objects;
  std::shared_ptr<Graph> self;  // while the program has it by itself, and not as a part of another
};

/// nullptr for handles that are none. For callers that hold the session's lock, as all that follow.
[[nodiscard]] Graph* graph_of(void* handle);
[[nodiscard]] Node* node_of(void* handle);
/// A graph of the program's own.
[[nodiscard]] Graph* make_graph();

/// A node of a graph by calls; `made` takes its handle.
Error add_node(void** made, void* graph, void* const* after, std::size_t count, NodeWork of);
/// An allocation of so many bytes behind these nodes: reuses addresses that those before it have freed.
Error add_allocation(Graph& graph, std::vector<Node*> after, AllocationNode& of, Node** made);
Error add_free(Graph& graph, std::vector<Node*> after, void* pointer, Node** made);

// What calls describe. Arguments of kernels are taken now.
Error describe_kernel(const KernelNode* of, NodeWork& out);
Error describe_copy(const Copy3D* of, NodeWork& out);
Error describe_copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, NodeWork& out);
Error describe_symbol_copy(bool to_symbol, const void* symbol, void* memory, std::size_t bytes,
                           std::size_t offset, MemcpyKind kind, NodeWork& out);
Error describe_fill(const MemsetNode* of, NodeWork& out);
Error describe_host_call(const HostNode* of, NodeWork& out);
Error describe_event(NodeType type, EventHandle event, NodeWork& out);
Error describe_child(void* graph, NodeWork& out);
/// Of cudaGraphNodeParams, whose type is none of memory and conditions.
Error describe(const GraphNodeParams* of, NodeWork& out);

}  // namespace gpumux::cudart
