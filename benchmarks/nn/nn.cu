// Distances of places to a target, one thread per place. Source of the algorithm: Rodinia's nn (nearest neighbour).

struct Place {
  float latitude, longitude;
};

extern "C" __global__ void distances(const Place* places, float* distance, int count, float latitude, float longitude) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = places[i];
  const float north = place.latitude - latitude;
  const float east = place.longitude - longitude;
  distance[i] = sqrtf(north * north + east * east);
}
