// Graphs: what a stream under capture, and calls that add nodes, leave to be done at each launch.
#pragma once

#include <cstdint>
#include <functional>

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Enqueues a node's work in the stream of this number.
using Work = std::function<Error(std::uint32_t stream)>;

/// cudaGraphNodeType.
enum class NodeType : int { Kernel, Memcpy, Memset, Host, Graph, Empty };

/// True: the stream is under capture, and `work` is a node of its graph now. Else nothing has happened.
bool captured(std::uint32_t stream, NodeType type, const Work& work);
/// The same of an event that is recorded, and of a stream that is to wait for one: which only say what
/// depends on what.
bool captured_record(std::uint32_t stream, EventHandle event);
bool captured_wait(std::uint32_t stream, EventHandle event);
[[nodiscard]] bool is_under_capture(std::uint32_t stream);

}  // namespace gpumux::cudart
