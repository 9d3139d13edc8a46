// MRI calibration: sums of cos and sin of phases over k-space samples held in constant memory; sinf and
// cosf with their full range reduction.
struct Sample {
  float kx, ky, kz, magnitude;
};
__constant__ Sample samples[64];

extern "C" __global__ void compute_q(int count, const float* x, const float* y, const float* z, float* re, float* im,
                                     int points) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  float sum_re = 0.0f;
  float sum_im = 0.0f;
  for (int k = 0; k < count; ++k) {
    const float phase = 6.2831853071795864769f *
                        (samples[k].kx * x[i] + samples[k].ky * y[i] + samples[k].kz * z[i]);
    sum_re += samples[k].magnitude * cosf(phase);
    sum_im += samples[k].magnitude * sinf(phase);
  }
  re[i] = sum_re;
  im[i] = sum_im;
}
