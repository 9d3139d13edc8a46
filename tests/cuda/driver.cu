// CUDA's driver, by its own header, beside the run time: a module of PTX text, a stream and memory that both use,
// events, a constant by its address, textures.
#include <cuda.h>
#include <cstdio>
#include <cstring>
#include <vector>

const char* const text = R"(.version 7.0
.target sm_70
.address_size 64
.const .align 4 .u32 factor;
.visible .entry scale(.param .u64 values, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd2, %r2, 4;
  add.s64 %rd2, %rd1, %rd2;
  ld.global.u32 %r5, [%rd2];
  ld.const.u32 %r6, [factor];
  mul.lo.s32 %r5, %r5, %r6;
  st.global.u32 [%rd2], %r5;
done:
  ret;
}
)";

__global__ void add(int* values, int what, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += what;
}

/// Texels of 8 bits, as parts of 1 and as they are.
__global__ void fetch(cudaTextureObject_t parts, cudaTextureObject_t bytes, float* to) {
  const float x = threadIdx.x % 8, y = threadIdx.x / 8;
  to[2 * threadIdx.x] = tex2D<float>(parts, (x + 0.5f) / 8, (y + 0.5f) / 4);
  to[2 * threadIdx.x + 1] = tex2D<unsigned char>(bytes, x + 0.5f, y + 0.5f);
}

bool textures() {
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR shape = {8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  bool right = cuArrayCreate(&array, &shape) == CUDA_SUCCESS;
  unsigned char texels[32];
  for (int i = 0; i < 32; ++i) texels[i] = static_cast<unsigned char>(5 * i);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = texels, copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
  copy.WidthInBytes = 8, copy.Height = 4;
  right = right && cuMemcpy2D(&copy) == CUDA_SUCCESS;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC settings = {};
  for (CUaddress_mode& mode : settings.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  settings.flags = CU_TRSF_NORMALIZED_COORDINATES;
  CUtexObject parts, bytes;
  right = right && cuTexObjectCreate(&parts, &resource, &settings, nullptr) == CUDA_SUCCESS;
  settings.flags = CU_TRSF_READ_AS_INTEGER;
  right = right && cuTexObjectCreate(&bytes, &resource, &settings, nullptr) == CUDA_SUCCESS;
  float* on_device = nullptr;
  float host[64] = {};
  cudaMalloc(&on_device, sizeof(host));
  fetch<<<1, 32>>>(parts, bytes, on_device);
  cudaMemcpy(host, on_device, sizeof(host), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i) right = right && host[2 * i] == 5.0f * i / 255.0f && host[2 * i + 1] == 5.0f * i;
  right = right && cuTexObjectDestroy(parts) == CUDA_SUCCESS && cuTexObjectDestroy(bytes) == CUDA_SUCCESS;
  cudaFree(on_device);
  return right && cuArrayDestroy(array) == CUDA_SUCCESS;
}

int main() {
  constexpr int kCount = 1000;
  constexpr std::size_t kBytes = kCount * sizeof(int);
  bool right = cuInit(0) == CUDA_SUCCESS;
  CUdevice device;
  CUcontext context, current;
  right = right && cuDeviceGet(&device, 0) == CUDA_SUCCESS;
  right = right && cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS;
  right = right && cuCtxSetCurrent(context) == CUDA_SUCCESS;
  CUmodule module;
  CUfunction scale;
  char log[200];
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values_of[] = {log, reinterpret_cast<void*>(sizeof(log))};
  right = right && cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.entry a() { what; }", 2, options,
                                      values_of) == CUDA_ERROR_INVALID_PTX;
  right = right && std::strlen(log) > 0;
  right = right && cuModuleLoadData(&module, text) == CUDA_SUCCESS;
  right = right && cuModuleGetFunction(&scale, module, "scale") == CUDA_SUCCESS;

  CUdeviceptr memory, factor;
  std::size_t bytes = 0;
  right = right && cuMemAlloc(&memory, kBytes) == CUDA_SUCCESS;
  right = right && cuModuleGetGlobal(&factor, &bytes, module, "factor") == CUDA_SUCCESS && bytes == 4;
  int* const there = reinterpret_cast<int*>(memory);
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  const int three = 3;
  cuMemcpyHtoD(factor, &three, sizeof(three));
  cudaStream_t stream;
  cudaEvent_t begin, end;
  cudaStreamCreate(&stream);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaMemcpyAsync(there, host.data(), kBytes, cudaMemcpyHostToDevice, stream);
  cudaEventRecord(begin, stream);
  int count = kCount;
  void* arguments[] = {&memory, &count};
  right = right && cuLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr) == CUDA_SUCCESS;
  add<<<4, 256, 0, stream>>>(there, 1, kCount);
  right = right && cuLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr) == CUDA_SUCCESS;
  cuEventRecord(end, stream);
  right = right && cuMemcpyDtoHAsync(host.data(), memory, kBytes, stream) == CUDA_SUCCESS;
  right = right && cuStreamSynchronize(stream) == CUDA_SUCCESS;
  for (int i = 0; i < kCount; ++i) right = right && host[i] == (3 * i + 1) * 3;
  float time = 0;
  right = right && cudaEventElapsedTime(&time, begin, end) == cudaSuccess && time > 0;

  // The run time's kernel, by the driver.
  cudaFunction_t handle;
  int what = 5, registers = 0;
  void* of_add[] = {&memory, &what, &count};
  right = right && cudaGetFuncBySymbol(&handle, reinterpret_cast<const void*>(add)) == cudaSuccess;
  right = right && cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle) == CUDA_SUCCESS && registers > 0;
  CUlaunchConfig config = {};
  config.gridDimX = 4, config.gridDimY = 1, config.gridDimZ = 1;
  config.blockDimX = 256, config.blockDimY = 1, config.blockDimZ = 1;
  right = right && cuLaunchKernelEx(&config, handle, of_add, nullptr) == CUDA_SUCCESS;
  CUDA_MEMCPY2D rows = {};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE, rows.srcDevice = memory, rows.srcPitch = 100 * sizeof(int);
  rows.dstMemoryType = CU_MEMORYTYPE_HOST, rows.dstHost = host.data(), rows.dstPitch = 10 * sizeof(int);
  rows.WidthInBytes = 10 * sizeof(int), rows.Height = 10;
  right = right && cuMemcpy2D(&rows) == CUDA_SUCCESS;
  for (int i = 0; i < 100; ++i) right = right && host[i] == (3 * (i / 10 * 100 + i % 10) + 1) * 3 + 5;
  CUmemorytype type;
  right = right && cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) == CUDA_SUCCESS;
  right = right && type == CU_MEMORYTYPE_DEVICE;
  right = right && cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context;
  right = right && cuMemFree(memory) == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS;
  right = right && textures();
  right = right && cudaGetLastError() == cudaSuccess;
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
