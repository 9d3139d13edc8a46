// Distances from a node of a graph in compressed rows, by relaxation of edges. Source of the algorithms: LonestarGPU
// (Burtscher, Nasre and Pingali, A Quantitative Study of Irregular Programs on GPUs, IISWC 2012). Its breadth-first
// search (by topology) relaxes, in each round, the edges of all nodes that have been reached, until nothing changes.
// Its shortest paths (by data) relax the edges of the nodes in a work list, which the round before has improved.

constexpr unsigned kFar = 0xffffffffU;

extern "C" __global__ void relax_init(unsigned* distances, unsigned source, unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < nodes) distances[node] = node == source ? 0 : kFar;
}

// A round of the breadth-first search. A thread may or may not see what others improve in the same launch; a later
// round sees it.
extern "C" __global__ void bfs_relax(const unsigned* __restrict__ first, const unsigned* __restrict__ targets,
                                     unsigned* distances, unsigned* changed, unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  const unsigned distance = distances[node];
  if (distance == kFar) return;
  const unsigned end = first[node + 1];
  for (unsigned edge = first[node]; edge < end; ++edge) {
    const unsigned target = targets[edge];
    if (distances[target] > distance + 1 && atomicMin(&distances[target], distance + 1) > distance + 1) *changed = 1;
  }
}

// A round of shortest paths. A list contains a node at most once: `queued` is 1 while the node is in a list.
extern "C" __global__ void sssp_relax(const unsigned* __restrict__ first, const unsigned* __restrict__ targets,
                                      const unsigned* __restrict__ weights, unsigned* distances, unsigned* queued,
                                      const unsigned* list, unsigned count, unsigned* next, unsigned* next_count) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const unsigned node = list[at];
  atomicExch(&queued[node], 0U);
  // A thread that finds the node still queued has written a distance before, and this read must see that distance.
  __threadfence();
  const unsigned distance = *static_cast<volatile unsigned*>(&distances[node]);
  const unsigned end = first[node + 1];
  for (unsigned edge = first[node]; edge < end; ++edge) {
    const unsigned target = targets[edge];
    const unsigned nearer = distance + weights[edge];
    if (distances[target] > nearer && atomicMin(&distances[target], nearer) > nearer) {
      __threadfence();
      if (atomicExch(&queued[target], 1U) == 0) next[atomicAdd(next_count, 1U)] = target;
    }
  }
}
