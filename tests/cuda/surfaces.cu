// Surfaces, cube maps and mipmaps: what kernels write by surfaces, textures fetch afterwards, and copies bring
// back, in the order of streams.
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void square(cudaSurfaceObject_t image, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  const float2 old = surf2Dread<float2>(image, x * 8, y);
  surf2Dwrite(make_float2(old.x * old.x, old.y + y), image, x * 8, y);
}
__global__ void turn(cudaTextureObject_t image, float* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) to[x * height + y] = tex2D<float2>(image, x, y).x + tex2D<float2>(image, x, y).y;
}
__global__ void edges(cudaSurfaceObject_t row, cudaSurfaceObject_t bytes, int* to) {
  const int t = threadIdx.x;
  surf1DLayeredwrite(static_cast<unsigned char>(100 + t), bytes, t, 1, cudaBoundaryModeZero);
  to[t] = surf1Dread<int>(row, (t - 4) * 4, cudaBoundaryModeClamp);
  to[16 + t] = surf1Dread<int>(row, (t - 4) * 4, cudaBoundaryModeZero);
  to[32 + t] = surf1DLayeredread<unsigned char>(bytes, t, 1, cudaBoundaryModeClamp);
}
__global__ void paint(cudaSurfaceObject_t cube, int layer) {
  for (int face = 0; face < 6; ++face)
    surfCubemapLayeredwrite(1000 * layer + 100.0f * face + 10 * threadIdx.y + threadIdx.x, cube, threadIdx.x * 4,
                            threadIdx.y, layer * 6 + face);
}
__global__ void look(cudaTextureObject_t cubes, cudaTextureObject_t level, float* to) {
  const float3 to_where[6] = {{1, .5f, -.5f},  {-1, .5f, .5f},  {-.5f, 1, .5f},
                              {.5f, -1, -.5f}, {.5f, -.5f, 1}, {.5f, -.5f, -1}};
  const float3 at = to_where[threadIdx.x];
  to[threadIdx.x] = texCubemapLayered<float>(cubes, at.x, at.y, at.z, 1);
  to[6 + threadIdx.x] = tex2DLod<float>(level, .5f, .5f, threadIdx.x * .5f);
  to[12 + threadIdx.x] = tex2DGrad<float>(level, .5f, .5f, make_float2(.25f * threadIdx.x, 0), make_float2(0, 0));
}
__global__ void fill_volume(cudaSurfaceObject_t volume) {
  surf3Dwrite(static_cast<short>(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z), volume, threadIdx.x * 2,
              threadIdx.y, threadIdx.z);
}

bool right = true;
#define EXPECT(what)                                     \
  do {                                                   \
    if (!(what)) {                                       \
      std::printf("line %d: %s\n", __LINE__, #what); \
      right = false;                                     \
    }                                                    \
  } while (false)
#define CHECK(call) EXPECT((call) == cudaSuccess)

cudaResourceDesc resource(cudaArray_t array) {
  cudaResourceDesc of{};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = array;
  return of;
}
cudaSurfaceObject_t surface(cudaArray_t array) {
  const cudaResourceDesc of = resource(array);
  cudaSurfaceObject_t made = 0;
  CHECK(cudaCreateSurfaceObject(&made, &of));
  return made;
}

int main() {
  constexpr int kWidth = 40, kHeight = 24;
  std::vector<float2> image(kWidth * kHeight), back(kWidth * kHeight);
  for (int i = 0; i < kWidth * kHeight; ++i) image[i] = {0.5f * i, 1.0f * (i % 7)};
  const cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>(), floats = cudaCreateChannelDesc<float>();
  const std::size_t row = kWidth * sizeof(float2);
  cudaArray_t array, copy, plain;
  CHECK(cudaMallocArray(&array, &pairs, kWidth, kHeight, cudaArraySurfaceLoadStore));
  CHECK(cudaMallocArray(&copy, &pairs, kWidth, kHeight));
  CHECK(cudaMallocArray(&plain, &pairs, kWidth, kHeight));
  const cudaResourceDesc no_surface = resource(plain);
  cudaSurfaceObject_t none = 0;
  EXPECT(cudaCreateSurfaceObject(&none, &no_surface) == cudaErrorInvalidValue);

  // In one stream: from pinned memory, squared, between arrays, fetched, and back; nothing happens at the call.
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float2* pinned;
  CHECK(cudaMallocHost(&pinned, row * kHeight));
  std::memset(static_cast<void*>(pinned), 0, row * kHeight);
  const cudaSurfaceObject_t writable = surface(array);
  CHECK(cudaMemcpyAsync(pinned, image.data(), row * kHeight, cudaMemcpyHostToHost, stream));
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, row, row, kHeight, cudaMemcpyHostToDevice, stream));
  square<<<dim3(2, kHeight), 32, 0, stream>>>(writable, kWidth, kHeight);
  CHECK(cudaMemcpy2DFromArrayAsync(pinned, row, array, 0, 0, row, kHeight, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy2DArrayToArray(copy, 0, 0, array, 0, 0, row, kHeight / 2));
  CHECK(cudaMemcpy2DArrayToArray(copy, 0, kHeight / 2, array, 0, kHeight / 2, row, kHeight / 2));
  float* turned;
  CHECK(cudaMalloc(&turned, kWidth * kHeight * sizeof(float)));
  const cudaResourceDesc of_copy = resource(copy);
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &of_copy, &how, nullptr));
  turn<<<dim3(2, kHeight), 32>>>(texture, turned, kWidth, kHeight);
  std::vector<float> sums(kWidth * kHeight);
  CHECK(cudaMemcpy(sums.data(), turned, sums.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy2DFromArray(back.data(), row, array, 0, 0, row, kHeight, cudaMemcpyDeviceToHost));
  for (int x = 0; x < kWidth; ++x) {
    for (int y = 0; y < kHeight; ++y) {
      const int i = y * kWidth + x;
      const float2 expected{image[i].x * image[i].x, image[i].y + y};
      EXPECT(back[i].x == expected.x && back[i].y == expected.y);
      EXPECT(pinned[i].x == expected.x && pinned[i].y == expected.y);
      EXPECT(sums[x * kHeight + y] == expected.x + expected.y);
    }
  }
  cudaResourceDesc told;
  cudaTextureDesc told_how;
  CHECK(cudaGetTextureObjectResourceDesc(&told, texture));
  EXPECT(told.resType == cudaResourceTypeArray && told.res.array.array == copy);
  CHECK(cudaGetTextureObjectTextureDesc(&told_how, texture));
  EXPECT(told_how.addressMode[1] == cudaAddressModeClamp);
  CHECK(cudaGetSurfaceObjectResourceDesc(&told, writable));
  EXPECT(told.res.array.array == array);

  // Outside, in a row and in layers of rows.
  const cudaChannelFormatDesc words = cudaCreateChannelDesc<int>(), bytes = cudaCreateChannelDesc<unsigned char>();
  cudaArray_t line, layers;
  CHECK(cudaMallocArray(&line, &words, 8, 0, cudaArraySurfaceLoadStore));
  CHECK(cudaMalloc3DArray(&layers, &bytes, make_cudaExtent(12, 0, 2), cudaArrayLayered | cudaArraySurfaceLoadStore));
  int numbers[8], got[48], *on_device;
  for (int i = 0; i < 8; ++i) numbers[i] = 11 * i;
  CHECK(cudaMemcpy2DToArray(line, 0, 0, numbers, 32, 32, 1, cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&on_device, sizeof(got)));
  edges<<<1, 16>>>(surface(line), surface(layers), on_device);
  CHECK(cudaMemcpy(got, on_device, sizeof(got), cudaMemcpyDeviceToHost));
  for (int t = 0; t < 16; ++t) {
    const int i = t - 4;
    EXPECT(got[t] == 11 * (i < 0 ? 0 : i > 7 ? 7 : i));
    EXPECT(got[16 + t] == (i < 0 || i > 7 ? 0 : 11 * i));
    EXPECT(got[32 + t] == 100 + (t > 11 ? 11 : t));
  }

  // Two cubes, painted by kernels; a mipmap, filled level by level.
  cudaArray_t cubes;
  CHECK(cudaMalloc3DArray(&cubes, &floats, make_cudaExtent(4, 4, 12),
                          cudaArrayCubemap | cudaArrayLayered | cudaArraySurfaceLoadStore));
  const cudaSurfaceObject_t canvas = surface(cubes);
  for (int layer = 0; layer < 2; ++layer) paint<<<1, dim3(4, 4)>>>(canvas, layer);
  cudaTextureDesc normalized{};
  normalized.normalizedCoords = 1;
  const cudaResourceDesc of_cubes = resource(cubes);
  cudaTextureObject_t cube_texture, mipmap_texture;
  CHECK(cudaCreateTextureObject(&cube_texture, &of_cubes, &normalized, nullptr));
  cudaMipmappedArray_t mipmap;
  CHECK(cudaMallocMipmappedArray(&mipmap, &floats, make_cudaExtent(8, 8, 0), 4));
  for (unsigned level = 0; level < 4; ++level) {
    const std::vector<float> texels(64, 10.0f * level);
    const unsigned side = 8 >> level;
    cudaArray_t of_level;
    CHECK(cudaGetMipmappedArrayLevel(&of_level, mipmap, level));
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, of_level));
    EXPECT(extent.width == side && extent.height == side);
    CHECK(cudaMemcpy2DToArray(of_level, 0, 0, texels.data(), side * 4, side * 4, side, cudaMemcpyHostToDevice));
    EXPECT(cudaFreeArray(of_level) == cudaErrorInvalidValue);
  }
  cudaResourceDesc of_mipmap{};
  of_mipmap.resType = cudaResourceTypeMipmappedArray;
  of_mipmap.res.mipmap.mipmap = mipmap;
  normalized.mipmapFilterMode = cudaFilterModeLinear;
  normalized.maxMipmapLevelClamp = 3;
  CHECK(cudaCreateTextureObject(&mipmap_texture, &of_mipmap, &normalized, nullptr));
  look<<<1, 6>>>(cube_texture, mipmap_texture, turned);
  CHECK(cudaMemcpy(sums.data(), turned, 18 * 4, cudaMemcpyDeviceToHost));
  const float expected_faces[6] = {1013, 1113, 1231, 1333, 1433, 1531};
  for (int i = 0; i < 6; ++i) {
    EXPECT(sums[i] == expected_faces[i]);
    EXPECT(sums[6 + i] == 5.0f * i);
  }
  EXPECT(sums[12] == 0 && sums[13] == 10 && sums[14] == 20);  // 0, 2 and 4 texels apart

  // Three dimensions, of which a part comes back through cudaMemcpy3D.
  const cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
  cudaArray_t volume;
  CHECK(cudaMalloc3DArray(&volume, &shorts, make_cudaExtent(6, 5, 4), cudaArraySurfaceLoadStore));
  fill_volume<<<1, dim3(6, 5, 4)>>>(surface(volume));
  short part[2][3][4];
  cudaMemcpy3DParms out{};
  out.srcArray = volume;
  out.srcPos = make_cudaPos(2, 1, 2);
  out.dstPtr = make_cudaPitchedPtr(part, 8, 4, 3);
  out.extent = make_cudaExtent(4, 3, 2);
  out.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&out));
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) EXPECT(part[z][y][x] == (x + 2) + 10 * (y + 1) + 100 * (z + 2));

  // A graph that captured the copies.
  cudaGraph_t graph;
  cudaGraphExec_t plan;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, row, row, 1, cudaMemcpyHostToDevice, stream));
  square<<<1, 32, 0, stream>>>(writable, kWidth, 1);
  CHECK(cudaMemcpy2DFromArrayAsync(pinned, row, array, 0, 0, row, 1, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&plan, graph, 0));
  pinned[3] = {3, 4};
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(plan, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(pinned[3].x == 81 && pinned[3].y == 4);

  CHECK(cudaDestroySurfaceObject(writable));
  EXPECT(cudaDestroySurfaceObject(writable) == cudaErrorInvalidValue);
  EXPECT(cudaDestroySurfaceObject(texture) == cudaErrorInvalidValue);
  CHECK(cudaFreeMipmappedArray(mipmap));
  CHECK(cudaFreeArray(array));
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
