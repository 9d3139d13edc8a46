// Graphs: what a stream under capture, and calls that add nodes, leave to be done at each launch. This is
// what the rest of the library sees of them; graph.hpp has the graphs themselves.
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

/// Enqueues a node's work in the stream of this number.
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

/// A launch, whose arguments were taken when it was described.
struct KernelContent {
  KernelNode node{};                  // but for its arguments
  program::LaunchArguments launch{};  // but for its stream
  std::uint32_t priority = 0;         // as priority_number() has it
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
  std::uint64_t handle = 0;  // the address of its word
  program::ConditionKind kind = program::ConditionKind::If;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::vector<void*> handles;  // of these, as the program gets them
};
/// What a node is, for those who ask. monostate: nobody can.
using Content = std::variant<std::monostate, KernelContent, Copy3D, MemsetNode, HostNode, AllocationContent,
                             FreeContent, ChildContent, EventContent, ConditionContent>;

struct NodeWork {
  NodeType type = NodeType::Empty;
  Content content;
  Work work;  // empty: the content says what to do, or there is nothing
};

/// True: the stream is under capture, and `of` is a node of its graph now. Else nothing has happened.
bool captured(std::uint32_t stream, const NodeWork& of);
/// The same of an event that is recorded, and of a stream that is to wait for one: which only say what
/// depends on what.
bool captured_record(std::uint32_t stream, EventHandle event);
bool captured_wait(std::uint32_t stream, EventHandle event);
/// And of allocations in stream order: `error` is what came of it.
bool captured_allocation(std::uint32_t stream, std::size_t bytes, void** pointer, Error& error);
bool captured_free(std::uint32_t stream, void* pointer, Error& error);
[[nodiscard]] bool is_under_capture(std::uint32_t stream);

}  // namespace gpumux::cudart
