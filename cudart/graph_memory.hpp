// Memory of graphs. An allocation node gets fixed addresses when it is created. The memory behind them is
// taken by launches, and graphs that do not run at the same time share it.
//
// In gpumux, each address range is an allocation of its own for its whole life. The sharing of memory is only
// accounted for, which is all that a program can observe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session.hpp"

namespace gpumux::cudart {

struct GraphBlock;

/// The addresses of one allocation node, or of several nodes that use them in turn. The range is freed when
/// the last graph or instantiated graph with it is gone and its memory was freed.
struct GraphRange {
  GraphRange(std::uintptr_t at, std::size_t size);
  ~GraphRange();
  GraphRange(const GraphRange&) = delete;
  GraphRange& operator=(const GraphRange&) = delete;

  std::uintptr_t address;
  std::size_t bytes;
  bool allocated = false;  // allocated by a launch and not freed yet
  std::shared_ptr<GraphBlock> block;
};

/// An event of a launch or a stream, recorded after the last work that may use some memory.
using GraphEvent = std::shared_ptr<void>;
[[nodiscard]] GraphEvent make_graph_event(Error& error);

// Callers of the following functions must hold the session's lock.
Error make_range(std::size_t bytes, std::shared_ptr<GraphRange>& made);
[[nodiscard]] std::shared_ptr<GraphRange> range_at(const void* pointer);

/// The allocations and frees of a launch.
struct GraphMemoryUse {
  struct Allocated {
    std::shared_ptr<GraphRange> range;
    bool left = false;  // still allocated after the launch
  };
  std::vector<Allocated> allocated;
  std::vector<void*> freed;  // memory that other launches have allocated
};
/// Must be called before a launch in a stream. `auto_free`: frees memory that the previous launch left
/// allocated. Returns InvalidValue if memory to allocate is still allocated, or memory to free is not.
Error take_memory(const GraphMemoryUse& use, std::uint32_t stream, bool auto_free, const GraphEvent& end);

/// Like cudaFree and cudaFreeAsync for graph memory. `stream`: nullptr if the device has been waited for.
Error free_of_graph(void* pointer, const std::uint32_t* stream);

struct GraphMemory {
  std::size_t addresses = 0;  // bytes of address ranges
  std::size_t reserved = 0;
};
[[nodiscard]] GraphMemory graph_memory();

}  // namespace gpumux::cudart
