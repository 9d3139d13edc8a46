// Coulomb potential of point charges on a lattice with a cutoff (the short-range part that Parboil's cutcp
// computes): sum over atoms within the cutoff of q/r * (1 - r^2/cutoff^2)^2.
//
// The host sorts atoms into cubic bins of 8 slots (x, y, z, q). A slot with q = 0 is empty and ends the bin. A bin is
// as large as a region, which is 8x8x8 lattice points. In the kernels with four points per thread, one block of 8x2x8
// threads computes a region, and the points of a thread are two apart along y. All bins that can hold an atom within
// the cutoff of the region pass through shared memory, 32 at a time.

constexpr int kSlots = 8;
constexpr int kStagedBins = 32;
constexpr int kPoints = 4;  // per thread
constexpr int kMaxNeighbours = 512;

struct BinOffset {
  int x, y, z;
};
__constant__ BinOffset neighbours[kMaxNeighbours];
__constant__ int neighbour_count;

// The bin of neighbour `number` of the bin `home`.
__device__ __forceinline__ int bin_index(BinOffset home, int number, int bins_x, int bins_y) {
  const BinOffset offset = neighbours[number];
  const int bin_x = home.x + offset.x;
  const int bin_y = home.y + offset.y;
  const int bin_z = home.z + offset.z;
  return (bin_z * bins_y + bin_y) * bins_x + bin_x;
}

__device__ __forceinline__ void store(float* potential, int point_x, int point_y, int point_z, const float* sum) {
  const int points_x = gridDim.x * 8;
  const int points_y = gridDim.y * 8;
  float* out = potential + (point_z * points_y + point_y) * points_x + point_x;
#pragma unroll
  for (int point = 0; point < kPoints; ++point) out[2 * point * points_x] = sum[point];
}

// Parameters of all kernels. `margin`: number of empty bins around the lattice on each side, at least the largest
// offset, so that all neighbours are inside. bins_x, bins_y: extent of the bin grid, margins included.

// One block per region, four points per thread. Staged atoms are vectors: one load each.
extern "C" __global__ void cutcp_lattice(const float4* bins, float* potential, int bins_x, int bins_y,
                                         int margin, float spacing, float cutoff_squared,
                                         float inverse_cutoff_squared) {
  __shared__ float4 staged[kStagedBins * kSlots];
  __shared__ BinOffset home;  // the region's own bin
  const int thread = (threadIdx.z * 2 + threadIdx.y) * 8 + threadIdx.x;
  const int point_x = blockIdx.x * 8 + threadIdx.x;
  const int point_y = blockIdx.y * 8 + threadIdx.y;
  const int point_z = blockIdx.z * 8 + threadIdx.z;
  const float x = point_x * spacing;
  const float y = point_y * spacing;
  const float z = point_z * spacing;
  if (thread == 0) home = {int(blockIdx.x) + margin, int(blockIdx.y) + margin, int(blockIdx.z) + margin};
  const float point_step = 2 * spacing;
  float sum[kPoints] = {};

  for (int first = 0; first < neighbour_count; first += kStagedBins) {
    const int count = min(neighbour_count - first, kStagedBins);
    // Waits until all threads have finished with the previous bins. Then eight threads copy a bin, 16 bins at a time.
    __syncthreads();
#pragma unroll 1
    for (int bin = thread / kSlots; bin < count; bin += 128 / kSlots)
      staged[bin * kSlots + thread % kSlots] =
          bins[bin_index(home, first + bin, bins_x, bins_y) * kSlots + thread % kSlots];
    __syncthreads();
    for (int bin = 0; bin < count; ++bin) {
#pragma unroll 1
      for (int slot = 0; slot < kSlots; ++slot) {
        const float4 atom = staged[bin * kSlots + slot];
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
  store(potential, point_x, point_y, point_z, sum);
}

// Both kernels below keep the order of operations of one of Parboil's two programs. Staged atoms are single words, of
// an empty slot only the charge is used, and a launch computes one plane of regions.

constexpr int kCopying = 16;             // threads that copy one bin
constexpr int kAtOnce = 128 / kCopying;  // bins copied at a time
constexpr int kBinWords = 4 * kSlots;

// Copies up to kStagedBins neighbours of the bin `home`, from the thread's `next` on.
__device__ __forceinline__ void stage(float* staged, const float4* bins, BinOffset home, int& next, int group, int lane,
                                      int bins_x, int bins_y) {
  for (int turn = 0; turn < kStagedBins / kAtOnce && next < neighbour_count; ++turn, next += kAtOnce) {
    const float* from = reinterpret_cast<const float*>(bins) + bin_index(home, next, bins_x, bins_y) * kBinWords;
    float* to = staged + (turn * kAtOnce + group) * kBinWords;
    to[lane] = from[lane];
    to[lane + kCopying] = from[lane + kCopying];
  }
}

// One block per region of the plane, four points per thread: Parboil's program for CUDA.
extern "C" __global__ void cutcp_plane(const float4* bins, float* potential, int bins_x, int bins_y, int margin,
                                       float spacing, float cutoff_squared, float inverse_cutoff_squared,
                                       int plane) {
  __shared__ float staged[kStagedBins * kBinWords];
  __shared__ BinOffset home;  // the region's own bin
  const int thread = (threadIdx.z * 2 + threadIdx.y) * 8 + threadIdx.x;
  const int group = thread / kCopying;
  const int lane = thread % kCopying;
  const int point_x = blockIdx.x * 8 + threadIdx.x;
  const int point_y = blockIdx.y * 8 + threadIdx.y;
  const int point_z = plane * 8 + threadIdx.z;
  const float x = point_x * spacing;
  const float y = point_y * spacing;
  const float z = point_z * spacing;
  if (thread == 0) home = {int(blockIdx.x) + margin, int(blockIdx.y) + margin, plane + margin};
  __syncthreads();
  float sum[kPoints] = {};

  int next = group;  // next neighbour to be copied
  for (int first = 0; first < neighbour_count; first += kStagedBins) {
    stage(staged, bins, home, next, group, lane, bins_x, bins_y);
    __syncthreads();
    const int words = min(neighbour_count - first, kStagedBins) * kBinWords;
    for (int bin = 0; bin < words; bin += kBinWords) {
      for (int slot = 0; slot < kSlots; ++slot) {
        const float* atom = staged + bin + 4 * slot;
        const float charge = atom[3];
        if (charge == 0.0f) break;
        const float dx = atom[0] - x;
        const float dz = atom[2] - z;
        const float plane_squared = dx * dx + dz * dz;
        float dy = atom[1] - y;
#pragma unroll
        for (int point = 0; point < kPoints; ++point) {
          const float r2 = dy * dy + plane_squared;
          if (r2 < cutoff_squared) {
            const float s = 1.0f - r2 * inverse_cutoff_squared;
            sum[point] += charge * rsqrtf(r2) * s * s;
          }
          dy -= 2.0f * spacing;  // the thread's next point
        }
      }
    }
    __syncthreads();
  }
  store(potential, point_x, point_y, point_z, sum);
}

// One point per thread: Parboil's base program. Four blocks of 8x8x2 points share a region, whose points are contiguous
// in `potential`. The values that all threads of a block need are in shared memory. Each thread writes them itself, so
// that no thread waits.
extern "C" __global__ void cutcp_points(const float4* bins, float* potential, int bins_x, int bins_y, int margin,
                                        float spacing, float cutoff_squared, float inverse_cutoff_squared,
                                        int plane) {
  constexpr int kRegion = 8 * 8 * 8;
  __shared__ float staged[kStagedBins * kBinWords];
  __shared__ float* volatile out;  // the block's quarter of the region
  __shared__ BinOffset home;
  const int region_x = blockIdx.x >> 2;
  const int quarter = blockIdx.x & 3;
  const int thread = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
  out = potential + ((plane * gridDim.y + blockIdx.y) * (gridDim.x >> 2) + region_x) * kRegion + quarter * (kRegion / 4);
  const float x = (8 * region_x + threadIdx.x) * spacing;
  const float y = (8 * blockIdx.y + threadIdx.y) * spacing;
  const float z = (8 * plane + 2 * quarter + threadIdx.z) * spacing;
  home = {region_x + margin, int(blockIdx.y) + margin, plane + margin};
  float sum = 0.0f;

  int next = thread / kCopying;  // next neighbour to be copied
  for (int first = 0; first < neighbour_count; first += kStagedBins) {
    stage(staged, bins, home, next, thread / kCopying, thread % kCopying, bins_x, bins_y);
    __syncthreads();
    const int count = min(neighbour_count - first, kStagedBins);
    for (int bin = 0; bin < count; ++bin) {
      for (int slot = 0; slot < kSlots; ++slot) {
        const float* atom = staged + bin * kBinWords + 4 * slot;
        const float charge = atom[3];
        if (charge == 0.0f) break;
        const float dx = atom[0] - x;
        const float dy = atom[1] - y;
        const float dz = atom[2] - z;
        const float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cutoff_squared) {
          const float s = 1.0f - r2 * inverse_cutoff_squared;
          sum += charge * rsqrtf(r2) * s * s;
        }
      }
    }
    __syncthreads();
  }
  out[thread] = sum;
}
