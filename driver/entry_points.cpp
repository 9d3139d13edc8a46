// Functions of the driver by name and version of CUDA. If a name has several variants, the result is the
// newest one of that version.
#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cudart/versioned.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

/// A variant that is newer than cuGetProcAddress, with its first version. All other variants existed before.
struct Newer {
  std::string_view name;
  int version;
};
constexpr Newer kNewer[] = {
    {"cuCtxCreate_v3", 11040},
    {"cuCtxCreate_v4", 12050},
    {"cuCtxGetDevice_v2", 13000},
    {"cuCtxSynchronize_v2", 13000},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuEventElapsedTime_v2", 12080},
    {"cuGetProcAddress_v2", 12000},
    {"cuGraphAddDependencies_v2", 12030},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphAddNode_v2", 12030},
    {"cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuGraphExecUpdate_v2", 12000},
    {"cuGraphGetEdges_v2", 12030},
    {"cuGraphKernelNodeGetParams_v2", 12000},
    {"cuGraphKernelNodeSetParams_v2", 12000},
    {"cuGraphNodeGetDependencies_v2", 12030},
    {"cuGraphNodeGetDependentNodes_v2", 12030},
    {"cuGraphRemoveDependencies_v2", 12030},
    {"cuMemAdvise_v2", 12020},
    {"cuMemPrefetchAsync_v2", 12020},
    {"cuMemcpy3DBatchAsync_v2", 13000},
    {"cuMemcpyBatchAsync_v2", 13000},
    {"cuStreamBatchMemOp_v2", 11070},
    {"cuStreamGetCaptureInfo_v3", 12030},
    {"cuStreamGetCtx_v2", 12050},
    {"cuStreamUpdateCaptureDependencies_v2", 12030},
    {"cuStreamWaitValue32_v2", 11070},
    {"cuStreamWaitValue64_v2", 11070},
    {"cuStreamWriteValue32_v2", 11070},
    {"cuStreamWriteValue64_v2", 11070},
};

constexpr std::uint64_t kPerThread = 2;

/// Handle of this library, which the program may have loaded privately.
void* own_library() {
  static void* const library = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<const void*>(&kNewer), &info);
    return ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return library;
}

void* find(const std::string& name, bool per_thread) {
  void* found = nullptr;
  for (const char* const suffix : {"_ptsz", "_ptds"})
    if (per_thread && found == nullptr) found = ::dlsym(own_library(), (name + suffix).c_str());
  return found != nullptr ? found : ::dlsym(own_library(), name.c_str());
}

/// CUdriverProcAddressQueryResult and cudaDriverEntryPointQueryResult.
enum class Found : int { Yes, No };

Found find(const char* name, void** function, int version, std::uint64_t flags) {
  *function = nullptr;
  const std::string_view plain(name);
  if (!plain.starts_with("cu") || plain.starts_with("cuda")) return Found::No;
  for (const char* const variant : {"_v4", "_v3", "_v2", ""}) {
    const std::string whole = std::string(plain) + variant;
    const auto* const newer = std::ranges::find(kNewer, whole, &Newer::name);
    if (newer != std::end(kNewer) && version < newer->version) continue;
    *function = find(whole, (flags & kPerThread) != 0);
    if (*function != nullptr) return Found::Yes;
  }
  return Found::No;
}

Result get(const char* name, void** function, int version, std::uint64_t flags, Found* found) {
  if (name == nullptr || function == nullptr) return Result::InvalidValue;
  const Found what = find(name, function, version, flags);
  if (found != nullptr) *found = what;
  return what == Found::Yes ? Result::Success : Result::NotFound;
}

}  // namespace

GPUMUX_DRIVER_API Result cuGetProcAddress(const char* name, void** function, int version,
                                          std::uint64_t flags) {
  return get(name, function, version, flags, nullptr);
}
GPUMUX_DRIVER_API Result cuGetProcAddress_v2(const char* name, void** function, int version,
                                             std::uint64_t flags, Found* found) {
  return get(name, function, version, flags, found);
}

// Entry points for the run time, for which an unknown name is no error.
GPUMUX_DRIVER_API Error gpumux_get_entry_point(const char* name, void** function, int version,
                                               unsigned long long flags, int* found) {
  if (name == nullptr || function == nullptr) return cudart::returned(Error::InvalidValue);
  const Found what = find(name, function, version, flags);
  if (found != nullptr) *found = static_cast<int>(what);
  return Error::Success;
}
GPUMUX_DRIVER_API Error cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                         unsigned long long flags, int* found) {
  return gpumux_get_entry_point(name, function, static_cast<int>(version), flags, found);
}
GPUMUX_DRIVER_API Error cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** function,
                                                              unsigned version, unsigned long long flags,
                                                              int* found) {
  return gpumux_get_entry_point(name, function, static_cast<int>(version), flags | kPerThread, found);
}

}  // namespace gpumux::driver
