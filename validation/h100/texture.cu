// What texture fetches give on hardware, for each geometry, address mode, format, filter and kind of coordinates.
// Usage: texture OUT.json OUT.bin. The first says what lies where in the second; all numbers are little-endian.
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>

#include "common.cuh"

namespace {

constexpr int kCount = 4096;
constexpr float kBorder = 0.3125f;

__global__ void fetch(cudaTextureObject_t texture, int axes, const float* at, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const float x = at[i], y = at[kCount + i], z = at[2 * kCount + i];
  if (axes == 1) out[i] = tex1D<float>(texture, x);
  if (axes == 2) out[i] = tex2D<float>(texture, x, y);
  if (axes == 3) out[i] = tex3D<float>(texture, x, y, z);
}

// The four texels that tex2Dgather looks at.
__global__ void gather(cudaTextureObject_t texture, const float* at, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = tex2Dgather<float4>(texture, at[i], at[kCount + i], 0);
}

std::uint32_t state = 12345;
double random_unit() {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return (state >> 8) / 16777216.0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Json json(argv[1]);
  std::FILE* const bin = std::fopen(argv[2], "wb");
  long offset = 0;
  const auto put = [&](const void* data, std::size_t bytes) {
    const long at = offset;
    std::fwrite(data, 1, bytes, bin);
    offset += static_cast<long>(bytes);
    return at;
  };
  const int extents[3][3] = {{23, 0, 0}, {16, 11, 0}, {9, 8, 5}};
  const char* const formats[] = {"f32", "u8n", "s16n", "f16", "u16n", "s8n"};
  const char* const modes[] = {"wrap", "clamp", "mirror", "border"};  // in the order of cudaTextureAddressMode
  const int sizes[] = {4, 1, 2, 2, 2, 1};

  float* at = nullptr;
  float* out = nullptr;
  float4* out4 = nullptr;
  CHECK(cudaMalloc(&at, 3 * kCount * 4));
  CHECK(cudaMalloc(&out, kCount * 4));
  CHECK(cudaMalloc(&out4, kCount * 16));
  for (int axes = 1; axes <= 3; ++axes) {
    const int* const n = extents[axes - 1];
    // Coordinates in texels: even steps over the texture and beyond, edges and centres of texels, random ones, far ones.
    // Their normalized form is the quotient rounded to float.
    std::vector<float> texels(3 * kCount), normalized(3 * kCount);
    for (int axis = 0; axis < axes; ++axis) {
      for (int i = 0; i < kCount; ++i) {
        double x = 0;
        if (i < 1536) x = (axis == 0 ? i : (i * (axis == 1 ? 389 : 631)) % 1536) / 1536.0 * 3.0 * n[axis] - n[axis];
        else if (i < 2048) x = (i * (2 * axis + 1) % 512 - 128) * 0.25;
        else if (i < 2560) x = 2.5 + (i - 2048 + axis * 77) % 512 / 1024.0;  // within one texel, in steps of 1/1024
        else if (i < 3840) x = (random_unit() * 3 - 1) * n[axis];
        else x = (random_unit() - 0.5) * 2000 * n[axis];
        texels[axis * kCount + i] = static_cast<float>(x);
        normalized[axis * kCount + i] = static_cast<float>(x / n[axis]);
      }
    }
    const long texels_at = put(texels.data(), texels.size() * 4);
    const long normalized_at = put(normalized.data(), normalized.size() * 4);
    const int total = n[0] * (axes > 1 ? n[1] : 1) * (axes > 2 ? n[2] : 1);
    for (int format = 0; format < 6; ++format) {
      std::vector<std::uint8_t> raw(static_cast<std::size_t>(total) * sizes[format]);
      for (std::uint8_t& byte : raw) byte = static_cast<std::uint8_t>(random_unit() * 256);
      for (int i = 0; i < total; ++i) {
        const float value = static_cast<float>(random_unit() * 2 - 1);
        if (format == 0) std::memcpy(&raw[4 * i], &value, 4);
        if (format == 3) {
          const __half h = __float2half(value);
          std::memcpy(&raw[2 * i], &h, 2);
        }
      }
      const long raw_at = put(raw.data(), raw.size());
      cudaChannelFormatDesc channel{};
      if (format == 0) channel = cudaCreateChannelDesc<float>();
      if (format == 1) channel = cudaCreateChannelDesc<unsigned char>();
      if (format == 2) channel = cudaCreateChannelDesc<short>();
      if (format == 3) channel = cudaCreateChannelDescHalf();
      if (format == 4) channel = cudaCreateChannelDesc<unsigned short>();
      if (format == 5) channel = cudaCreateChannelDesc<signed char>();
      cudaArray_t array = nullptr;
      const cudaExtent extent = make_cudaExtent(n[0], axes > 1 ? n[1] : 0, axes > 2 ? n[2] : 0);
      CHECK(cudaMalloc3DArray(&array, &channel, extent, axes == 2 ? cudaArrayTextureGather : 0));
      cudaMemcpy3DParms copy{};
      copy.srcPtr = make_cudaPitchedPtr(raw.data(), static_cast<std::size_t>(n[0]) * sizes[format], n[0], axes > 1 ? n[1] : 1);
      copy.dstArray = array;
      copy.extent = make_cudaExtent(n[0], axes > 1 ? n[1] : 1, axes > 2 ? n[2] : 1);
      copy.kind = cudaMemcpyHostToDevice;
      CHECK(cudaMemcpy3D(&copy));
      cudaResourceDesc resource{};
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array;
      for (int mode = 0; mode < 4; ++mode) {
        for (int is_normalized = 0; is_normalized < 2; ++is_normalized) {
          for (int linear = 0; linear < 2; ++linear) {
            cudaTextureDesc settings{};
            for (cudaTextureAddressMode& m : settings.addressMode) m = static_cast<cudaTextureAddressMode>(mode);
            settings.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
            settings.readMode = format == 0 || format == 3 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
            settings.normalizedCoords = is_normalized;
            for (float& b : settings.borderColor) b = kBorder;
            cudaTextureObject_t texture = 0;
            CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
            CHECK(cudaMemcpy(at, (is_normalized ? normalized : texels).data(), 3 * kCount * 4, cudaMemcpyHostToDevice));
            fetch<<<kCount / 128, 128>>>(texture, axes, at, out);
            CHECK(cudaDeviceSynchronize());
            std::vector<float> got(kCount);
            CHECK(cudaMemcpy(got.data(), out, kCount * 4, cudaMemcpyDeviceToHost));
            const long got_at = put(got.data(), got.size() * 4);
            long gather_at = -1;
            if (axes == 2 && linear) {
              gather<<<kCount / 128, 128>>>(texture, at, out4);
              CHECK(cudaDeviceSynchronize());
              std::vector<float4> four(kCount);
              CHECK(cudaMemcpy(four.data(), out4, kCount * 16, cudaMemcpyDeviceToHost));
              gather_at = put(four.data(), four.size() * 16);
            }
            CHECK(cudaDestroyTextureObject(texture));
            json.row("{\"axes\": %d, \"extent\": [%d, %d, %d], \"format\": \"%s\", \"address\": \"%s\", \"normalized\": %d, \"filter\": \"%s\", "
                     "\"border\": %g, \"count\": %d, \"texels_at\": %ld, \"coordinates_at\": %ld, \"results_at\": %ld, \"gather_at\": %ld}",
                     axes, n[0], n[1], n[2], formats[format], modes[mode], is_normalized, linear ? "linear" : "point", kBorder, kCount, raw_at,
                     is_normalized ? normalized_at : texels_at, got_at, gather_at);
          }
        }
      }
      CHECK(cudaFreeArray(array));
    }
  }
  std::fclose(bin);
  return 0;
}
