// Conditional nodes: words that kernels write by cudaGraphSetConditional, whose handles are their addresses.
#pragma once

#include "graph.hpp"

namespace gpumux::cudart {

/// A node of the graph by its description, which gets the graphs of its bodies.
Error describe_condition(void* graph, ConditionNode& of, NodeWork& out);

}  // namespace gpumux::cudart
