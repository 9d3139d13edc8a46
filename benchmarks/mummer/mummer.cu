// Exact matches of many short queries in a long reference, by its suffix tree; a thread has a query. Source of the
// algorithm: MUMmerGPU (Schatz et al., BMC Bioinformatics 2007), as in Rodinia, whose textures are plain loads here.
//
// Behind the reference stands a letter that no query has. A node's edge from its parent is reference[x] to reference[y - 1]; z is its suffix link, w its parent. `children` are by
// letter, 0 where there is none (0 is the root), and `depths` is the length of the path from the root.

// matches[query][start]: the node at or below the end of the longest match of the query from `start` on, and its length.
extern "C" __global__ void match_queries(const unsigned char* reference, const int4* edges, const int4* children,
                                         const int* depths, const unsigned char* queries, int count, int letters,
                                         int least, int2* matches) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= count) return;
  const int starts = letters - least + 1;
  const unsigned char* text = queries + query * letters;
  int2* mine = matches + query * starts;
  int node = 0;    // the last one on the path
  int length = 0;  // of the match so far, from `start` on
  for (int start = 0; start < starts; ++start) {
    int below = node;  // where the match ends, or the edge in which it does
    // What is known of the match by the suffix link: only first letters of edges are looked at.
    while (depths[node] < length) {
      const int4 next = children[node];
      const int letter = text[start + depths[node]];
      below = letter == 0 ? next.x : letter == 1 ? next.y : letter == 2 ? next.z : next.w;
      if (depths[below] > length) break;
      node = below;
    }
    if (depths[node] == length) below = node;
    // Letter by letter from there on.
    while (start + length < letters) {
      const int letter = text[start + length];
      if (length == depths[below]) {
        node = below;
        const int4 next = children[node];
        const int child = letter == 0 ? next.x : letter == 1 ? next.y : letter == 2 ? next.z : next.w;
        if (child == 0) break;
        below = child;
      } else if (reference[edges[below].x + length - depths[node]] != letter) {
        break;
      }
      ++length;
      if (length == depths[below]) node = below;
    }
    mine[start] = make_int2(length == 0 ? 0 : below, length);
    // On to the match without its first letter.
    node = edges[node].z;
    length = max(length - 1, 0);
  }
}

// tops[query][start]: of the nodes on the path of a match of `least` letters or more, the highest that has as many; its
// leaves are where the match is in the reference. -1: the match is shorter.
extern "C" __global__ void print_matches(const int4* edges, const int* depths, const int2* matches, int count, int starts,
                                         int least, int* tops) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= count) return;
  for (int start = 0; start < starts; ++start) {
    const int2 match = matches[query * starts + start];
    int top = -1;
    if (match.y >= least) {
      top = match.x;
      for (int parent = edges[top].w; depths[parent] >= least; parent = edges[top].w) top = parent;
    }
    tops[query * starts + start] = top;
  }
}
