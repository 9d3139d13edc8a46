// Stream capture: work that is enqueued in a capturing stream becomes nodes of a graph.
#include <algorithm>

#include "graph.hpp"
#include "graph_memory.hpp"
#include "streams.hpp"
#include "versioned.hpp"

namespace gpumux::cudart {
namespace {

constexpr auto kIllegalState = static_cast<Error>(401);
constexpr auto kCaptureUnmatched = static_cast<Error>(903);
constexpr auto kCaptureUnjoined = static_cast<Error>(904);

/// A capture: its graph, and for each capturing stream the nodes on which its next node depends.
struct Capture {
  std::uint64_t number = 0;
  Graph* graph = nullptr;
  bool of_program = false;  // captures into an existing graph
  std::uint32_t origin = 0;
  std::map<std::uint32_t, std::vector<Node*>> streams;
  std::map<EventHandle, std::vector<Node*>> events;
};
std::vector<std::unique_ptr<Capture>>& captures() {
  static auto* const all = new std::vector<std::unique_ptr<Capture>>;
  return *all;
}

Capture* capture_of(std::uint32_t stream) {
  for (const auto& capture : captures())
    if (capture->streams.contains(stream)) return capture.get();
  return nullptr;
}

/// Starts a capture. `handle`: a graph of the program, to which nodes after `after` are added; nullptr: a new
/// graph.
Error begin_capture(StreamHandle stream, void* handle, void* const* after, std::size_t count,
                    bool per_thread) {
  static std::uint64_t begun = 0;
  const std::scoped_lock lock(Session::get().lock());
  if (const Error error = Session::get().connect(); error != Error::Success) return returned(error);
  const std::uint32_t number = stream_number(stream, per_thread);
  if (number == 0 || capture_of(number) != nullptr) return returned(kIllegalState);
  auto capture = std::make_unique<Capture>();
  capture->origin = number;
  std::vector<Node*>& last = capture->streams[number];
  capture->graph = handle == nullptr ? make_graph() : graph_of(handle);
  capture->of_program = handle != nullptr;
  if (capture->graph == nullptr || (after == nullptr && count != 0)) return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (!capture->graph->has(after[i])) return returned(Error::InvalidValue);
    last.push_back(static_cast<Node*>(after[i]));
  }
  capture->number = ++begun;
  captures().push_back(std::move(capture));
  return Error::Success;
}

/// True if the stream that started the capture has joined all other streams: it depends on their last nodes.
bool is_joined(const Capture& capture) {
  const std::set<const Node*> joined = Graph::with_ancestors(capture.streams.at(capture.origin));
  return std::ranges::all_of(capture.streams, [&](const auto& stream) {
    return std::ranges::all_of(stream.second, [&](const Node* last) { return joined.contains(last); });
  });
}

Error end_capture(StreamHandle stream, void** made, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  Capture* const capture = capture_of(stream_number(stream, per_thread));
  if (capture == nullptr) return returned(kIllegalState);
  if (capture->origin != stream_number(stream, per_thread)) return returned(kCaptureUnmatched);
  const bool joined = is_joined(*capture);
  if (!joined && !capture->of_program) capture->graph->self.reset();  // the graph is destroyed
  if (made != nullptr) *made = joined ? capture->graph : nullptr;
  std::erase_if(captures(), [&](const auto& each) { return each.get() == capture; });
  return joined ? Error::Success : returned(kCaptureUnjoined);
}

Error give_info(StreamHandle stream, int* status, unsigned long long* number, void** graph,
                void* const** after, const void** data, std::size_t* count, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  if (status == nullptr) return returned(Error::InvalidValue);
  Capture* const capture = capture_of(stream_number(stream, per_thread));
  *status = capture != nullptr ? 1 : 0;
  if (capture == nullptr) return Error::Success;
  // The pointer is valid until the stream's next call.
  std::vector<Node*>& last = capture->streams.at(stream_number(stream, per_thread));
  if (number != nullptr) *number = capture->number;
  if (graph != nullptr) *graph = capture->graph;
  if (after != nullptr) *after = reinterpret_cast<void* const*>(last.data());
  if (data != nullptr) *data = nullptr;  // all dependencies are plain, without edge data
  if (count != nullptr) *count = last.size();
  return Error::Success;
}

Error update_dependencies(StreamHandle stream, void* const* nodes, std::size_t count, unsigned flags,
                          bool per_thread) {
  constexpr unsigned kSet = 1;  // replace the dependencies; 0: add to them
  const std::scoped_lock lock(Session::get().lock());
  const std::uint32_t number = stream_number(stream, per_thread);
  Capture* const capture = capture_of(number);
  if (capture == nullptr) return returned(kIllegalState);
  if (flags > kSet || (nodes == nullptr && count != 0)) return returned(Error::InvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (!capture->graph->has(nodes[i])) return returned(Error::InvalidValue);
  std::vector<Node*>& last = capture->streams.at(number);
  if (flags == kSet) last.clear();
  for (std::size_t i = 0; i < count; ++i) {
    auto* const node = static_cast<Node*>(nodes[i]);
    if (std::ranges::find(last, node) == last.end()) last.push_back(node);
  }
  return Error::Success;
}

}  // namespace

bool captured(std::uint32_t stream, const NodeWork& of) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return false;
  std::vector<Node*>& last = capture->streams[stream];
  last = {capture->graph->add(of, last)};
  return true;
}

bool captured_record(std::uint32_t stream, EventHandle event) {
  Capture* const capture = capture_of(stream);
  for (const auto& each : captures()) each->events.erase(event);
  if (capture == nullptr) return false;
  capture->events[event] = capture->streams[stream];
  return true;
}

bool captured_wait(std::uint32_t stream, EventHandle event) {
  for (const auto& capture : captures()) {
    const auto found = capture->events.find(event);
    if (found == capture->events.end()) continue;
    std::vector<Node*>& last = capture->streams[stream];  // may add the stream to the capture
    for (Node* const node : found->second)
      if (std::ranges::find(last, node) == last.end()) last.push_back(node);
    return true;
  }
  return false;
}

bool captured_allocation(std::uint32_t stream, std::size_t bytes, void** pointer, Error& error) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return false;
  AllocationNode of{};
  of.type = 1;         // pinned
  of.location[0] = 1;  // on the device
  of.bytes = bytes;
  Node* node = nullptr;
  std::vector<Node*>& last = capture->streams[stream];
  error = pointer == nullptr ? Error::InvalidValue : add_allocation(*capture->graph, last, of, &node);
  if (error != Error::Success) return true;
  last = {node};
  *pointer = of.pointer;
  return true;
}

bool captured_free(std::uint32_t stream, void* pointer, Error& error) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return false;
  Node* node = nullptr;
  std::vector<Node*>& last = capture->streams[stream];
  error = add_free(*capture->graph, last, pointer, &node);
  if (error == Error::Success) last = {node};
  return true;
}

bool is_under_capture(std::uint32_t stream) { return capture_of(stream) != nullptr; }

GPUMUX_CUDART_API Error cudaStreamBeginCapture(StreamHandle stream, int) {
  return begin_capture(stream, nullptr, nullptr, 0, false);
}
GPUMUX_CUDART_API Error cudaStreamBeginCapture_ptsz(StreamHandle stream, int) {
  return begin_capture(stream, nullptr, nullptr, 0, true);
}
// Edge data of the dependencies is ignored, since there are only plain dependencies.
GPUMUX_CUDART_API Error cudaStreamBeginCaptureToGraph(StreamHandle stream, void* graph, void* const* after,
                                                      const void*, std::size_t count, int) {
  return graph != nullptr ? begin_capture(stream, graph, after, count, false) : returned(Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaStreamBeginCaptureToGraph_ptsz(StreamHandle stream, void* graph,
                                                           void* const* after, const void*, std::size_t count,
                                                           int) {
  return graph != nullptr ? begin_capture(stream, graph, after, count, true) : returned(Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaStreamEndCapture(StreamHandle stream, void** graph) {
  return end_capture(stream, graph, false);
}
GPUMUX_CUDART_API Error cudaStreamEndCapture_ptsz(StreamHandle stream, void** graph) {
  return end_capture(stream, graph, true);
}
GPUMUX_CUDART_API Error cudaStreamIsCapturing(StreamHandle stream, int* status) {
  return give_info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr, false);
}
GPUMUX_CUDART_API Error cudaStreamIsCapturing_ptsz(StreamHandle stream, int* status) {
  return give_info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr, true);
}
GPUMUX_CUDART_API Error cudaStreamGetCaptureInfo(StreamHandle stream, int* status, unsigned long long* number,
                                                 void** graph, void* const** after, const void** data,
                                                 std::size_t* count) {
  return give_info(stream, status, number, graph, after, data, count, false);
}
GPUMUX_CUDART_API Error cudaStreamGetCaptureInfo_ptsz(StreamHandle stream, int* status,
                                                      unsigned long long* number, void** graph,
                                                      void* const** after, const void** data,
                                                      std::size_t* count) {
  return give_info(stream, status, number, graph, after, data, count, true);
}
// Name of the function in CUDA 12's headers.
GPUMUX_CUDART_API Error cudaStreamGetCaptureInfo_v2(StreamHandle stream, int* status,
                                                    unsigned long long* number, void** graph,
                                                    void* const** after, std::size_t* count) {
  return give_info(stream, status, number, graph, after, nullptr, count, false);
}
GPUMUX_CUDART_API Error gpumux_stream_update_capture_dependencies(StreamHandle stream, void* const* nodes,
                                                                  std::size_t count, unsigned flags,
                                                                  int per_thread) {
  return update_dependencies(stream, nodes, count, flags, per_thread != 0);
}
// Restrictions on calls of other threads during a capture are not checked.
GPUMUX_CUDART_API Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  static int current = 0;
  std::swap(*mode, current);
  return Error::Success;
}

}  // namespace gpumux::cudart
