// 64-bit integers: mixing by multiplication, rotation, high products, division and remainder, and an open
// hash table filled by compare-and-swap.
__device__ unsigned long long mix(unsigned long long x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

extern "C" __global__ void hash_values(const unsigned long long* in, unsigned long long* out, unsigned long long divisor,
                                       int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned long long x = mix(in[i]);
  const unsigned long long turned = x << 17 | x >> 47;
  const long long halves = (long long)x / -3 + (long long)x % 1000003;
  out[i] = (turned / divisor) ^ (x % divisor) ^ __umul64hi(x, turned) ^ (unsigned long long)halves ^
           (unsigned long long)__clzll((long long)x) ^ (unsigned long long)__popcll(x) << 32;
}

extern "C" __global__ void table_insert(const unsigned long long* keys, unsigned long long* table, unsigned slots,
                                        int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned slot = (unsigned)(mix(keys[i]) % slots);
  while (true) {
    const unsigned long long before = atomicCAS(&table[slot], 0ull, keys[i]);
    if (before == 0 || before == keys[i]) break;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
}
