// bfs: breadth-first search by levels over a graph in compressed rows, with masks for the frontier.
// Source of the algorithm: Harish and Narayanan, HiPC 2007, as in Rodinia's BFS (Che et al., IISWC 2009).

struct Node {
  int first_edge;
  int edges;
};

// Each node of the frontier leaves the frontier and sets the level of its unvisited neighbours. If several
// nodes write the same neighbour, they write the same values.
extern "C" __global__ void bfs_expand(const Node* nodes, const int* edges, bool* frontier, bool* reached,
                                      const bool* visited, int* level, int count) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < count && frontier[node]) {
    frontier[node] = false;
    // The end of the list is loaded again in each pass: the compiler cannot exclude that the stores change
    // it.
    for (int edge = nodes[node].first_edge; edge < nodes[node].first_edge + nodes[node].edges; ++edge) {
      const int neighbour = edges[edge];
      if (!visited[neighbour]) {
        level[neighbour] = level[node] + 1;
        reached[neighbour] = true;
      }
    }
  }
}

// The nodes that were reached become the next frontier. *more tells the host that the next frontier is not
// empty.
extern "C" __global__ void bfs_update(bool* frontier, bool* reached, bool* visited, bool* more, int count) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < count && reached[node]) {
    frontier[node] = true;
    visited[node] = true;
    *more = true;
    reached[node] = false;
  }
}
