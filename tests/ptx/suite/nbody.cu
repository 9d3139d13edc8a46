// Gravity of all pairs, tiles of bodies in shared memory; float4 loads and the reciprocal square root.
extern "C" __global__ void accelerations(const float4* bodies, float4* out, int count) {
  __shared__ float4 tile[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float4 me = bodies[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int first = 0; first < count; first += 128) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 128; ++j) {
      const float dx = tile[j].x - me.x;
      const float dy = tile[j].y - me.y;
      const float dz = tile[j].z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float pull = tile[j].w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    __syncthreads();
  }
  out[i] = make_float4(ax, ay, az, 0.0f);
}
