// Graph nodes of each kind: creation, queries and changes.
#include <algorithm>
#include <cstring>

#include "graph.hpp"
#include "graph_conditions.hpp"
#include "streams.hpp"
#include "versioned.hpp"

namespace gpumux::cudart {
namespace {

/// Looks up the nodes of handles. Returns false if a handle is no node of the graph.
bool nodes_of(const Graph& graph, void* const* handles, std::size_t count, std::vector<Node*>& nodes) {
  if (handles == nullptr && count != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!graph.has(handles[i])) return false;
    nodes.push_back(static_cast<Node*>(handles[i]));
  }
  return true;
}

Error add_described(void** made, void* graph, void* const* after, std::size_t count, Error error,
                    NodeWork& of) {
  return error == Error::Success ? add_node(made, graph, after, count, std::move(of)) : returned(error);
}

Error add_allocation_node(void** made, void* handle, void* const* after, std::size_t count,
                          AllocationNode* of) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  std::vector<Node*> nodes;
  if (graph == nullptr || made == nullptr || of == nullptr || !nodes_of(*graph, after, count, nodes))
    return returned(Error::InvalidValue);
  if (const Error error = Session::get().connect(); error != Error::Success) return returned(error);
  Node* node = nullptr;
  const Error error = add_allocation(*graph, std::move(nodes), *of, &node);
  if (error == Error::Success) *made = node;
  return returned(error);
}

Error add_free_node(void** made, void* handle, void* const* after, std::size_t count, void* pointer) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  std::vector<Node*> nodes;
  if (graph == nullptr || made == nullptr || !nodes_of(*graph, after, count, nodes))
    return returned(Error::InvalidValue);
  Node* node = nullptr;
  const Error error = add_free(*graph, std::move(nodes), pointer, &node);
  if (error == Error::Success) *made = node;
  return returned(error);
}

/// The content of a node of this type, or nullptr for any other handle.
template <class Of>
Of* content_of(void* handle, NodeType type) {
  Node* const node = node_of(handle);
  return node != nullptr && node->of.type == type ? std::get_if<Of>(&node->of.content) : nullptr;
}
template <class Of>
Error give_content(void* node, NodeType type, Of* out) {
  const std::scoped_lock lock(Session::get().lock());
  const Of* const of = content_of<Of>(node, type);
  if (of == nullptr || out == nullptr) return returned(Error::InvalidValue);
  *out = *of;
  return Error::Success;
}
Error give_event(void* node, NodeType type, EventHandle* out) {
  const std::scoped_lock lock(Session::get().lock());
  const auto* const of = content_of<EventContent>(node, type);
  if (of == nullptr || out == nullptr) return returned(Error::InvalidValue);
  *out = of->event;
  return Error::Success;
}

/// Replaces a node's content by a new description. The types must be equal.
Error set_described(void* handle, Error error, NodeWork& of) {
  const std::scoped_lock lock(Session::get().lock());
  Node* const node = node_of(handle);
  if (error != Error::Success) return returned(error);
  if (node == nullptr || node->of.type != of.type) return returned(Error::InvalidValue);
  if (auto* const kernel = std::get_if<KernelContent>(&of.content)) {
    const auto* const before = std::get_if<KernelContent>(&node->of.content);
    kernel->priority = before->priority;
    kernel->launch.cooperative = before->launch.cooperative;
  }
  node->of = std::move(of);
  return Error::Success;
}

Error kernel_attribute(void* node, int attribute, void* value, bool set) {
  const std::scoped_lock lock(Session::get().lock());
  auto* const of = content_of<KernelContent>(node, NodeType::Kernel);
  if (of == nullptr || value == nullptr) return returned(Error::InvalidValue);
  int number = 0;
  std::memcpy(&number, value, sizeof(number));
  if (attribute == kAttributePriority) {
    if (set) of->priority = priority_number(number);
    number = -static_cast<int>(of->priority);
  } else if (attribute == kAttributeCooperative) {
    if (set) of->launch.cooperative = number != 0 ? 1 : 0;
    number = static_cast<int>(of->launch.cooperative);
  } else {
    return returned(not_supported("an attribute of kernel nodes other than cooperative and priority"));
  }
  if (!set) std::memcpy(value, &number, sizeof(number));
  return Error::Success;
}

}  // namespace

Error add_node(void** made, void* handle, void* const* after, std::size_t count, NodeWork of) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  std::vector<Node*> nodes;
  if (graph == nullptr || made == nullptr || !nodes_of(*graph, after, count, nodes))
    return returned(Error::InvalidValue);
  *made = graph->add(std::move(of), std::move(nodes));
  return Error::Success;
}

Error describe_host_call(const HostNode* of, NodeWork& out) {
  if (of == nullptr || of->function == nullptr) return Error::InvalidValue;
  out = {NodeType::Host, *of, host_work(of->function, of->data)};
  return Error::Success;
}
Error describe_event(NodeType type, EventHandle event, NodeWork& out) {
  if (event == nullptr) return Error::InvalidValue;
  if (type == NodeType::EventRecord) {
    out = {type, EventContent{event}, [event](std::uint32_t stream) { return record_event(event, stream); }};
  } else {
    out = {type, EventContent{event},
           [event](std::uint32_t stream) { return wait_for_event(stream, event); }};
  }
  return Error::Success;
}
Error describe_child(void* handle, NodeWork& out) {
  const Graph* const child = graph_of(handle);
  if (child == nullptr) return Error::InvalidValue;
  if (child->has_memory_nodes()) return not_supported("memory nodes in a child graph");
  out = {NodeType::Graph, ChildContent{child->clone()}, {}};
  return Error::Success;
}
Error describe(const GraphNodeParams* params, NodeWork& out) {
  if (params == nullptr) return Error::InvalidValue;
  const auto& of = params->of;
  switch (static_cast<NodeType>(params->type)) {
    case NodeType::Kernel: return describe_kernel(&of.kernel, out);
    case NodeType::Memcpy: return describe_copy(&of.memcpy.copy, out);
    case NodeType::Memset: return describe_fill(&of.memset, out);
    case NodeType::Host: return describe_host_call(&of.host, out);
    case NodeType::Graph: return describe_child(of.graph, out);
    case NodeType::Empty: out = {}; return Error::Success;
    case NodeType::EventWait:
    case NodeType::EventRecord: return describe_event(static_cast<NodeType>(params->type), of.event, out);
    default: break;
  }
  return not_supported("a node of this type in a graph");
}

GPUMUX_CUDART_API Error gpumux_graph_add_node(void** made, void* graph, void* const* after, std::size_t count,
                                              GraphNodeParams* params) {
  if (params == nullptr) return returned(Error::InvalidValue);
  auto& of = params->of;
  switch (static_cast<NodeType>(params->type)) {
    case NodeType::MemAlloc: return add_allocation_node(made, graph, after, count, &of.allocation);
    case NodeType::MemFree: return add_free_node(made, graph, after, count, of.pointer);
    case NodeType::Conditional: {
      NodeWork node;
      const Error error = describe_condition(graph, of.condition, node);
      return add_described(made, graph, after, count, error, node);
    }
    default: break;
  }
  NodeWork node;
  const Error error = describe(params, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddKernelNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const KernelNode* of) {
  NodeWork node;
  const Error error = describe_kernel(of, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const Copy3D* of) {
  NodeWork node;
  const Error error = describe_copy(of, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNode1D(void** made, void* graph, void* const* after,
                                                 std::size_t count, void* to, const void* from,
                                                 std::size_t bytes, MemcpyKind kind) {
  NodeWork node;
  const Error error = describe_copy(to, from, bytes, kind, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNodeToSymbol(void** made, void* graph, void* const* after,
                                                       std::size_t count, const void* symbol, void* from,
                                                       std::size_t bytes, std::size_t offset,
                                                       MemcpyKind kind) {
  NodeWork node;
  const Error error = describe_symbol_copy(true, symbol, from, bytes, offset, kind, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNodeFromSymbol(void** made, void* graph, void* const* after,
                                                         std::size_t count, void* to, const void* symbol,
                                                         std::size_t bytes, std::size_t offset,
                                                         MemcpyKind kind) {
  NodeWork node;
  const Error error = describe_symbol_copy(false, symbol, to, bytes, offset, kind, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemsetNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const MemsetNode* of) {
  NodeWork node;
  const Error error = describe_fill(of, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddHostNode(void** made, void* graph, void* const* after, std::size_t count,
                                             const HostNode* of) {
  NodeWork node;
  const Error error = describe_host_call(of, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddEmptyNode(void** made, void* graph, void* const* after,
                                              std::size_t count) {
  return add_node(made, graph, after, count, {});
}
GPUMUX_CUDART_API Error cudaGraphAddChildGraphNode(void** made, void* graph, void* const* after,
                                                   std::size_t count, void* child) {
  NodeWork node;
  const Error error = describe_child(child, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddEventRecordNode(void** made, void* graph, void* const* after,
                                                    std::size_t count, EventHandle event) {
  NodeWork node;
  const Error error = describe_event(NodeType::EventRecord, event, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddEventWaitNode(void** made, void* graph, void* const* after,
                                                  std::size_t count, EventHandle event) {
  NodeWork node;
  const Error error = describe_event(NodeType::EventWait, event, node);
  return add_described(made, graph, after, count, error, node);
}
GPUMUX_CUDART_API Error cudaGraphAddMemAllocNode(void** made, void* graph, void* const* after,
                                                 std::size_t count, AllocationNode* of) {
  return add_allocation_node(made, graph, after, count, of);
}
GPUMUX_CUDART_API Error cudaGraphAddMemFreeNode(void** made, void* graph, void* const* after,
                                                std::size_t count, void* pointer) {
  return add_free_node(made, graph, after, count, pointer);
}

GPUMUX_CUDART_API Error cudaGraphKernelNodeGetParams(void* handle, KernelNode* out) {
  const std::scoped_lock lock(Session::get().lock());
  auto* const of = content_of<KernelContent>(handle, NodeType::Kernel);
  if (of == nullptr || out == nullptr) return returned(Error::InvalidValue);
  Node& node = *node_of(handle);
  node.pointers.clear();
  for (const program::KernelParameter& parameter : of->layout)
    node.pointers.push_back(of->arguments.data() + parameter.offset);
  *out = of->node;
  out->parameters = node.pointers.data();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphMemcpyNodeGetParams(void* node, Copy3D* out) {
  return give_content(node, NodeType::Memcpy, out);
}
GPUMUX_CUDART_API Error cudaGraphMemsetNodeGetParams(void* node, MemsetNode* out) {
  return give_content(node, NodeType::Memset, out);
}
GPUMUX_CUDART_API Error cudaGraphHostNodeGetParams(void* node, HostNode* out) {
  return give_content(node, NodeType::Host, out);
}
GPUMUX_CUDART_API Error cudaGraphChildGraphNodeGetGraph(void* node, void** graph) {
  const std::scoped_lock lock(Session::get().lock());
  const auto* const of = content_of<ChildContent>(node, NodeType::Graph);
  if (of == nullptr || graph == nullptr) return returned(Error::InvalidValue);
  *graph = of->graph.get();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphEventRecordNodeGetEvent(void* node, EventHandle* event) {
  return give_event(node, NodeType::EventRecord, event);
}
GPUMUX_CUDART_API Error cudaGraphEventWaitNodeGetEvent(void* node, EventHandle* event) {
  return give_event(node, NodeType::EventWait, event);
}
GPUMUX_CUDART_API Error cudaGraphMemAllocNodeGetParams(void* node, AllocationNode* out) {
  const std::scoped_lock lock(Session::get().lock());
  const auto* const of = content_of<AllocationContent>(node, NodeType::MemAlloc);
  if (of == nullptr || out == nullptr) return returned(Error::InvalidValue);
  *out = of->node;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphMemFreeNodeGetParams(void* node, void* out) {
  const std::scoped_lock lock(Session::get().lock());
  const auto* const of = content_of<FreeContent>(node, NodeType::MemFree);
  if (of == nullptr || out == nullptr) return returned(Error::InvalidValue);
  *static_cast<void**>(out) = of->pointer;
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGraphNodeSetParams(void* node, const GraphNodeParams* params) {
  NodeWork of;
  const Error error = describe(params, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphKernelNodeSetParams(void* node, const KernelNode* params) {
  NodeWork of;
  const Error error = describe_kernel(params, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphMemcpyNodeSetParams(void* node, const Copy3D* params) {
  NodeWork of;
  const Error error = describe_copy(params, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from,
                                                       std::size_t bytes, MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_copy(to, from, bytes, kind, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphMemcpyNodeSetParamsToSymbol(void* node, const void* symbol, void* from,
                                                             std::size_t bytes, std::size_t offset,
                                                             MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_symbol_copy(true, symbol, from, bytes, offset, kind, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphMemcpyNodeSetParamsFromSymbol(void* node, void* to, const void* symbol,
                                                               std::size_t bytes, std::size_t offset,
                                                               MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_symbol_copy(false, symbol, to, bytes, offset, kind, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphMemsetNodeSetParams(void* node, const MemsetNode* params) {
  NodeWork of;
  const Error error = describe_fill(params, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphHostNodeSetParams(void* node, const HostNode* params) {
  NodeWork of;
  const Error error = describe_host_call(params, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphEventRecordNodeSetEvent(void* node, EventHandle event) {
  NodeWork of;
  const Error error = describe_event(NodeType::EventRecord, event, of);
  return set_described(node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphEventWaitNodeSetEvent(void* node, EventHandle event) {
  NodeWork of;
  const Error error = describe_event(NodeType::EventWait, event, of);
  return set_described(node, error, of);
}

GPUMUX_CUDART_API Error cudaGraphKernelNodeGetAttribute(void* node, int attribute, void* value) {
  return kernel_attribute(node, attribute, value, false);
}
GPUMUX_CUDART_API Error cudaGraphKernelNodeSetAttribute(void* node, int attribute, const void* value) {
  return kernel_attribute(node, attribute, const_cast<void*>(value), true);
}
GPUMUX_CUDART_API Error cudaGraphKernelNodeCopyAttributes(void* to, void* from) {
  const std::scoped_lock lock(Session::get().lock());
  auto* const there = content_of<KernelContent>(to, NodeType::Kernel);
  const auto* const here = content_of<KernelContent>(from, NodeType::Kernel);
  if (there == nullptr || here == nullptr) return returned(Error::InvalidValue);
  there->priority = here->priority;
  there->launch.cooperative = here->launch.cooperative;
  return Error::Success;
}

}  // namespace gpumux::cudart
