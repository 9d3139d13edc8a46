// Arrays, textures and surfaces.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel spin_kernel("spin");
const Kernel double_kernel("double_surface");
const Kernel fetch_kernel("fetch");

std::uint64_t surface(void* array) {
  Resource of;
  of.array = array;
  std::uint64_t made = 0;
  CHECK(cudaCreateSurfaceObject(&made, &of));
  return made;
}

/// Arrays: copies in the order of streams, what kernels write by surfaces and textures fetch, and mipmaps.
void arrays() {
  constexpr unsigned kSurface = 2;
  const Format words = {{32, 0, 0, 0}, 0};
  const int kWidth = 8, kHeight = 4, kRow = 4 * kWidth, n = kWidth * kHeight;
  void *array = nullptr, *other = nullptr, *pointer = nullptr;
  CHECK(cudaMallocArray(&array, &words, kWidth, kHeight, kSurface));
  CHECK(cudaMallocArray(&other, &words, kWidth, kHeight, 0));
  CHECK(cudaMallocHost(&pointer, n * 4));
  auto* const pinned = static_cast<int*>(pointer);
  std::vector<int> pageable(n), back(n, -1);
  for (int i = 0; i < n; ++i) pinned[i] = i, pageable[i] = 100 + i;
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));

  // Behind a kernel: the bytes of pinned memory are taken when their turn comes, others at the call.
  int* const word = device<int>(n);
  CHECK(launch(spin_kernel, {1}, {1}, 0, stream, word, 2000));
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, kRow, kRow, kHeight, kHostToDevice, stream));
  CHECK(cudaMemcpy2DToArrayAsync(array, 8, 1, pageable.data(), kRow, 8, 2, kHostToDevice, stream));
  pinned[0] = 7;
  pageable[0] = 7;
  const std::uint64_t writable = surface(array);
  CHECK(launch(double_kernel, {1}, {kWidth, kHeight}, 0, stream, writable));
  CHECK(cudaMemcpy2DFromArrayAsync(pinned, kRow, array, 0, 0, kRow, kHeight, kDeviceToHost, stream));
  EXPECT_SAME(pinned[1], 1);  // nothing of it has happened yet
  CHECK(cudaStreamSynchronize(stream));
  const auto expected = [&](int i) {
    const int x = i % kWidth, y = i / kWidth;
    const bool patched = (x == 2 || x == 3) && (y == 1 || y == 2);
    if (i == 0) return 14;
    if (!patched) return 2 * i;
    const int from = (y - 1) * kWidth + (x - 2);
    return 2 * (100 + from);
  };
  for (int i = 0; i < n; ++i) EXPECT_SAME(pinned[i], expected(i));

  // Between arrays, to a texture, and back in runs of bytes that begin and end within rows.
  CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, kRow, kHeight, kDeviceToDevice));
  Resource of;
  of.array = other;
  std::uint64_t texture = 0;
  const Sampling sampling;
  CHECK(cudaCreateTextureObject(&texture, &of, &sampling, nullptr));
  CHECK(launch(fetch_kernel, {1}, {kWidth, kHeight}, 0, nullptr, texture, word));
  const std::uint64_t destroyed = texture;  // it is there for the kernel, which was launched before
  CHECK(cudaDestroyTextureObject(destroyed));
  EXPECT_SAME(cudaDestroyTextureObject(destroyed), 1);
  CHECK(cudaMemcpy(back.data(), word, n * 4, kDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT_SAME(back[i], expected(i));
  CHECK(cudaMemcpyFromArray(back.data(), array, 20, 1, 15 * 4, kDeviceToHost));
  for (int i = 0; i < 15; ++i) EXPECT_SAME(back[i], expected(13 + i));
  CHECK(cudaMemcpyToArray(array, 28, 0, pageable.data(), 10 * 4, kHostToDevice));
  CHECK(cudaMemcpy2DFromArray(back.data(), kRow, array, 0, 0, kRow, kHeight, kDeviceToHost));
  for (int i = 7; i < 17; ++i) EXPECT_SAME(back[i], pageable[i - 7]);
  EXPECT_SAME(back[17], expected(17));
  CHECK(cudaCreateTextureObject(&texture, &of, &sampling, nullptr));
  Resource told;
  CHECK(cudaGetTextureObjectResourceDesc(&told, texture));
  EXPECT(told.array == other);

  // Beyond an array, of no surface, and what no handle is.
  EXPECT_SAME(cudaMemcpy2DToArray(array, 4, 0, pageable.data(), kRow, kRow, 1, kHostToDevice), 1);
  EXPECT_SAME(cudaMemcpy2DFromArray(back.data(), kRow, array, 0, 1, kRow, kHeight, kDeviceToHost), 1);
  std::uint64_t none = 0;
  EXPECT_SAME(cudaCreateSurfaceObject(&none, &of), 1);
  EXPECT_SAME(cudaDestroySurfaceObject(texture), 1);
  CHECK(cudaDestroySurfaceObject(writable));
  EXPECT_SAME(cudaDestroySurfaceObject(writable), 1);
  CHECK(cudaDestroyTextureObject(texture));
  EXPECT_SAME(cudaFreeArray(&array), 1);
  // A cube map has squares.
  EXPECT_SAME(cudaMalloc3DArray(&pointer, &words, {8, 4, 6}, 4), 1);
  EXPECT_SAME(cudaMalloc3DArray(&pointer, &words, {8, 8, 5}, 4), 1);
  CHECK(cudaMalloc3DArray(&pointer, &words, {8, 8, 6}, 4));
  CHECK(cudaFreeArray(pointer));

  void *mipmap = nullptr, *level = nullptr;
  CHECK(cudaMallocMipmappedArray(&mipmap, &words, {8, 4, 0}, 9, kSurface));  // no more than four
  EXPECT_SAME(cudaGetMipmappedArrayLevel(&level, mipmap, 4), 1);
  for (unsigned i = 0; i < 4; ++i) {
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
    Extent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    EXPECT_SAME(extent.width, 8U >> i);
    const unsigned height = i < 2 ? 4U >> i : 1U;
    EXPECT_SAME(extent.height, height);
    const std::vector<int> texels(32, 5 + static_cast<int>(i));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, texels.data(), extent.width * 4, extent.width * 4, height,
                              kHostToDevice));
    CHECK(launch(double_kernel, {1}, {8U >> i, height}, 0, nullptr, surface(level)));
  }
  for (unsigned i = 0; i < 4; ++i) {  // none lies where another does
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
    CHECK(cudaMemcpy2DFromArray(back.data(), 4, level, 0, 0, 4, 1, kDeviceToHost));
    EXPECT_SAME(back[0], 2 * (5 + static_cast<int>(i)));
  }
  EXPECT_SAME(cudaFreeArray(level), 1);
  CHECK(cudaFreeMipmappedArray(mipmap));
  EXPECT_SAME(cudaGetMipmappedArrayLevel(&level, mipmap, 0), 1);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(other));
}

const Case arrays_case("arrays", arrays);

}  // namespace
