// Declarations for both translation units of nested.cu.
#pragma once

/// value = value * factor + addend. The result depends on the order of steps.
__global__ void step(unsigned* value, unsigned factor, unsigned addend);
