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
