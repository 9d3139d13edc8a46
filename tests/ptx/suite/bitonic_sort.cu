// Each block sorts 512 pairs of key and value in shared memory by a bitonic network.
extern "C" __global__ void bitonic_sort(unsigned* keys, unsigned* values) {
  __shared__ unsigned key[512];
  __shared__ unsigned value[512];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 512;
  for (int i = t; i < 512; i += 256) {
    key[i] = keys[first + i];
    value[i] = values[first + i];
  }
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int a = 2 * t - (t & (stride - 1));
      const int b = a + stride;
      const bool ascending = (a & size) == 0;
      if ((key[a] > key[b]) == ascending) {
        const unsigned k = key[a];
        key[a] = key[b];
        key[b] = k;
        const unsigned v = value[a];
        value[a] = value[b];
        value[b] = v;
      }
    }
  }
  __syncthreads();
  for (int i = t; i < 512; i += 256) {
    keys[first + i] = key[i];
    values[first + i] = value[i];
  }
}
