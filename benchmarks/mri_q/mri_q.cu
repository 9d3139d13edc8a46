// The matrix Q of a magnetic resonance image that is reconstructed from samples off a grid: a Fourier sum over all
// samples for each voxel. Source of the algorithm: Parboil's mri-q. Samples are in constant memory, so many a launch,
// and each launch adds to what the voxels hold. Angles are in turns until the last step, and reduced to half a turn
// there, where the fast functions are good.

constexpr int kMostSamples = 1024;

struct Sample {
  float kx, ky, kz, weight;
};
__constant__ Sample samples[kMostSamples];

extern "C" __global__ void phi_magnitude(const float* real, const float* imaginary, float* magnitude, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) magnitude[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
}

extern "C" __global__ void compute_q(int count, const float* x, const float* y, const float* z, float* real,
                                     float* imaginary) {
  constexpr float kTurn = 6.2831853071795864769f;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float mine_x = x[i], mine_y = y[i], mine_z = z[i];
  float sum_real = real[i], sum_imaginary = imaginary[i];
#pragma unroll 4
  for (int s = 0; s < count; ++s) {
    float turns = samples[s].kx * mine_x + samples[s].ky * mine_y + samples[s].kz * mine_z;
    turns -= rintf(turns);
    sum_real += samples[s].weight * __cosf(kTurn * turns);
    sum_imaginary += samples[s].weight * __sinf(kTurn * turns);
  }
  real[i] = sum_real;
  imaginary[i] = sum_imaginary;
}
