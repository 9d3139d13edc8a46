// Exact matches of many short queries in a long reference, by its suffix tree, one query per thread. Source of the
// algorithm: MUMmerGPU (Schatz et al., BMC Bioinformatics 2007) as in Rodinia, with its order of operations and its
// layout: nodes of 16 bytes in two-dimensional textures, reference and queries in plain memory.
//
// A place in the textures has 24 bits, 12 for x and 12 for y. 0 means no place, and the root is at y = 1. A texel of
// `nodes` has five numbers of three bytes: parent, suffix link, first and last letter of the edge from the parent, and
// the length of the path from the root. A texel of `children` has the places of the children by letter. A query has a 0
// behind its letters and an unused letter before them; the first letter of the reference has index 1, too.

constexpr unsigned kRoot = 1u << 16;

__device__ __forceinline__ unsigned byte_of(unsigned word, int byte) { return (word >> (8 * byte)) & 0xff; }
__device__ __forceinline__ int number(unsigned a, unsigned b, unsigned c) { return a | (b << 8) | (c << 16); }
// A place from three bytes: of x, of y, and the upper four bits of both (x in the lower half).
__device__ __forceinline__ unsigned place(unsigned a, unsigned b, unsigned c) {
  return (a | ((c & 0xf) << 8)) | ((b | ((c & 0xf0) << 4)) << 16);
}
__device__ __forceinline__ uint4 texel(cudaTextureObject_t of, unsigned at) {
  return tex2D<uint4>(of, static_cast<float>(at & 0xffff), static_cast<float>(at >> 16));
}
__device__ __forceinline__ unsigned parent_of(const uint4& node) {
  return place(byte_of(node.x, 0), byte_of(node.x, 1), byte_of(node.x, 2));
}
__device__ __forceinline__ unsigned suffix_of(const uint4& node) {
  return place(byte_of(node.x, 3), byte_of(node.y, 0), byte_of(node.y, 1));
}
__device__ __forceinline__ int first_of(const uint4& node) {
  return number(byte_of(node.y, 2), byte_of(node.y, 3), byte_of(node.z, 0));
}
__device__ __forceinline__ int last_of(const uint4& node) {
  return number(byte_of(node.z, 1), byte_of(node.z, 2), byte_of(node.z, 3));
}
__device__ __forceinline__ int depth_of(const uint4& node) {
  return number(byte_of(node.w, 0), byte_of(node.w, 1), byte_of(node.w, 2));
}

// matches[query][start]: the longest match of the query from `start` on, as the node at or below its end, and its
// length. Unchanged if the length is below `least`.
extern "C" __global__ void match_queries(const char* reference, cudaTextureObject_t nodes, cudaTextureObject_t children,
                                         const char* queries, const int* begins, const int* lengths, int count, int least,
                                         int2* matches) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= count) return;
  const int letters = lengths[query];
  const int begin = begins[query];
  const char* text = queries + begin;
  int2* mine = matches + begin - query * (least + 1);
  unsigned node = 0;
  unsigned above = 0;
  int known = 0;   // letters of the edge below `node` that need no comparison
  int length = 0;  // of the match, with the letter before the query
  for (int start = 0; start <= letters - least; ++start, ++mine) {
    if (node == 0 || length < 1) {
      node = kRoot;
      length = 1;
      known = 0;
    }
    char letter = text[start + length];
    int at = 0;
    int first = 0;
    bool ended = false;  // the match ended at a node without an edge to follow
    while (letter != '\0') {
      const uint4 below = texel(children, node);
      above = node;
      switch (letter) {
        case 'A': node = place(byte_of(below.x, 0), byte_of(below.x, 1), byte_of(below.x, 2)); break;
        case 'C': node = place(byte_of(below.x, 3), byte_of(below.y, 0), byte_of(below.y, 1)); break;
        case 'G': node = place(byte_of(below.y, 2), byte_of(below.y, 3), byte_of(below.z, 0)); break;
        case 'T': node = place(byte_of(below.z, 1), byte_of(below.z, 2), byte_of(below.z, 3)); break;
        default: node = 0; break;
      }
      if (node == 0) {
        if (length > least) *mine = make_int2(above, length - 1);
        length -= 1;
        known = 0;
        ended = true;
        break;
      }
      const uint4 edge = texel(nodes, node);
      first = first_of(edge);
      const int last = last_of(edge);
      const int letters_of_edge = last - first + 1;
      if (known != 0) {
        at = min(first + known, last + 1);
        length += min(letters_of_edge, known);
        known = max(known - letters_of_edge, 0);
      } else {  // the edge was found by its first letter
        ++length;
        at = first + 1;
      }
      letter = text[start + length];
      bool differs = false;
      while (at <= last && letter != '\0') {
        if (reference[at] != letter) {
          differs = true;
          break;
        }
        ++length;
        ++at;
        letter = text[start + length];
      }
      if (differs) break;
    }
    if (!ended) {
      if (length > least) *mine = make_int2(node, length - 1);
      known = at - first;
      length -= known + 1;
    }
    // Continues with the match without its first letter.
    node = suffix_of(texel(nodes, above));
  }
}

// tops[query][start]: for a match of at least `least` letters, the highest node on its path whose depth is at least
// `least`. The leaves below this node are the places of the match in the reference. 0 for shorter matches.
extern "C" __global__ void print_matches(cudaTextureObject_t nodes, const int2* matches, int count, int starts, int least,
                                         unsigned* tops) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= count) return;
  for (int start = 0; start < starts; ++start) {
    const int2 match = matches[query * starts + start];
    unsigned top = 0;
    if (match.y >= least) {
      top = match.x;
      unsigned parent = parent_of(texel(nodes, top));
      for (uint4 node = texel(nodes, parent); depth_of(node) >= least; node = texel(nodes, parent)) {
        top = parent;
        parent = parent_of(node);
      }
    }
    tops[query * starts + start] = top;
  }
}
