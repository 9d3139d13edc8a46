// Blocks that synchronise with each other. Made into PTX by regenerate.sh.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// out[t] = the sum of data[0] to data[t]: doubling distances, a step for all blocks at a time.
extern "C" __global__ void grid_sum(int* data, int* out, int n) {
  auto grid = cg::this_grid();
  const int t = static_cast<int>(grid.thread_rank());
  for (int step = 1; step < n; step *= 2) {
    const int v = t >= step ? data[t - step] : 0;
    grid.sync();
    data[t] += v;
    grid.sync();
  }
  out[t] = data[t] + (grid.is_valid() ? 0 : 1000);
}
