// Coulomb potential of point charges on a lattice with a cutoff (the short-range part that Parboil's cutcp
// computes): sum over atoms within the cutoff of q/r * (1 - r^2/cutoff^2)^2.
//
// The host sorts atoms into cubic bins of 8 slots (x, y, z, q; an empty slot has q = 0 and ends the bin).
// A bin is as large as the region of 8x8x8 lattice points that one block computes. Blocks have 8x2x8
// threads; a thread owns four points two apart along y. All bins that can hold an atom within the cutoff
// of the region pass through shared memory, 32 at a time.

constexpr int kSlots = 8;
constexpr int kStagedBins = 32;
constexpr int kPoints = 4;  // of a thread
constexpr int kMaxNeighbours = 512;

struct BinOffset {
  int x, y, z;
};
__constant__ BinOffset neighbours[kMaxNeighbours];
__constant__ int neighbour_count;

// How the staged atoms lie in shared memory: as vectors, or as single words, which is how Parboil's kernel
// has them (four loads for an atom, not one).
struct Vectors {
  float4 atoms[kStagedBins * kSlots];
  __device__ void put(int slot, float4 atom) { atoms[slot] = atom; }
  __device__ float4 get(int slot) const { return atoms[slot]; }
};
struct Words {
  float words[kStagedBins * kSlots * 4];
  __device__ void put(int slot, float4 atom) {
    float* to = words + 4 * slot;
    to[0] = atom.x;
    to[1] = atom.y;
    to[2] = atom.z;
    to[3] = atom.w;
  }
  __device__ float4 get(int slot) const {
    const float* from = words + 4 * slot;
    return make_float4(from[0], from[1], from[2], from[3]);
  }
};

// What both kernels do.
// `margin`: empty bins around the lattice on each side, at least as many as the largest offset, so that no
// neighbour lies outside. bins_x, bins_y: extent of the bin grid, margins included. first_z: region along z of
// the first blocks.
template <typename Staged>
__device__ __forceinline__ void compute(const float4* bins, float* potential, int bins_x, int bins_y,
                                        int margin, float spacing, float cutoff_squared,
                                        float inverse_cutoff_squared, int first_z) {
  __shared__ Staged staged;
  __shared__ BinOffset home;  // the region's own bin
  const int thread = (threadIdx.z * 2 + threadIdx.y) * 8 + threadIdx.x;
  const int point_x = blockIdx.x * 8 + threadIdx.x;
  const int point_y = blockIdx.y * 8 + threadIdx.y;
  const int point_z = (first_z + blockIdx.z) * 8 + threadIdx.z;
  const float x = point_x * spacing;
  const float y = point_y * spacing;
  const float z = point_z * spacing;
  if (thread == 0) home = {int(blockIdx.x) + margin, int(blockIdx.y) + margin, first_z + int(blockIdx.z) + margin};
  const float point_step = 2 * spacing;
  float sum[kPoints] = {};

  for (int first = 0; first < neighbour_count; first += kStagedBins) {
    const int count = min(neighbour_count - first, kStagedBins);
    // All have finished with the previous bins. Eight threads copy a bin: 16 bins at a time.
    __syncthreads();
#pragma unroll 1
    for (int bin = thread / kSlots; bin < count; bin += 128 / kSlots) {
      const BinOffset offset = neighbours[first + bin];
      const int bin_x = home.x + offset.x;
      const int bin_y = home.y + offset.y;
      const int bin_z = home.z + offset.z;
      staged.put(bin * kSlots + thread % kSlots,
                 bins[((bin_z * bins_y + bin_y) * bins_x + bin_x) * kSlots + thread % kSlots]);
    }
    __syncthreads();
    for (int bin = 0; bin < count; ++bin) {
#pragma unroll 1
      for (int slot = 0; slot < kSlots; ++slot) {
        const float4 atom = staged.get(bin * kSlots + slot);
        if (atom.w == 0.0f) break;
        const float dx = atom.x - x;
        const float dz = atom.z - z;
        const float plane = dx * dx + dz * dz;
        const float dy = atom.y - y;
#pragma unroll
        for (int point = 0; point < kPoints; ++point) {
          const float point_dy = dy - point * point_step;
          const float r2 = plane + point_dy * point_dy;
          if (r2 < cutoff_squared) {
            const float s = 1.0f - r2 * inverse_cutoff_squared;
            sum[point] += atom.w * rsqrtf(r2) * s * s;
          }
        }
      }
    }
  }
  const int points_x = gridDim.x * 8;
  const int points_y = gridDim.y * 8;
  float* out = potential + (point_z * points_y + point_y) * points_x + point_x;
#pragma unroll
  for (int point = 0; point < kPoints; ++point) out[2 * point * points_x] = sum[point];
}

extern "C" __global__ void cutcp_lattice(const float4* bins, float* potential, int bins_x, int bins_y,
                                         int margin, float spacing, float cutoff_squared,
                                         float inverse_cutoff_squared) {
  compute<Vectors>(bins, potential, bins_x, bins_y, margin, spacing, cutoff_squared, inverse_cutoff_squared, 0);
}

extern "C" __global__ void cutcp_words(const float4* bins, float* potential, int bins_x, int bins_y,
                                       int margin, float spacing, float cutoff_squared,
                                       float inverse_cutoff_squared) {
  compute<Words>(bins, potential, bins_x, bins_y, margin, spacing, cutoff_squared, inverse_cutoff_squared, 0);
}

// A plane of regions in a launch, as Parboil's program has them.
extern "C" __global__ void cutcp_plane(const float4* bins, float* potential, int bins_x, int bins_y, int margin,
                                       float spacing, float cutoff_squared, float inverse_cutoff_squared,
                                       int plane) {
  compute<Words>(bins, potential, bins_x, bins_y, margin, spacing, cutoff_squared, inverse_cutoff_squared, plane);
}
