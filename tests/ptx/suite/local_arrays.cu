// Arrays of a thread in local memory with indices known only at run time: an insertion sort, and a median.
extern "C" __global__ void sort_each(const short* in, short* out, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  short item[24];
  for (int k = 0; k < width; ++k) {
    const short value = in[i * width + k];
    int at = k;
    while (at > 0 && item[at - 1] > value) {
      item[at] = item[at - 1];
      --at;
    }
    item[at] = value;
  }
  for (int k = 0; k < width; ++k) out[i * width + k] = item[k];
}
