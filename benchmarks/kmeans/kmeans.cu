// kmeans: Lloyd's clustering. The device finds the nearest centre of each point; the host moves the centres.
// Source of the algorithm: Rodinia's Kmeans (Che et al., IISWC 2009).

#define CENTRE_FLOATS 8192

__constant__ float centres[CENTRE_FLOATS];  // row by row: all features of centre 0, then of centre 1, ...

// Transposes the points from point by point to feature by feature, so that neighbouring threads of
// nearest_centre read neighbouring floats. The loop stays rolled, as the papers' compilers left it: an
// unrolled loop executes fewer instructions per memory access.
extern "C" __global__ void invert_mapping(const float* by_point, float* by_feature, int points, int features) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point < points) {
#pragma unroll 1
    for (int f = 0; f < features; ++f) by_feature[points * f + point] = by_point[point * features + f];
  }
}

// membership[point] = the centre with the smallest squared distance. Of equal distances, the first centre.
extern "C" __global__ void nearest_centre(const float* by_feature, int points, int features, int clusters,
                                          int* membership) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point < points) {
    int nearest = 0;
    float smallest = 3.402823466e38f;
    for (int c = 0; c < clusters; ++c) {
      const float* centre = centres + features * c;
      float distance = 0.0f;
#pragma unroll 8  // eight loads in flight
      for (int f = 0; f < features; ++f) {
        const float difference = by_feature[points * f + point] - centre[f];
        distance = __fmaf_rn(difference, difference, distance);
      }
      if (distance < smallest) {
        smallest = distance;
        nearest = c;
      }
    }
    membership[point] = nearest;
  }
}
