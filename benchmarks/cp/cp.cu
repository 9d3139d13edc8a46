// Coulomb potential of atoms on a plane of a lattice, by direct summation. Source of the algorithm: Parboil's cp.
// Each thread computes eight points of a row, a block's width apart, so that a warp stores whole lines. Constant
// memory holds the atoms of one launch, and each launch adds to the potential of the lattice.

constexpr int kMostAtoms = 4000;
constexpr int kPoints = 8;  // per thread

struct Atom {
  float x, y, dz2, charge;  // dz2: squared distance from the plane
};
__constant__ Atom atoms[kMostAtoms];

extern "C" __global__ void lattice_energy(int count, float spacing, float* energy) {
  const int x = blockIdx.x * blockDim.x * kPoints + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int at = y * gridDim.x * blockDim.x * kPoints + x;
  const float place_y = spacing * static_cast<float>(y);
  const float place_x = spacing * static_cast<float>(x);
  const float step = spacing * static_cast<float>(blockDim.x);
  float sum[kPoints] = {};
#pragma unroll 1
  for (int a = 0; a < count; ++a) {
    const float dy = place_y - atoms[a].y;
    const float rest = dy * dy + atoms[a].dz2;
    float dx = place_x - atoms[a].x;
#pragma unroll
    for (int p = 0; p < kPoints; ++p) {
      sum[p] += atoms[a].charge * rsqrtf(dx * dx + rest);
      dx += step;
    }
  }
#pragma unroll
  for (int p = 0; p < kPoints; ++p) energy[at + p * blockDim.x] += sum[p];
}
