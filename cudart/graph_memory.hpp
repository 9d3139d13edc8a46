// Memory of graphs: addresses that they have from the day on which a node of theirs allocates, and what
// memory there is behind them, which launches take and graphs that are not under way share.
//
// Addresses are allocations of gpumux from then on, of their own bytes each; that memory is shared among them
// is an account, which is all that a program sees of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session.hpp"

namespace gpumux::cudart {

struct GraphBlock;

/// Addresses of one allocation node, or of several one behind the other. They go with the last graph, or what
/// was made of one, that has them, and when their memory has been freed.
struct GraphRange {
  GraphRange(std::uintptr_t at, std::size_t size);
  ~GraphRange();
  GraphRange(const GraphRange&) = delete;
  GraphRange& operator=(const GraphRange&) = delete;

  std::uintptr_t address;
  std::size_t bytes;
  bool allocated = false;  // by a launch, and not freed
  std::shared_ptr<GraphBlock> block;
};

/// An event of a launch or a stream, recorded behind the last work that may use some memory.
using GraphEvent = std::shared_ptr<void>;
[[nodiscard]] GraphEvent make_graph_event(Error& error);

// For callers that hold the session's lock, as all that follow.
Error make_range(std::size_t bytes, std::shared_ptr<GraphRange>& made);
[[nodiscard]] std::shared_ptr<GraphRange> range_at(const void* pointer);

/// What a launch does with memory.
struct GraphMemoryUse {
  struct Allocated {
    std::shared_ptr<GraphRange> range;
    bool left = false;  // behind the launch, too
  };
  std::vector<Allocated> allocated;
  std::vector<void*> freed;  // that others have allocated
};
/// Before a launch in a stream. `auto_free`: what the last one has left allocated is freed. InvalidValue: it
/// is still allocated, or what is to be freed is not.
Error take_memory(const GraphMemoryUse& use, std::uint32_t stream, bool auto_free, const GraphEvent& end);

/// As cudaFree and cudaFreeAsync of such memory; `stream`: nullptr: the device has been waited for.
Error free_of_graph(void* pointer, const std::uint32_t* stream);

struct GraphMemory {
  std::size_t addresses = 0;  // bytes
  std::size_t reserved = 0;
};
[[nodiscard]] GraphMemory graph_memory();

}  // namespace gpumux::cudart
