// One step of a lattice Boltzmann fluid with 19 velocities (D3Q19, BGK) in a box with solid walls. Source of the
// algorithm and of the memory layout: Parboil's lbm. A thread computes a cell, a block a row of cells. Each velocity
// has its own field, so that a warp reads and writes whole lines. A population that streams out of a cell is written
// to the cell that it enters. If it leaves the box, that cell is padding, or a wall's population that never reaches
// the fluid, so no test for the edges of the box is needed. The extents of a field are constants, so each access is
// one address of the thread plus an offset in the instruction. lbm.hpp has the same layout.

constexpr int kVelocities = 19;
// Distance between rows, in cells. Each row begins at a line.
constexpr int kPitchX = 128;

// Adds `value` times a velocity's component (-1, 0, 1) to `sum`; the first value starts the sum. The component is
// known at compile time, so that 0 costs nothing.
__device__ void add_component(float& sum, bool& begun, int component, float value) {
  if (component == 0) return;
  if (begun) {
    sum = component > 0 ? sum + value : sum - value;
  } else {
    sum = component > 0 ? value : -value;
  }
  begun = true;
}

// One step of the thread's cell. Bit 0 of a flag: solid; bit 1: driven, at a fixed velocity. The field of flags
// follows the fields of the velocities.
template <int kPitchY, int kPitchZ>
__device__ void step(const float* from, float* to) {
  constexpr int kX[kVelocities] = {0, 0, 0, 1, -1, 0, 0, 1, -1, 1, -1, 0, 0, 0, 0, 1, 1, -1, -1};
  constexpr int kY[kVelocities] = {0, 1, -1, 0, 0, 0, 0, 1, 1, -1, -1, 1, 1, -1, -1, 0, 0, 0, 0};
  constexpr int kZ[kVelocities] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1};
  constexpr int kOpposite[kVelocities] = {0, 2, 1, 4, 3, 6, 5, 10, 9, 8, 7, 14, 13, 12, 11, 18, 17, 16, 15};
  constexpr int kField = kPitchX * kPitchY * kPitchZ;
  constexpr float kOmega = 1.95f;

  const int cell = (blockIdx.y * kPitchY + blockIdx.x) * kPitchX + threadIdx.x;
  float f[kVelocities];
#pragma unroll
  for (int v = 0; v < kVelocities; ++v) f[v] = from[v * kField + cell];
  const unsigned flag = reinterpret_cast<const unsigned*>(from)[kVelocities * kField + cell];

  if (flag & 1) {
    // A solid cell reflects the populations that arrived.
#pragma unroll
    for (int v = 0; v < kVelocities; ++v) {
      if (v > kOpposite[v]) continue;
      const float kept = f[v];
      f[v] = f[kOpposite[v]];
      f[kOpposite[v]] = kept;
    }
  } else {
    float density = f[0];
    float u[3];
    bool begun[3] = {false, false, false};
#pragma unroll
    for (int v = 1; v < kVelocities; ++v) {
      density += f[v];
      add_component(u[0], begun[0], kX[v], f[v]);
      add_component(u[1], begun[1], kY[v], f[v]);
      add_component(u[2], begun[2], kZ[v], f[v]);
    }
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) u[axis] /= density;
    if (flag & 2) {
      u[0] = 0.005f;
      u[1] = 0.002f;
      u[2] = 0;
    }
    const float square = 1.5f * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - 1.0f;
    const float rate = kOmega * density;
#pragma unroll
    for (int v = 0; v < kVelocities; ++v) {
      const int moving = kX[v] * kX[v] + kY[v] * kY[v] + kZ[v] * kZ[v];
      const float weighted = (moving == 0 ? 1.0f / 3 : moving == 1 ? 1.0f / 18 : 1.0f / 36) * rate;
      // Both directions of an axis use u along the axis; the linear term has the sign.
      const bool along_axis = moving == 1;
      const int sign = along_axis ? kX[v] + kY[v] + kZ[v] : 1;
      float along = 0;
      bool any = false;
      add_component(along, any, sign * kX[v], u[0]);
      add_component(along, any, sign * kY[v], u[1]);
      add_component(along, any, sign * kZ[v], u[2]);
      const float shape = moving == 0 ? -square : along * (4.5f * along + sign * 3.0f) - square;
      f[v] = (1.0f - kOmega) * f[v] + weighted * shape;
    }
  }
#pragma unroll
  for (int v = 0; v < kVelocities; ++v)
    to[v * kField + cell + (kZ[v] * kPitchY + kY[v]) * kPitchX + kX[v]] = f[v];
}

// Parboil's box, 120x120x150, with two planes of padding at each end.
extern "C" __global__ void stream_collide(const float* from, float* to) { step<120, 154>(from, to); }

// Boxes of up to 120x30x16, with less memory.
extern "C" __global__ void stream_collide_small(const float* from, float* to) { step<30, 20>(from, to); }
