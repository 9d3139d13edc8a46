// btree: queries of a B+ tree. Each block processes one query, and each of its threads compares the key with one key
// of a node. Source of the algorithm: Rodinia's b+tree, which has the same two kernels.
//
// A node of order n is an array of words: the node's number, n + 1 indices (of children, or of the records of a leaf),
// n + 1 keys in ascending order, a flag for leaves, and the number of keys. Unused keys are the largest integer. The
// first key of an inner node is the smallest integer. Child i holds the keys from key i up to, but without, key i + 1.

__device__ __forceinline__ const int* node_at(const int* nodes, long long number) {
  return nodes + number * (2 * static_cast<int>(blockDim.x) + 5);
}
__device__ __forceinline__ int index_of(const int* node) { return node[1 + threadIdx.x]; }
__device__ __forceinline__ const int* key_of(const int* node) { return node + blockDim.x + 2 + threadIdx.x; }

// Finds the child that covers `key`: the thread of this child stores the child's number in *next.
__device__ __forceinline__ void choose_child(const int* nodes, const long long* current, long long* next, int key) {
  const int* node = node_at(nodes, *current);
  const int* own = key_of(node);
  if (own[0] <= key && own[1] > key) *next = index_of(node);
}

// Stores the record of each key in `answers`; the answer to a key that is not in the tree stays unchanged. `current`
// and `next` hold one node per query, at first the root.
extern "C" __global__ void findK(long long height, const int* nodes, const int* records, long long* current,
                                 long long* next, const int* keys, int* answers) {
  const int query = blockIdx.x;
#pragma unroll 1
  for (long long level = 0; level < height; ++level) {
    choose_child(nodes, current + query, next + query, keys[query]);
    __syncthreads();
    if (threadIdx.x == 0) current[query] = next[query];
    __syncthreads();
  }
  const int* leaf = node_at(nodes, current[query]);
  if (*key_of(leaf) == keys[query]) answers[query] = records[index_of(leaf)];
}

// For each query, the records from key `starts` to key `ends`: the number of the first record, and how many there are.
extern "C" __global__ void findRangeK(long long height, const int* nodes, long long* current, long long* next,
                                      long long* last, long long* next_last, const int* starts, const int* ends,
                                      int* first_records, int* lengths) {
  const int query = blockIdx.x;
#pragma unroll 1
  for (long long level = 0; level < height; ++level) {
    choose_child(nodes, current + query, next + query, starts[query]);
    choose_child(nodes, last + query, next_last + query, ends[query]);
    __syncthreads();
    if (threadIdx.x == 0) {
      current[query] = next[query];
      last[query] = next_last[query];
    }
    __syncthreads();
  }
  const int* first_leaf = node_at(nodes, current[query]);
  if (*key_of(first_leaf) == starts[query]) first_records[query] = index_of(first_leaf);
  __syncthreads();
  const int* last_leaf = node_at(nodes, last[query]);
  if (*key_of(last_leaf) == ends[query]) lengths[query] = index_of(last_leaf) - first_records[query] + 1;
}
