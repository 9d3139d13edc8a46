// Speckle-reducing anisotropic diffusion: derivatives and coefficients, then the update.
extern "C" __global__ void srad_coefficients(const float* image, float* c, float* north, float* south, float* west,
                                             float* east, int rows, int columns, float q0) {
  const int x = blockIdx.x * 16 + threadIdx.x;
  const int y = blockIdx.y * 16 + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int at = y * columns + x;
  const float here = image[at];
  const float n = image[y == 0 ? at : at - columns] - here;
  const float s = image[y == rows - 1 ? at : at + columns] - here;
  const float w = image[x == 0 ? at : at - 1] - here;
  const float e = image[x == columns - 1 ? at : at + 1] - here;
  const float g2 = (n * n + s * s + w * w + e * e) / (here * here);
  const float l = (n + s + w + e) / here;
  const float num = 0.5f * g2 - 1.0f / 16.0f * (l * l);
  float den = 1.0f + 0.25f * l;
  const float q = num / (den * den);
  den = (q - q0) / (q0 * (1.0f + q0));
  const float value = 1.0f / (1.0f + den);
  c[at] = __saturatef(value);
  north[at] = n;
  south[at] = s;
  west[at] = w;
  east[at] = e;
}

extern "C" __global__ void srad_update(float* image, const float* c, const float* north, const float* south,
                                       const float* west, const float* east, int rows, int columns, float lambda) {
  const int x = blockIdx.x * 16 + threadIdx.x;
  const int y = blockIdx.y * 16 + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int at = y * columns + x;
  const float cs = c[y == rows - 1 ? at : at + columns];
  const float ce = c[x == columns - 1 ? at : at + 1];
  const float d = c[at] * north[at] + cs * south[at] + c[at] * west[at] + ce * east[at];
  image[at] += 0.25f * lambda * d;
}
