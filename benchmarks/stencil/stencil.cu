// One time step of a 7-point Jacobi stencil on a 3D grid (the naive version of Parboil's stencil), with one thread per
// interior point, x fastest. Boundary points keep their values.
extern "C" __global__ void stencil_naive(float centre_weight, float neighbour_weight, const float* in,
                                         float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  const int z = blockIdx.z * blockDim.z + threadIdx.z + 1;
  if (x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  const int at = (z * ny + y) * nx + x;
  const int plane = nx * ny;
  out[at] = centre_weight * in[at] + neighbour_weight * (in[at + plane] + in[at - plane] + in[at + nx] +
                                                         in[at - nx] + in[at + 1] + in[at - 1]);
}

// A step that subtracts centre_weight times a point from neighbour_weight times the sum of its neighbours. Each block
// computes one row of a plane, with one thread per point except the last. The first thread computes nothing; it aligns
// the lanes of a warp to a multiple of 32. Source of the order of operations: Parboil's base version.
extern "C" __global__ void stencil_row(float centre_weight, float neighbour_weight, const float* in, float* out,
                                       int nx, int ny, int nz) {
  const int x = threadIdx.x;
  const int y = blockIdx.x + 1;
  const int z = blockIdx.y + 1;
  const auto at = [=](int i, int j, int k) { return i + nx * (j + ny * k); };
  if (x > 0) {
    const float sum = in[at(x, y, z + 1)] + in[at(x, y, z - 1)] + in[at(x, y + 1, z)] + in[at(x, y - 1, z)] +
                      in[at(x + 1, y, z)] + in[at(x - 1, y, z)];
    out[at(x, y, z)] = sum * neighbour_weight - in[at(x, y, z)] * centre_weight;
  }
}

// A step that subtracts centre_weight times a point from neighbour_weight times the sum of its neighbours. A block has
// 2 x blockDim.x by blockDim.y columns of the grid, two per thread, and walks along z. The current plane is in shared
// memory, the planes above and below it are in registers. Neighbours in other blocks come from global memory. Source
// of the algorithm: Parboil's block2D_hybrid_coarsen_x, with its order of operations.
extern "C" __global__ void stencil_columns(float centre_weight, float neighbour_weight, const float* in, float* out,
                                           int nx, int ny, int nz) {
  extern __shared__ float here[];
  const int width = 2 * blockDim.x;
  const int x = blockIdx.x * width + threadIdx.x;
  const int far_x = x + blockDim.x;  // x of the second column
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int own = threadIdx.y * width + threadIdx.x;
  const int far_own = own + blockDim.x;
  here[own] = 0.0f;
  here[far_own] = 0.0f;
  __syncthreads();

  // Only the first column can touch the left border of the block, and only the second column the right border.
  const bool inside = x < nx && y < ny;
  const bool far_inside = far_x < nx && y < ny;
  const bool interior = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
  const bool far_interior = y > 0 && far_x < nx - 1 && y < ny - 1;
  const bool leftmost = threadIdx.x == 0;
  const bool rightmost = threadIdx.x + blockDim.x == width - 1;
  const bool first_row = threadIdx.y == 0;
  const bool last_row = threadIdx.y == blockDim.y - 1;
  const auto at = [=](int i, int j, int k) { return i + nx * (j + ny * k); };

  float below = 0.0f, above = 0.0f, far_below = 0.0f, far_above = 0.0f;
  if (inside) {
    below = in[at(x, y, 0)];
    here[own] = in[at(x, y, 1)];
  }
  if (far_inside) {
    far_below = in[at(far_x, y, 0)];
    here[far_own] = in[at(far_x, y, 1)];
  }
  __syncthreads();

  for (int k = 1; k < nz - 1; ++k) {
    if (inside) above = in[at(x, y, k + 1)];
    if (interior) {
      const float south = last_row ? in[at(x, y + 1, k)] : here[own + width];
      const float north = first_row ? in[at(x, y - 1, k)] : here[own - width];
      const float west = leftmost ? in[at(x - 1, y, k)] : here[own - 1];
      const float sum = above + below + south + north + here[own + 1] + west;
      out[at(x, y, k)] = sum * neighbour_weight - here[own] * centre_weight;
    }
    if (far_inside) far_above = in[at(far_x, y, k + 1)];
    if (far_interior) {
      const float south = last_row ? in[at(far_x, y + 1, k)] : here[far_own + width];
      const float north = first_row ? in[at(far_x, y - 1, k)] : here[far_own - width];
      const float east = rightmost ? in[at(far_x + 1, y, k)] : here[far_own + 1];
      const float sum = far_above + far_below + south + north + east + here[far_own - 1];
      out[at(far_x, y, k)] = sum * neighbour_weight - here[far_own] * centre_weight;
    }
    __syncthreads();
    below = here[own];
    here[own] = above;
    far_below = here[far_own];
    here[far_own] = far_above;
    __syncthreads();
  }
}
