#include "graph_memory.hpp"

#include <algorithm>
#include <map>

#include "allocations.hpp"
#include "graph.hpp"
#include "streams.hpp"

namespace gpumux::cudart {

/// A piece of memory that allocation nodes can use.
struct GraphBlock {
  std::size_t bytes = 0;
  bool busy = false;         // an allocated range uses it
  std::size_t ranges = 0;    // number of ranges that used it last
  std::uint32_t stream = 0;  // stream of its last use
  GraphEvent end;            // end of its last use; nullptr: already over
};

namespace {

/// cudaGraphMemAttributeType.
enum Attribute : int { kUsed, kMostUsed, kReserved, kMostReserved };

struct State {
  std::vector<std::shared_ptr<GraphBlock>> blocks;
  std::map<std::uintptr_t, std::weak_ptr<GraphRange>> ranges;
  std::map<std::uintptr_t, std::shared_ptr<GraphRange>> held;  // allocated ranges
  std::size_t addresses = 0;
  std::size_t most_used = 0;
  std::size_t most_reserved = 0;
};
State& state() {
  static auto* const all = new State;
  return *all;
}

std::size_t used() {
  std::size_t bytes = 0;
  for (const auto& block : state().blocks) bytes += block->busy || block->ranges > 0 ? block->bytes : 0;
  return bytes;
}
std::size_t reserved() {
  std::size_t bytes = 0;
  for (const auto& block : state().blocks) bytes += block->bytes;
  return bytes;
}
void note_most() {
  state().most_used = std::max(state().most_used, used());
  state().most_reserved = std::max(state().most_reserved, reserved());
}

bool is_over(GraphBlock& block) {
  if (block.end == nullptr) return true;
  program::EventState result{};
  const Error error = Session::get().call(Call::IsEventOver, event_number(block.end.get()), &result);
  if (error != Error::Success || result.over == 0) return false;
  block.end.reset();
  return true;
}

void give(GraphRange& range, const std::shared_ptr<GraphBlock>& block) {
  if (range.block != nullptr) --range.block->ranges;
  range.block = block;
  if (block != nullptr) ++block->ranges;
}

/// A block for a range in this stream: its last block if that is free, or any free block that is large
/// enough, or a new one.
std::shared_ptr<GraphBlock> find_block(const GraphRange& range, std::uint32_t stream) {
  const auto is_free = [&](const std::shared_ptr<GraphBlock>& block) {
    return block != nullptr && !block->busy && block->bytes >= range.bytes &&
           (block->stream == stream || is_over(*block));
  };
  if (is_free(range.block)) return range.block;
  const auto found = std::ranges::find_if(state().blocks, is_free);
  if (found != state().blocks.end()) return *found;
  state().blocks.push_back(std::make_shared<GraphBlock>(GraphBlock{range.bytes, false, 0, stream, nullptr}));
  return state().blocks.back();
}

void free_range(const std::shared_ptr<GraphRange>& range, std::uint32_t stream, const GraphEvent& end) {
  range->allocated = false;
  range->block->busy = false;
  range->block->stream = stream;
  range->block->end = end;
  state().held.erase(range->address);
}

Error attribute(int which, std::uint64_t* value) {
  switch (which) {
    case kUsed: *value = used(); break;
    case kMostUsed: *value = state().most_used; break;
    case kReserved: *value = reserved(); break;
    case kMostReserved: *value = state().most_reserved; break;
    default: return Error::InvalidValue;
  }
  return Error::Success;
}

}  // namespace

GraphRange::GraphRange(std::uintptr_t at, std::size_t size) : address(at), bytes(size) {
  note_of_graph(address, bytes);
  state().addresses += bytes;
}
GraphRange::~GraphRange() {
  give(*this, nullptr);
  forget_of_graph(address);
  state().addresses -= bytes;
  state().ranges.erase(address);
  // Work in progress may still use the memory, so the free waits for all streams.
  static_cast<void>(
      Session::get().call(Call::FreeInStream, program::FreeArguments{address, program::kAllStreams}));
}

GraphEvent make_graph_event(Error& error) {
  EventHandle event = nullptr;
  error = create_event(&event, 0);
  return error == Error::Success ? GraphEvent(event, [](void* made) { destroy_event(made); }) : nullptr;
}

Error make_range(std::size_t bytes, std::shared_ptr<GraphRange>& made) {
  program::AllocateResult result{};
  const program::AllocateArguments arguments{bytes, program::MemoryKind::Device};
  const Error error = Session::get().call(Call::Allocate, arguments, &result);
  if (error != Error::Success) return error;
  made = std::make_shared<GraphRange>(result.address, bytes);
  state().ranges[made->address] = made;
  return Error::Success;
}

std::shared_ptr<GraphRange> range_at(const void* pointer) {
  const auto found = state().ranges.find(reinterpret_cast<std::uintptr_t>(pointer));
  return found == state().ranges.end() ? nullptr : found->second.lock();
}

Error take_memory(const GraphMemoryUse& use, std::uint32_t stream, bool auto_free, const GraphEvent& end) {
  for (const GraphMemoryUse::Allocated& of : use.allocated)
    if (of.range->allocated && !auto_free) return Error::InvalidValue;
  for (void* const pointer : use.freed) {
    const std::shared_ptr<GraphRange> range = range_at(pointer);
    if (range == nullptr || !range->allocated) return Error::InvalidValue;
  }
  for (const GraphMemoryUse::Allocated& of : use.allocated)
    if (of.range->allocated) free_range(of.range, stream, nullptr);
  for (const auto& [range, left] : use.allocated) {
    give(*range, find_block(*range, stream));
    range->block->busy = true;
    range->allocated = true;
    state().held[range->address] = range;
  }
  note_most();
  for (const GraphMemoryUse::Allocated& of : use.allocated)
    if (!of.left) free_range(of.range, stream, end);
  for (void* const pointer : use.freed) free_range(range_at(pointer), stream, end);
  return Error::Success;
}

Error free_of_graph(void* pointer, const std::uint32_t* stream) {
  const std::shared_ptr<GraphRange> range = range_at(pointer);
  if (range == nullptr || !range->allocated) return Error::InvalidValue;
  if (stream == nullptr) {
    free_range(range, 0, nullptr);
    return Error::Success;
  }
  Error error = Error::Success;
  const GraphEvent end = make_graph_event(error);
  if (error == Error::Success) error = record_event(end.get(), *stream);
  if (error == Error::Success) free_range(range, *stream, end);
  return error;
}

namespace {

/// A range of the graph that is free at this point: each of its allocations in the graph has been freed
/// before these nodes.
std::shared_ptr<GraphRange> free_before(const Graph& graph, const std::vector<Node*>& after,
                                        std::size_t bytes) {
  const std::set<const Node*> before = Graph::with_ancestors(after);
  std::map<std::uintptr_t, int> open;  // by address: allocations minus preceding frees
  std::vector<std::shared_ptr<GraphRange>> all;
  for (const auto& node : graph.nodes) {
    if (const auto* const made = std::get_if<AllocationContent>(&node->of.content)) {
      if (open[made->range->address]++ == 0) all.push_back(made->range);
    } else if (const auto* const freed = std::get_if<FreeContent>(&node->of.content)) {
      if (before.contains(node.get())) --open[reinterpret_cast<std::uintptr_t>(freed->pointer)];
    }
  }
  const auto found = std::ranges::find_if(
      all, [&](const auto& range) { return range->bytes >= bytes && open[range->address] == 0; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

Error add_allocation(Graph& graph, std::vector<Node*> after, AllocationNode& of, Node** made) {
  if (of.bytes == 0) return Error::InvalidValue;
  std::shared_ptr<GraphRange> range = free_before(graph, after, of.bytes);
  if (range == nullptr)
    if (const Error error = make_range(of.bytes, range); error != Error::Success) return error;
  of.pointer = reinterpret_cast<void*>(range->address);
  *made = graph.add({NodeType::MemAlloc, AllocationContent{of, range}, {}}, std::move(after));
  return Error::Success;
}

Error add_free(Graph& graph, std::vector<Node*> after, void* pointer, Node** made) {
  if (range_at(pointer) == nullptr) return Error::InvalidValue;
  const std::set<const Node*> before = Graph::with_ancestors(after);
  // Memory of an allocation node of this graph must be freed after this node, and only once.
  bool allocated = false;
  int open = 0;
  for (const auto& node : graph.nodes) {
    const auto* const allocation = std::get_if<AllocationContent>(&node->of.content);
    const auto* const freed = std::get_if<FreeContent>(&node->of.content);
    if (allocation != nullptr && allocation->node.pointer == pointer) {
      allocated = true;
      open += before.contains(node.get()) ? 1 : 0;
    } else if (freed != nullptr && freed->pointer == pointer) {
      --open;
    }
  }
  if (allocated ? open != 1 : open != 0) return Error::InvalidValue;
  *made = graph.add({NodeType::MemFree, FreeContent{pointer}, {}}, std::move(after));
  return Error::Success;
}

GraphMemory graph_memory() { return {state().addresses, reserved()}; }

GPUMUX_CUDART_API Error cudaDeviceGetGraphMemAttribute(int device, int which, void* value) {
  const std::scoped_lock lock(Session::get().lock());
  if (device != 0) return returned(Error::InvalidDevice);
  if (value == nullptr) return returned(Error::InvalidValue);
  return returned(attribute(which, static_cast<std::uint64_t*>(value)));
}
GPUMUX_CUDART_API Error cudaDeviceSetGraphMemAttribute(int device, int which, void* value) {
  const std::scoped_lock lock(Session::get().lock());
  if (device != 0) return returned(Error::InvalidDevice);
  // The maxima can be reset to the current values. Nothing else can be set.
  if (value == nullptr || *static_cast<const std::uint64_t*>(value) != 0)
    return returned(Error::InvalidValue);
  if (which == kMostUsed) {
    state().most_used = used();
  } else if (which == kMostReserved) {
    state().most_reserved = reserved();
  } else {
    return returned(Error::InvalidValue);
  }
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDeviceGraphMemTrim(int device) {
  const std::scoped_lock lock(Session::get().lock());
  if (device != 0) return returned(Error::InvalidDevice);
  const auto goes = [](const std::shared_ptr<GraphBlock>& block) { return !block->busy && is_over(*block); };
  for (const auto& [address, weak] : state().ranges) {
    const std::shared_ptr<GraphRange> range = weak.lock();
    if (range != nullptr && range->block != nullptr && goes(range->block)) give(*range, nullptr);
  }
  std::erase_if(state().blocks, goes);
  return Error::Success;
}

}  // namespace gpumux::cudart
