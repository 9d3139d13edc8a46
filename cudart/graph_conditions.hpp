// Conditional nodes. Kernels set their conditions by cudaGraphSetConditional. A condition's handle is the
// address of its word.
#pragma once

#include "graph.hpp"

namespace gpumux::cudart {

/// Describes a conditional node. `of` receives the graphs of its bodies.
Error describe_condition(void* graph, ConditionNode& of, NodeWork& out);

}  // namespace gpumux::cudart
