// One time step of a 7-point Jacobi stencil on a 3D grid (the naive version of Parboil's stencil): one
// thread per interior point, x fastest; boundary points keep their values.
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

// The same step with blocks that cover a piece of a plane, its boundary included: the lanes of a warp begin at a
// multiple of 32 in x, so that five of the seven loads touch one line where nx is such a multiple.
extern "C" __global__ void stencil_rows(float centre_weight, float neighbour_weight, const float* in, float* out,
                                        int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z + 1;
  if (x == 0 || x >= nx - 1 || y == 0 || y >= ny - 1) return;
  const int at = (z * ny + y) * nx + x;
  const int plane = nx * ny;
  out[at] = centre_weight * in[at] + neighbour_weight * (in[at + plane] + in[at - plane] + in[at + nx] +
                                                         in[at - nx] + in[at + 1] + in[at - 1]);
}

// The same step for a column of the grid at a time: a block has 2 x blockDim.x by blockDim.y columns, two a thread, and
// walks along z; the plane that it is in is in shared memory, the ones above and below in registers. Source: Parboil's
// block2D_hybrid_coarsen_x.
extern "C" __global__ void stencil_columns(float centre_weight, float neighbour_weight, const float* in, float* out,
                                           int nx, int ny, int nz) {
  extern __shared__ float here[];
  const int width = 2 * blockDim.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  const int plane = nx * ny;
  const int own[2] = {static_cast<int>(threadIdx.y * width + threadIdx.x),
                      static_cast<int>(threadIdx.y * width + threadIdx.x + blockDim.x)};
  const int x[2] = {static_cast<int>(blockIdx.x * width + threadIdx.x),
                    static_cast<int>(blockIdx.x * width + threadIdx.x + blockDim.x)};
  float below[2] = {0.0f, 0.0f};
  float current[2] = {0.0f, 0.0f};
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    if (x[c] >= nx || j >= ny) continue;
    below[c] = in[j * nx + x[c]];
    current[c] = in[plane + j * nx + x[c]];
  }
  for (int k = 1; k < nz - 1; ++k) {
#pragma unroll
    for (int c = 0; c < 2; ++c) here[own[c]] = current[c];
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (x[c] >= nx || j >= ny) continue;
      const int at = k * plane + j * nx + x[c];
      const float above = in[at + plane];
      if (x[c] > 0 && x[c] < nx - 1 && j > 0 && j < ny - 1) {
        const int column = own[c] - threadIdx.y * width;
        const float west = column > 0 ? here[own[c] - 1] : in[at - 1];
        const float east = column < width - 1 ? here[own[c] + 1] : in[at + 1];
        const float north = threadIdx.y > 0 ? here[own[c] - width] : in[at - nx];
        const float south = threadIdx.y < blockDim.y - 1 ? here[own[c] + width] : in[at + nx];
        out[at] = centre_weight * current[c] + neighbour_weight * (above + below[c] + south + north + east + west);
      }
      below[c] = current[c];
      current[c] = above;
    }
    __syncthreads();
  }
}
