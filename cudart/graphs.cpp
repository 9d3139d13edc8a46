#include "graphs.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "launch.hpp"
#include "memory.hpp"
#include "streams.hpp"
#include "versioned.hpp"

namespace gpumux::cudart {
namespace {

constexpr auto kIllegalState = static_cast<Error>(401);
constexpr auto kStreamCaptureUnmatched = static_cast<Error>(903);
constexpr auto kGraphUpdateFailure = static_cast<Error>(910);

struct Node {
  NodeType type = NodeType::Empty;
  Work work;  // empty: nothing is to be done
  std::vector<Node*> after;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in the order in which they were added

  Node* add(NodeType type, Work work, std::vector<Node*> after) {
    nodes.push_back(std::make_unique<Node>(Node{type, std::move(work), std::move(after)}));
    return nodes.back().get();
  }
  [[nodiscard]] bool has(const Node* node) const {
    return std::ranges::any_of(nodes, [&](const auto& each) { return each.get() == node; });
  }
};

/// A graph in an order in which it can be done. Nodes of which one follows the other share a stream; others
/// have streams of their own, and events between them.
struct Plan {
  static constexpr std::size_t kMain = 0;
  struct Step {
    const Node* node = nullptr;  // of the graph that it was made of
    NodeType type = NodeType::Empty;
    Work work;
    std::size_t lane = kMain;         // its stream: kMain, the one of the launch
    std::vector<std::size_t> events;  // steps in other lanes that it waits for
    bool others_wait = false;         // steps in other lanes, or the end of the launch
    std::vector<std::size_t> after;   // all that it depends on
  };
  std::vector<Step> steps;
  std::size_t lanes = 1;
  std::vector<StreamHandle> streams;  // of lanes behind kMain
  std::vector<EventHandle> events;    // of steps; the last one is the launch's begin

  /// False: nodes depend on each other in a circle.
  bool order(const Graph& graph);
  Error launch(StreamHandle stream, bool per_thread);
  ~Plan();
};

bool Plan::order(const Graph& graph) {
  steps.clear();
  std::map<const Node*, std::size_t> done;
  while (steps.size() < graph.nodes.size()) {
    const std::size_t before = steps.size();
    for (const auto& node : graph.nodes) {
      const bool ready = std::ranges::all_of(node->after, [&](Node* d) { return done.contains(d); });
      if (!ready || done.contains(node.get())) continue;
      Step step;
      step.node = node.get();
      step.type = node->type;
      step.work = node->work;
      for (Node* const d : node->after) step.after.push_back(done.at(d));
      done.emplace(node.get(), steps.size());
      steps.push_back(std::move(step));
    }
    if (steps.size() == before) return false;
  }
  // A step goes on in the lane of one before it that nothing follows there yet.
  lanes = 1;
  constexpr std::size_t kNobody = ~std::size_t{0};
  std::vector<std::size_t> last = {kNobody};  // by lane
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    const auto open = std::ranges::find_if(
        step.after, [&](std::size_t before) { return last[steps[before].lane] == before; });
    if (open != step.after.end()) {
      step.lane = steps[*open].lane;
    } else if (last[kMain] == kNobody) {
      step.lane = kMain;
    } else {
      step.lane = lanes++;
      last.push_back(kNobody);
    }
    for (const std::size_t before : step.after) {
      if (steps[before].lane == step.lane) continue;
      step.events.push_back(before);
      steps[before].others_wait = true;
    }
    last[step.lane] = i;
  }
  for (std::size_t lane = 1; lane < lanes; ++lane) steps[last[lane]].others_wait = true;
  return true;
}

Error Plan::launch(StreamHandle stream, bool per_thread) {
  const auto ensure = [](std::vector<void*>& handles, std::size_t count, auto make) {
    while (handles.size() < count) {
      void* made = nullptr;
      if (const Error error = make(&made); error != Error::Success) return error;
      handles.push_back(made);
    }
    return Error::Success;
  };
  constexpr unsigned kNonBlocking = 1;
  Error error = ensure(streams, lanes - 1, [](void** made) { return create_stream(made, kNonBlocking); });
  if (error == Error::Success)
    error = ensure(events, steps.size() + 1, [](void** made) { return create_event(made, 0); });
  if (error != Error::Success) return error;
  const auto stream_of = [&](std::size_t lane) { return lane == kMain ? stream : streams[lane - 1]; };
  const auto number = [&](std::size_t lane) { return stream_number(stream_of(lane), per_thread); };
  if (lanes > 1) {
    error = record_event(events[steps.size()], number(kMain));
    for (std::size_t lane = 1; lane < lanes && error == Error::Success; ++lane)
      error = wait_for_event(number(lane), events[steps.size()]);
  }
  for (std::size_t i = 0; i < steps.size() && error == Error::Success; ++i) {
    const Step& step = steps[i];
    for (const std::size_t before : step.events)
      if (error == Error::Success) error = wait_for_event(number(step.lane), events[before]);
    if (error == Error::Success && step.work) error = step.work(number(step.lane));
    if (error == Error::Success && step.others_wait) error = record_event(events[i], number(step.lane));
  }
  for (std::size_t i = 0; i < steps.size() && error == Error::Success; ++i)
    if (steps[i].others_wait && steps[i].lane != kMain) error = wait_for_event(number(kMain), events[i]);
  return error;
}

Plan::~Plan() {
  for (StreamHandle stream : streams) destroy_stream(stream);
  for (EventHandle event : events) destroy_event(event);
}

/// What is being captured: a graph, and for each stream of it what its next node comes after.
struct Capture {
  std::unique_ptr<Graph> graph;
  std::uint32_t origin = 0;
  std::map<std::uint32_t, std::vector<Node*>> streams;
  std::map<EventHandle, std::vector<Node*>> events;
};

struct Registry {
  std::set<Graph*> graphs;
  std::set<Plan*> plans;
  std::vector<std::unique_ptr<Capture>> captures;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

Capture* capture_of(std::uint32_t stream) {
  for (const auto& capture : registry().captures)
    if (capture->streams.contains(stream)) return capture.get();
  return nullptr;
}

Graph* graph_of(void* handle) {
  auto* const graph = static_cast<Graph*>(handle);
  return registry().graphs.contains(graph) ? graph : nullptr;
}
Plan* plan_of(void* handle) {
  auto* const plan = static_cast<Plan*>(handle);
  return registry().plans.contains(plan) ? plan : nullptr;
}

/// A node of a graph by calls; `made` takes its handle.
Error add_node(void** made, void* handle, void* const* after, std::size_t count, NodeType type, Work work) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr || (after == nullptr && count != 0))
    return returned(Error::InvalidValue);
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(static_cast<Node*>(after[i]));
    if (!graph->has(nodes.back())) return returned(Error::InvalidValue);
  }
  *made = graph->add(type, std::move(work), std::move(nodes));
  return Error::Success;
}

Error kernel_work(const KernelNode* of, Work& work) {
  if (of == nullptr || of->parameters == nullptr) return Error::InvalidValue;
  return launch_work(of->function, of->grid, of->block, of->shared_bytes, of->parameters, work);
}

Error instantiate(void** made, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr) return returned(Error::InvalidValue);
  auto plan = std::make_unique<Plan>();
  if (!plan->order(*graph)) return returned(Error::InvalidValue);
  *made = plan.get();
  registry().plans.insert(plan.release());
  return Error::Success;
}

Error launch_plan(void* handle, StreamHandle stream, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  if (is_under_capture(stream_number(stream, per_thread)))
    return returned(not_supported("a graph's launch under capture"));
  return returned(plan->launch(stream, per_thread));
}

Error begin_capture(StreamHandle stream, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Error error = Session::get().connect(); error != Error::Success) return returned(error);
  const std::uint32_t number = stream_number(stream, per_thread);
  if (number == 0 || capture_of(number) != nullptr) return returned(kIllegalState);
  auto capture = std::make_unique<Capture>();
  capture->graph = std::make_unique<Graph>();
  capture->origin = number;
  capture->streams[number] = {};
  registry().captures.push_back(std::move(capture));
  return Error::Success;
}

Error end_capture(StreamHandle stream, void** made, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  Capture* const capture = capture_of(stream_number(stream, per_thread));
  if (capture == nullptr) return returned(kIllegalState);
  if (capture->origin != stream_number(stream, per_thread)) return returned(kStreamCaptureUnmatched);
  *made = capture->graph.get();
  registry().graphs.insert(capture->graph.release());
  std::erase_if(registry().captures, [&](const auto& each) { return each.get() == capture; });
  return Error::Success;
}

Error capturing(StreamHandle stream, int* status, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  if (status == nullptr) return returned(Error::InvalidValue);
  *status = capture_of(stream_number(stream, per_thread)) != nullptr ? 1 : 0;
  return Error::Success;
}

template <class Step>
auto step_of(Step& steps, const void* node) {
  return std::ranges::find_if(steps, [&](const auto& step) { return step.node == node; });
}

}  // namespace

bool captured(std::uint32_t stream, NodeType type, const Work& work) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return false;
  std::vector<Node*>& last = capture->streams[stream];
  last = {capture->graph->add(type, work, last)};
  return true;
}

bool captured_record(std::uint32_t stream, EventHandle event) {
  Capture* const capture = capture_of(stream);
  for (const auto& each : registry().captures) each->events.erase(event);
  if (capture == nullptr) return false;
  capture->events[event] = capture->streams[stream];
  return true;
}

bool captured_wait(std::uint32_t stream, EventHandle event) {
  for (const auto& capture : registry().captures) {
    const auto found = capture->events.find(event);
    if (found == capture->events.end()) continue;
    std::vector<Node*>& last = capture->streams[stream];  // which it joins if it had no part in it
    for (Node* const node : found->second)
      if (std::ranges::find(last, node) == last.end()) last.push_back(node);
    return true;
  }
  return false;
}

bool is_under_capture(std::uint32_t stream) { return capture_of(stream) != nullptr; }

GPUMUX_CUDART_API Error cudaGraphCreate(void** made, unsigned) {
  const std::scoped_lock lock(Session::get().lock());
  if (made == nullptr) return returned(Error::InvalidValue);
  auto graph = std::make_unique<Graph>();
  *made = graph.get();
  registry().graphs.insert(graph.release());
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphDestroy(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  if (graph == nullptr) return returned(Error::InvalidValue);
  registry().graphs.erase(graph);
  delete graph;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphClone(void** made, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr) return returned(Error::InvalidValue);
  auto clone = std::make_unique<Graph>();
  std::map<const Node*, Node*> copies;
  for (const auto& node : graph->nodes) copies[node.get()] = clone->add(node->type, node->work, {});
  for (const auto& node : graph->nodes)
    for (Node* const before : node->after) copies[node.get()]->after.push_back(copies[before]);
  *made = clone.get();
  registry().graphs.insert(clone.release());
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphGetNodes(void* handle, void** nodes, std::size_t* count) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr || count == nullptr) return returned(Error::InvalidValue);
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i)
      nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
    *count = std::min(*count, graph->nodes.size());
  } else {
    *count = graph->nodes.size();
  }
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphNodeGetType(void* node, int* type) {
  const std::scoped_lock lock(Session::get().lock());
  for (const Graph* const graph : registry().graphs) {
    if (!graph->has(static_cast<Node*>(node)) || type == nullptr) continue;
    *type = static_cast<int>(static_cast<Node*>(node)->type);
    return Error::Success;
  }
  return returned(Error::InvalidValue);
}

namespace {}  // namespace

GPUMUX_CUDART_API Error gpumux_graph_add_dependencies(void* handle, void* const* from, void* const* to,
                                                      std::size_t count) {
  const std::scoped_lock lock(Session::get().lock());
  const Graph* const graph = graph_of(handle);
  if (graph == nullptr) return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const before = static_cast<Node*>(from[i]);
    auto* const after = static_cast<Node*>(to[i]);
    if (!graph->has(before) || !graph->has(after)) return returned(Error::InvalidValue);
    after->after.push_back(before);
  }
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGraphAddKernelNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const KernelNode* of) {
  Work work;
  if (const Error error = kernel_work(of, work); error != Error::Success) return returned(error);
  return add_node(made, graph, after, count, NodeType::Kernel, std::move(work));
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const Copy3D* of) {
  if (of == nullptr) return returned(Error::InvalidValue);
  return add_node(made, graph, after, count, NodeType::Memcpy, copy_work(*of));
}
GPUMUX_CUDART_API Error cudaGraphAddMemcpyNode1D(void** made, void* graph, void* const* after,
                                                 std::size_t count, void* to, const void* from,
                                                 std::size_t bytes, MemcpyKind kind) {
  return add_node(made, graph, after, count, NodeType::Memcpy, copy_work(to, from, bytes, kind));
}
GPUMUX_CUDART_API Error cudaGraphAddMemsetNode(void** made, void* graph, void* const* after,
                                               std::size_t count, const MemsetNode* of) {
  if (of == nullptr) return returned(Error::InvalidValue);
  return add_node(made, graph, after, count, NodeType::Memset,
                  fill_work(of->to, of->pitch, {of->value, of->element_bytes}, of->width * of->element_bytes,
                            of->height));
}
GPUMUX_CUDART_API Error cudaGraphAddHostNode(void** made, void* graph, void* const* after, std::size_t count,
                                             const HostNode* of) {
  if (of == nullptr) return returned(Error::InvalidValue);
  return add_node(made, graph, after, count, NodeType::Host, host_work(of->function, of->data));
}
GPUMUX_CUDART_API Error cudaGraphAddEmptyNode(void** made, void* graph, void* const* after,
                                              std::size_t count) {
  return add_node(made, graph, after, count, NodeType::Empty, {});
}

GPUMUX_CUDART_API Error cudaGraphInstantiate(void** made, void* graph, unsigned long long) {
  return instantiate(made, graph);
}
GPUMUX_CUDART_API Error cudaGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
  return instantiate(made, graph);
}
GPUMUX_CUDART_API Error cudaGraphExecDestroy(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  registry().plans.erase(plan);
  delete plan;  // its streams' work goes on
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphExecKernelNodeSetParams(void* handle, void* node, const KernelNode* of) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return returned(Error::InvalidValue);
  const auto step = step_of(plan->steps, node);
  if (step == plan->steps.end() || step->type != NodeType::Kernel) return returned(Error::InvalidValue);
  return returned(kernel_work(of, step->work));
}
GPUMUX_CUDART_API Error cudaGraphKernelNodeSetParams(void* node, const KernelNode* of) {
  const std::scoped_lock lock(Session::get().lock());
  for (const Graph* const graph : registry().graphs)
    if (graph->has(static_cast<Node*>(node)))
      return returned(kernel_work(of, static_cast<Node*>(node)->work));
  return returned(Error::InvalidValue);
}
/// cudaGraphExecUpdateResultInfo; the nodes at fault are not named.
struct UpdateResult {
  int result;  // cudaGraphExecUpdateResult: 0 success, 2 the topology has changed
  void* node;
  void* from;
};
GPUMUX_CUDART_API Error cudaGraphExecUpdate(void* handle, void* from, UpdateResult* result) {
  const std::scoped_lock lock(Session::get().lock());
  Plan* const plan = plan_of(handle);
  const Graph* const graph = graph_of(from);
  if (plan == nullptr || graph == nullptr || result == nullptr) return returned(Error::InvalidValue);
  *result = {};
  Plan updated;
  bool same = updated.order(*graph) && updated.steps.size() == plan->steps.size();
  for (std::size_t i = 0; same && i < updated.steps.size(); ++i)
    same = updated.steps[i].type == plan->steps[i].type && updated.steps[i].after == plan->steps[i].after;
  if (!same) {
    constexpr int kTopologyChanged = 2;
    result->result = kTopologyChanged;
    return returned(kGraphUpdateFailure);
  }
  plan->steps = std::move(updated.steps);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphLaunch(void* plan, StreamHandle stream) {
  return launch_plan(plan, stream, false);
}
GPUMUX_CUDART_API Error cudaGraphLaunch_ptsz(void* plan, StreamHandle stream) {
  return launch_plan(plan, stream, true);
}
// There is nothing to be brought to the device before a launch.
GPUMUX_CUDART_API Error cudaGraphUpload(void* plan, StreamHandle) {
  const std::scoped_lock lock(Session::get().lock());
  return returned(plan_of(plan) != nullptr ? Error::Success : Error::InvalidValue);
}

GPUMUX_CUDART_API Error cudaStreamBeginCapture(StreamHandle stream, int) {
  return begin_capture(stream, false);
}
GPUMUX_CUDART_API Error cudaStreamBeginCapture_ptsz(StreamHandle stream, int) {
  return begin_capture(stream, true);
}
GPUMUX_CUDART_API Error cudaStreamEndCapture(StreamHandle stream, void** graph) {
  return end_capture(stream, graph, false);
}
GPUMUX_CUDART_API Error cudaStreamEndCapture_ptsz(StreamHandle stream, void** graph) {
  return end_capture(stream, graph, true);
}
GPUMUX_CUDART_API Error cudaStreamIsCapturing(StreamHandle stream, int* status) {
  return capturing(stream, status, false);
}
GPUMUX_CUDART_API Error cudaStreamIsCapturing_ptsz(StreamHandle stream, int* status) {
  return capturing(stream, status, true);
}
// What other threads may call meanwhile is not checked.
GPUMUX_CUDART_API Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  static int current = 0;
  std::swap(*mode, current);
  return Error::Success;
}

}  // namespace gpumux::cudart
