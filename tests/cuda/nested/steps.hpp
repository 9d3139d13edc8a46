// What both units of nested.cu know.
#pragma once

/// value = value * factor + addend: in another order another value.
__global__ void step(unsigned* value, unsigned factor, unsigned addend);
