// Texture objects of an array, of linear memory and of a layered array, all but a part of which is copied.
#include <cstdio>
#include <vector>

__global__ void turn(cudaTextureObject_t image, float* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) to[x * height + y] = tex2D<float>(image, x + 0.5f, y + 0.5f);
}
__global__ void gather(cudaTextureObject_t numbers, const int* from, int* to) {
  to[threadIdx.x] = tex1Dfetch<int>(numbers, from[threadIdx.x]);
}
__global__ void blend(cudaTextureObject_t layers, float* to) {
  to[threadIdx.x] = tex2DLayered<float>(layers, threadIdx.x + 1.0f, 0.5f, 1);
}

cudaTextureObject_t texture(const cudaResourceDesc& of, cudaTextureFilterMode filter) {
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = filter;
  cudaTextureObject_t made = 0;
  if (cudaCreateTextureObject(&made, &of, &how, nullptr) != cudaSuccess) std::printf("no texture\n");
  return made;
}

int main() {
  constexpr int kWidth = 40, kHeight = 24;
  std::vector<float> image(kWidth * kHeight);
  for (int i = 0; i < kWidth * kHeight; ++i) image[i] = 0.25f * i;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &floats, kWidth, kHeight);
  // The upper half, then the lower one.
  const std::size_t row = kWidth * sizeof(float);
  cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, kHeight / 2, cudaMemcpyHostToDevice);
  cudaMemcpy2DToArray(array, 0, kHeight / 2, &image[kWidth * kHeight / 2], row, row, kHeight / 2,
                      cudaMemcpyHostToDevice);
  cudaResourceDesc of{};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = array;
  float* turned;
  cudaMalloc(&turned, row * kHeight);
  const cudaTextureObject_t whole = texture(of, cudaFilterModePoint);
  turn<<<dim3(2, kHeight), 32>>>(whole, turned, kWidth, kHeight);
  std::vector<float> back(kWidth * kHeight);
  cudaMemcpy(back.data(), turned, row * kHeight, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int x = 0; x < kWidth; ++x)
    for (int y = 0; y < kHeight; ++y) right = right && back[x * kHeight + y] == image[y * kWidth + x];
  float part[4];
  cudaMemcpy2DFromArray(part, 8, array, 12, 5, 8, 2, cudaMemcpyDeviceToHost);
  right = right && part[0] == image[5 * kWidth + 3] && part[3] == image[6 * kWidth + 4];

  std::vector<int> numbers(64), order(64), got(64);
  for (int i = 0; i < 64; ++i) numbers[i] = 7 * i, order[i] = 63 - i;
  int *on_device, *from, *to;
  cudaMalloc(&on_device, 256);
  cudaMalloc(&from, 256);
  cudaMalloc(&to, 256);
  cudaMemcpy(on_device, numbers.data(), 256, cudaMemcpyHostToDevice);
  cudaMemcpy(from, order.data(), 256, cudaMemcpyHostToDevice);
  of = {};
  of.resType = cudaResourceTypeLinear;
  of.res.linear.devPtr = on_device;
  of.res.linear.desc = cudaCreateChannelDesc<int>();
  of.res.linear.sizeInBytes = 256;
  gather<<<1, 64>>>(texture(of, cudaFilterModePoint), from, to);
  cudaMemcpy(got.data(), to, 256, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i) right = right && got[i] == 7 * (63 - i);

  cudaArray_t layers;
  cudaMalloc3DArray(&layers, &floats, make_cudaExtent(8, 4, 3), cudaArrayLayered);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(image.data(), 32, 8, 4);
  copy.dstArray = layers;
  copy.extent = make_cudaExtent(8, 4, 3);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  of = {};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = layers;
  blend<<<1, 7>>>(texture(of, cudaFilterModeLinear), turned);
  cudaMemcpy(back.data(), turned, 28, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 7; ++i) right = right && back[i] == 0.5f * (image[32 + i] + image[33 + i]);

  right = right && cudaDestroyTextureObject(whole) == cudaSuccess && cudaFreeArray(array) == cudaSuccess &&
          cudaFreeArray(array) == cudaErrorInvalidValue;
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
