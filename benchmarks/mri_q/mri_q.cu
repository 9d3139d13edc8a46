// The matrix Q of a magnetic resonance image that is reconstructed from samples off a grid: a Fourier sum over all
// samples for each voxel. Source of the algorithm: Parboil's mri-q, with its order of operations. Constant memory
// holds the samples of one launch, and each launch adds to the voxels' sums. The fast functions get whole angles,
// without removal of full turns.

constexpr int kMostSamples = 1024;

struct Sample {
  float kx, ky, kz, weight;
};
__constant__ Sample samples[kMostSamples];

extern "C" __global__ void phi_magnitude(const float* real, const float* imaginary, float* magnitude, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) magnitude[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
}

// Adds the samples of one launch. `first`: the index, among `total`, of the launch's first sample. Each step adds two
// samples; if `total` is odd, the last launch adds one sample before its first step.
extern "C" __global__ void compute_q(int total, int first, const float* x, const float* y, const float* z, float* real,
                                     float* imaginary) {
  constexpr float kTurn = 6.2831853071795864769f;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float mine_x = x[i], mine_y = y[i], mine_z = z[i];
  float sum_real = real[i], sum_imaginary = imaginary[i];
  const auto add = [&](const Sample& sample) {
    const float angle = kTurn * (sample.kx * mine_x + sample.ky * mine_y + sample.kz * mine_z);
    sum_real += sample.weight * __cosf(angle);
    sum_imaginary += sample.weight * __sinf(angle);
  };
  int local = 0;
  if (total % 2 != 0 && total - first < kMostSamples) {
    add(samples[0]);
    ++local;
    ++first;
  }
  for (; local < kMostSamples && first < total; local += 2, first += 2) {
    add(samples[local]);
    add(samples[local + 1]);
  }
  real[i] = sum_real;
  imaginary[i] = sum_imaginary;
}
