// One step of a lattice Boltzmann fluid with 19 velocities (D3Q19, BGK), driven at a lid, with solid cells. Source of
// the algorithm: Parboil's lbm. A thread has a cell, a block a row of cells; the field of each velocity lies for
// itself, so that a warp reads and writes lines. What streams out of a cell is written where it arrives.

constexpr int kVelocities = 19;

// flags: 0 fluid, 1 solid, 2 lid, which moves at lid_speed along x.
extern "C" __global__ void stream_collide(const float* from, float* to, const unsigned char* flags, float omega,
                                          float lid_speed) {
  constexpr int kX[kVelocities] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  constexpr int kY[kVelocities] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  constexpr int kZ[kVelocities] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  const int nx = blockDim.x, ny = gridDim.x, nz = gridDim.y;
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  const int cells = nx * ny * nz;
  const int cell = (z * ny + y) * nx + x;
  float f[kVelocities];
  float density = 0, momentum_x = 0, momentum_y = 0, momentum_z = 0;
#pragma unroll
  for (int v = 0; v < kVelocities; ++v) {
    f[v] = from[v * cells + cell];
    density += f[v];
    momentum_x += f[v] * kX[v];
    momentum_y += f[v] * kY[v];
    momentum_z += f[v] * kZ[v];
  }
  const int flag = flags[cell];
  float ux = momentum_x / density, uy = momentum_y / density, uz = momentum_z / density;
  if (flag == 2) {
    ux = lid_speed;
    uy = 0;
    uz = 0;
  }
  // Around the edges the lattice goes on at the other side.
  const int at_x[3] = {x == 0 ? nx - 1 : x - 1, x, x + 1 == nx ? 0 : x + 1};
  const int at_y[3] = {y == 0 ? ny - 1 : y - 1, y, y + 1 == ny ? 0 : y + 1};
  const int at_z[3] = {z == 0 ? nz - 1 : z - 1, z, z + 1 == nz ? 0 : z + 1};
  const float square = 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
  for (int v = 0; v < kVelocities; ++v) {
    const int target = (at_z[1 + kZ[v]] * ny + at_y[1 + kY[v]]) * nx + at_x[1 + kX[v]];
    const int moving = kX[v] * kX[v] + kY[v] * kY[v] + kZ[v] * kZ[v];
    const float weight = moving == 0 ? 1.0f / 3 : moving == 1 ? 1.0f / 18 : 1.0f / 36;
    const float along = 3.0f * (kX[v] * ux + kY[v] * uy + kZ[v] * uz);
    const float equilibrium = weight * density * (1.0f + along * (1.0f + 0.5f * along) - square);
    const float collided = f[v] + omega * (equilibrium - f[v]);
    // A solid cell sends back what has come: velocities lie in pairs of opposites behind the first.
    const int opposite = v == 0 ? 0 : ((v - 1) ^ 1) + 1;
    to[v * cells + target] = flag == 1 ? f[opposite] : collided;
  }
}
