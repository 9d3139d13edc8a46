#include "steps.hpp"

__global__ void step(unsigned* value, unsigned factor, unsigned addend) { *value = *value * factor + addend; }
