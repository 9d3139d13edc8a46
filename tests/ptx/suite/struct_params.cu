// Structures as parameters by value, with padding, nested arrays and pointers; three of different alignment.
struct Scale {
  char kind;
  double factor;
  short offset;
};
struct Window {
  int first[3];
  int last[3];
};
struct Buffers {
  const float* in;
  float* out;
  unsigned char weight[5];
};

extern "C" __global__ void scale_window(Scale scale, Window window, int stride, Buffers buffers) {
  const int x = window.first[0] + threadIdx.x;
  const int y = window.first[1] + threadIdx.y;
  const int z = window.first[2] + threadIdx.z;
  if (x > window.last[0] || y > window.last[1] || z > window.last[2]) return;
  const int at = (z * stride + y) * stride + x;
  const float value = buffers.in[at];
  const float weight = buffers.weight[(x + y + z) % 5];
  buffers.out[at] = scale.kind == 'm' ? (float)(value * scale.factor) * weight : value + scale.offset;
}
