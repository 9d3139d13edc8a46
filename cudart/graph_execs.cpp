// Instantiated graphs: cudaGraphExec_t.
#include <algorithm>

#include "graph_api.hpp"
#include "graph_plan.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

constexpr auto kGraphUpdateFailure = static_cast<Error>(910);
constexpr unsigned long long kUpload = 2;  // no effect: launches need no upload

std::set<Plan*>& plans() {
  static auto* const all = new std::set<Plan*>;
  return *all;
}
Plan* plan_of(void* handle) {
  auto* const plan = static_cast<Plan*>(handle);
  return plans().contains(plan) ? plan : nullptr;
}

Error instantiate(void** made, void* handle, unsigned long long flags) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr) return returned(Error::InvalidValue);
  if ((flags & ~(Plan::kAutoFree | kUpload | Plan::kNodePriority)) != 0)
    return returned(not_supported("a graph that the device launches"));
  auto plan = std::make_unique<Plan>(flags);
  Error error = plan->make(*graph);
  if (error == Error::Success) error = plan->define_bodies(0);
  if (error != Error::Success) return returned(error);
  *made = plan.get();
  plans().insert(plan.release());
  return Error::Success;
}

Error instantiate(void** made, void* graph, InstantiateParams* params) {
  constexpr int kFailed = 1;
  constexpr int kInvalidStructure = 2;
  if (params == nullptr) return returned(Error::InvalidValue);
  const Error error = instantiate(made, graph, params->flags);
  params->node = nullptr;
  params->result = error == Error::Success ? 0 : error == Error::InvalidValue ? kInvalidStructure : kFailed;
  return error;
}

Error launch(void* handle, StreamHandle stream, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  const std::uint32_t number = stream_number(stream, per_thread);
  if (!is_under_capture(number)) return returned(plan->launch(stream, per_thread));
  if (plan->has_memory())
    return returned(not_supported("a launch of a graph with memory nodes under capture"));
  captured(number, {NodeType::Graph, ChildContent{plan->as_graph()}, {}});
  return Error::Success;
}

Error upload(void* plan) {
  const std::scoped_lock lock(Session::get().lock());
  return returned(plan_of(plan) != nullptr ? Error::Success : Error::InvalidValue);
}

Error set_described(void* handle, const void* node, Error error, NodeWork& of) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  return returned(error == Error::Success ? plan->set(node, std::move(of)) : error);
}

}  // namespace

GPUMUX_CUDART_API Error cudaGraphInstantiate(void** made, void* graph, unsigned long long flags) {
  return instantiate(made, graph, flags);
}
GPUMUX_CUDART_API Error cudaGraphInstantiateWithFlags(void** made, void* graph, unsigned long long flags) {
  return instantiate(made, graph, flags);
}
GPUMUX_CUDART_API Error cudaGraphInstantiateWithParams(void** made, void* graph, InstantiateParams* params) {
  return instantiate(made, graph, params);
}
GPUMUX_CUDART_API Error cudaGraphInstantiateWithParams_ptsz(void** made, void* graph,
                                                            InstantiateParams* params) {
  return instantiate(made, graph, params);
}
GPUMUX_CUDART_API Error cudaGraphExecDestroy(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  plans().erase(plan);
  delete plan;  // its enqueued work continues
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphExecGetFlags(void* handle, unsigned long long* flags) {
  const std::scoped_lock lock(Session::get().lock());
  const Plan* const plan = plan_of(handle);
  if (plan == nullptr || flags == nullptr) return returned(Error::InvalidValue);
  *flags = plan->flags();
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphLaunch(void* plan, StreamHandle stream) {
  return launch(plan, stream, false);
}
GPUMUX_CUDART_API Error cudaGraphLaunch_ptsz(void* plan, StreamHandle stream) {
  return launch(plan, stream, true);
}
GPUMUX_CUDART_API Error cudaGraphUpload(void* plan, StreamHandle) { return upload(plan); }
GPUMUX_CUDART_API Error cudaGraphUpload_ptsz(void* plan, StreamHandle) { return upload(plan); }

GPUMUX_CUDART_API Error cudaGraphExecUpdate(void* handle, void* from, UpdateResult* result) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  const Graph* const graph = graph_of(from);
  if (plan == nullptr || graph == nullptr || result == nullptr) return returned(Error::InvalidValue);
  const Plan::Update update = plan->update(*graph);
  *result = {update.result, const_cast<Node*>(update.node), const_cast<Node*>(update.from)};
  return update.result == 0 ? Error::Success : returned(kGraphUpdateFailure);
}

GPUMUX_CUDART_API Error cudaGraphExecNodeSetParams(void* plan, void* node, const GraphNodeParams* params) {
  NodeWork of;
  const Error error = describe(params, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecKernelNodeSetParams(void* plan, void* node, const KernelNode* params) {
  NodeWork of;
  const Error error = describe_kernel(params, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecMemcpyNodeSetParams(void* plan, void* node, const Copy3D* params) {
  NodeWork of;
  const Error error = describe_copy(params, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecMemcpyNodeSetParams1D(void* plan, void* node, void* to, const void* from,
                                                           std::size_t bytes, MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_copy(to, from, bytes, kind, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecMemcpyNodeSetParamsToSymbol(void* plan, void* node, const void* symbol,
                                                                 void* from, std::size_t bytes,
                                                                 std::size_t offset, MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_symbol_copy(true, symbol, from, bytes, offset, kind, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(void* plan, void* node, void* to,
                                                                   const void* symbol, std::size_t bytes,
                                                                   std::size_t offset, MemcpyKind kind) {
  NodeWork of;
  const Error error = describe_symbol_copy(false, symbol, to, bytes, offset, kind, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecMemsetNodeSetParams(void* plan, void* node, const MemsetNode* params) {
  NodeWork of;
  const Error error = describe_fill(params, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecHostNodeSetParams(void* plan, void* node, const HostNode* params) {
  NodeWork of;
  const Error error = describe_host_call(params, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecEventRecordNodeSetEvent(void* plan, void* node, EventHandle event) {
  NodeWork of;
  const Error error = describe_event(NodeType::EventRecord, event, of);
  return set_described(plan, node, error, of);
}
GPUMUX_CUDART_API Error cudaGraphExecEventWaitNodeSetEvent(void* plan, void* node, EventHandle event) {
  NodeWork of;
  const Error error = describe_event(NodeType::EventWait, event, of);
  return set_described(plan, node, error, of);
}
/// Updates the nodes of a child graph one by one, in the order of their creation.
GPUMUX_CUDART_API Error cudaGraphExecChildGraphNodeSetParams(void* handle, void* node, void* with) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  const Node* const of = node_of(node);
  const Graph* const graph = graph_of(with);
  const auto* const child = of == nullptr ? nullptr : std::get_if<ChildContent>(&of->of.content);
  if (plan == nullptr || child == nullptr || graph == nullptr ||
      child->graph->nodes.size() != graph->nodes.size())
    return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const Error error = plan->set(child->graph->nodes[i].get(), graph->nodes[i]->of);
    if (error != Error::Success) return returned(error);
  }
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphNodeSetEnabled(void* handle, void* node, unsigned enabled) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  Plan::Step* const step = plan == nullptr ? nullptr : plan->step_of(node);
  if (step == nullptr || step->of.type > NodeType::Memset) return returned(Error::InvalidValue);
  step->enabled = enabled != 0;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphNodeGetEnabled(void* handle, void* node, unsigned* enabled) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  const Plan::Step* const step = plan == nullptr ? nullptr : plan->step_of(node);
  if (step == nullptr || enabled == nullptr || step->of.type > NodeType::Memset)
    return returned(Error::InvalidValue);
  *enabled = step->enabled ? 1 : 0;
  return Error::Success;
}

}  // namespace gpumux::cudart
