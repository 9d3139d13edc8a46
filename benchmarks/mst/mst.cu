// Minimum spanning forest of an undirected graph in compressed rows by Boruvka's algorithm, as in LonestarGPU
// (Burtscher, Nasre and Pingali, IISWC 2012). In each round, each component finds the lightest edge that leaves it, all
// components join over these edges, and labels are updated, until no edge leaves a component. A key is an edge's
// weight, followed by the edge's number. No two keys are equal, so only two components can choose each other; longer
// cycles cannot occur.

using Key = unsigned long long;
constexpr Key kNone = ~0ULL;

extern "C" __global__ void mst_init(unsigned* component, unsigned* parent, Key* lightest, unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  component[node] = node;
  parent[node] = node;
  lightest[node] = kNone;
}

// lightest[c]: the key of the lightest edge that leaves component c. Each thread processes one node.
extern "C" __global__ void mst_lightest(const unsigned* __restrict__ first, const unsigned* __restrict__ targets,
                                        const unsigned* __restrict__ weights, const unsigned* __restrict__ edges,
                                        const unsigned* __restrict__ component, Key* lightest, unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  const unsigned mine = component[node];
  Key best = kNone;
  const unsigned end = first[node + 1];
  for (unsigned at = first[node]; at < end; ++at) {
    if (component[targets[at]] == mine) continue;
    const Key key = Key{weights[at]} << 32 | edges[at];
    if (key < best) best = key;
  }
  if (best < kNone) atomicMin(&lightest[mine], best);
}

// Each component becomes a child of the component at the other end of its edge. If two components chose each other, the
// one with the smaller number stays a root. ends[edge]: the two nodes of an edge.
extern "C" __global__ void mst_join(const uint2* __restrict__ ends, const unsigned* __restrict__ component,
                                    const Key* __restrict__ lightest, unsigned* parent, unsigned* in_tree, unsigned* more,
                                    Key* weight, unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || component[node] != node) return;
  const Key key = lightest[node];
  if (key == kNone) return;
  const unsigned edge = static_cast<unsigned>(key);
  const uint2 pair = ends[edge];
  const unsigned one = component[pair.x];
  const unsigned other = one == node ? component[pair.y] : one;
  if (lightest[other] == key && node < other) return;
  parent[node] = other;
  in_tree[edge] = 1;
  *more = 1;
  atomicAdd(weight, key >> 32);
}

// Each node follows the parents to the root of its new component.
extern "C" __global__ void mst_label(unsigned* component, const unsigned* __restrict__ parent, Key* lightest,
                                     unsigned nodes) {
  const unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  unsigned root = component[node];
  for (unsigned above = parent[root]; above != root; above = parent[root]) root = above;
  component[node] = root;
  lightest[node] = kNone;
}
