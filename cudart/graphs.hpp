// Graphs: work of captured streams, and of calls that add nodes, which is performed at each launch. This
// header is the interface for the rest of the library. graph.hpp has the graphs themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Enqueues a node's work in the stream with this number.
using Work = std::function<Error(std::uint32_t stream)>;

/// cudaGraphNodeType.
enum class NodeType : int {
  Kernel,
  Memcpy,
  Memset,
  Host,
  Graph,
  Empty,
  EventWait,
  EventRecord,
  MemAlloc = 10,
  MemFree,
  Conditional = 13
};

struct Graph;
struct GraphRange;

/// A kernel launch. Its arguments were copied when the node was described.
struct KernelContent {
  KernelNode node{};                  // without arguments
  program::LaunchArguments launch{};  // without stream
  std::uint32_t priority = 0;         // result of priority_number()
  std::vector<program::KernelParameter> layout;
  std::string arguments;
};
struct AllocationContent {
  AllocationNode node{};
  std::shared_ptr<GraphRange> range;
};
struct FreeContent {
  void* pointer = nullptr;
};
struct ChildContent {
  std::shared_ptr<Graph> graph;
};
struct EventContent {
  EventHandle event = nullptr;
};
struct ConditionContent {
  std::uint64_t handle = 0;  // address of its word
  program::ConditionKind kind = program::ConditionKind::If;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<void*> handles;  // handles of the bodies' graphs for the program
};
/// The content of a node that programs can query. monostate: nothing to query.
using Content = std::variant<std::monostate, KernelContent, Copy3D, MemsetNode, HostNode, AllocationContent,
                             FreeContent, ChildContent, EventContent, ConditionContent>;

struct NodeWork {
  NodeType type = NodeType::Empty;
  Content content;
  Work work;  // empty: the content defines the work, or there is none
};

/// If the stream is under capture, adds `of` as a node to the captured graph and returns true. Otherwise does
/// nothing.
bool captured(std::uint32_t stream, const NodeWork& of);
/// captured() for events: recording an event, and waiting for one, only define dependencies in the captured
/// graph.
bool captured_record(std::uint32_t stream, EventHandle event);
bool captured_wait(std::uint32_t stream, EventHandle event);
/// captured() for allocations and frees in stream order. `error`: result of the call.
bool captured_allocation(std::uint32_t stream, std::size_t bytes, void** pointer, Error& error);
bool captured_free(std::uint32_t stream, void* pointer, Error& error);
[[nodiscard]] bool is_under_capture(std::uint32_t stream);

}  // namespace gpumux::cudart
