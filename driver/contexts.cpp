#include "driver/contexts.hpp"

#include <set>
#include <vector>

#include "cudart/allocations.hpp"
#include "cudart/api.hpp"
#include "cudart/version.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {

struct Context {
  bool alive = true;
  unsigned flags = 0;
  unsigned long long number = 1;  // order of creation
};

namespace {

struct Contexts {
  bool init = false;
  Context primary;
  unsigned retained = 0;  // reference count of the primary context
  std::set<Context*> made;
};
Contexts& contexts() {
  static auto* const all = new Contexts;
  return *all;
}

thread_local std::vector<Context*> stack;

/// The calling thread's stack of contexts. Its bottom is the primary context if the thread has used the run
/// time.
std::vector<Context*>& own_stack() {
  if (stack.empty() && cudart::uses_runtime()) stack.push_back(&contexts().primary);
  cudart::uses_runtime() = false;
  return stack;
}

bool is_primary_active() { return contexts().retained > 0 || cudart::was_runtime_used(); }

/// Error for a context that cannot be used. Objects of destroyed contexts are kept, so that their handles are
/// recognised.
Result check(const Context* context) {
  Contexts& all = contexts();
  if (context == &all.primary) return is_primary_active() ? Result::Success : Result::InvalidContext;
  if (!all.made.contains(const_cast<Context*>(context))) return Result::InvalidContext;
  return context->alive ? Result::Success : Result::ContextIsDestroyed;
}

template <class Function>
Result locked(const Function& call) {
  const cudart::DriverCall here;
  const std::scoped_lock lock(Session::get().lock());
  return is_initialized() ? call() : Result::NotInitialized;
}

Result create(Context** context, unsigned flags, DeviceNumber device) {
  return locked([=] {
    if (context == nullptr) return Result::InvalidValue;
    if (device != 0) return Result::InvalidDevice;
    std::set<Context*>& made = contexts().made;
    *context = new Context{true, flags, made.size() + 2};
    made.insert(*context);
    own_stack().push_back(*context);
    return Result::Success;
  });
}

Result destroy(Context* context) {
  return locked([=] {
    if (context == &contexts().primary) return Result::InvalidContext;
    if (const Result result = check(context); result != Result::Success) return result;
    const Error error = cudart::cudaDeviceSynchronize();
    cudart::free_all_of(owner_of(context));
    context->alive = false;
    if (!own_stack().empty() && stack.back() == context) stack.pop_back();
    return result_of(error);
  });
}

Result push(Context* context) {
  return locked([=] {
    const Result result = check(context);
    if (result == Result::Success) own_stack().push_back(context);
    return result;
  });
}

Result pop(Context** context) {
  return locked([=] {
    if (own_stack().empty()) return Result::InvalidContext;
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    return Result::Success;
  });
}

Result of_primary(DeviceNumber device, void (*change)(Contexts&)) {
  return locked([=] {
    if (device != 0) return Result::InvalidDevice;
    change(contexts());
    return Result::Success;
  });
}

void reset(Contexts&) {
  static_cast<void>(cudart::cudaDeviceSynchronize());
  cudart::free_all_of(nullptr);
}
Result release(DeviceNumber device) {
  return locked([=] {
    if (device != 0) return Result::InvalidDevice;
    Contexts& all = contexts();
    if (all.retained == 0) return Result::InvalidContext;
    --all.retained;
    if (!is_primary_active()) reset(all);
    return Result::Success;
  });
}
Result set_primary_flags(DeviceNumber device, unsigned flags) {
  return locked([=] {
    if (device != 0) return Result::InvalidDevice;
    contexts().primary.flags = flags;
    return Result::Success;
  });
}

}  // namespace

bool is_initialized() { return contexts().init || Session::get().connected(); }
Context* current_context() { return own_stack().empty() ? nullptr : stack.back(); }
Result check_context() {
  const std::scoped_lock lock(Session::get().lock());
  if (!is_initialized()) return Result::NotInitialized;
  const Context* const context = current_context();
  return context == nullptr ? Result::InvalidContext : check(context);
}
const void* owner_of(const Context* context) { return context == &contexts().primary ? nullptr : context; }
Context* context_of(const void* owner) {
  return owner == nullptr ? &contexts().primary : static_cast<Context*>(const_cast<void*>(owner));
}

GPUMUX_DRIVER_API Result cuInit(unsigned flags) {
  const cudart::DriverCall here;
  const std::scoped_lock lock(Session::get().lock());
  if (flags != 0) return Result::InvalidValue;
  const Error error = Session::get().connect();
  if (error == Error::Success) contexts().init = true;
  return result_of(error);
}
GPUMUX_DRIVER_API Result cuDriverGetVersion(int* version) {
  if (version == nullptr) return Result::InvalidValue;
  *version = cudart::kDriverVersion;
  return Result::Success;
}

GPUMUX_DRIVER_API Result cuCtxCreate(Context** context, unsigned flags, DeviceNumber device) {
  return create(context, flags, device);
}
GPUMUX_DRIVER_API Result cuCtxCreate_v2(Context** context, unsigned flags, DeviceNumber device) {
  return create(context, flags, device);
}
GPUMUX_DRIVER_API Result cuCtxCreate_v3(Context** context, const void* affinities, int count, unsigned flags,
                                        DeviceNumber device) {
  if (affinities != nullptr && count > 0)
    return result_of(cudart::not_supported("a context for a part of the SMs"));
  return create(context, flags, device);
}
GPUMUX_DRIVER_API Result cuCtxCreate_v4(Context** context, const ContextParameters* parameters,
                                        unsigned flags, DeviceNumber device) {
  if (parameters != nullptr && parameters->graphics != nullptr)
    return result_of(cudart::not_supported("a context for graphics, too"));
  return parameters == nullptr
             ? create(context, flags, device)
             : cuCtxCreate_v3(context, parameters->affinities, parameters->affinity_count, flags, device);
}
GPUMUX_DRIVER_API Result cuCtxDestroy(Context* context) { return destroy(context); }
GPUMUX_DRIVER_API Result cuCtxDestroy_v2(Context* context) { return destroy(context); }
GPUMUX_DRIVER_API Result cuCtxPushCurrent(Context* context) { return push(context); }
GPUMUX_DRIVER_API Result cuCtxPushCurrent_v2(Context* context) { return push(context); }
GPUMUX_DRIVER_API Result cuCtxPopCurrent(Context** context) { return pop(context); }
GPUMUX_DRIVER_API Result cuCtxPopCurrent_v2(Context** context) { return pop(context); }
GPUMUX_DRIVER_API Result cuCtxSetCurrent(Context* context) {
  return locked([=] {
    if (context != nullptr) {
      if (const Result result = check(context); result != Result::Success) return result;
    }
    if (!own_stack().empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetCurrent(Context** context) {
  return locked([=] {
    if (context == nullptr) return Result::InvalidValue;
    *context = current_context();
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetDevice(DeviceNumber* device) {
  return with_context([=] {
    if (device == nullptr) return Result::InvalidValue;
    *device = 0;
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetDevice_v2(DeviceNumber* device, Context* context) {
  if (context == nullptr) return cuCtxGetDevice(device);
  return locked([=] {
    if (device == nullptr) return Result::InvalidValue;
    *device = 0;
    return check(context);
  });
}
GPUMUX_DRIVER_API Result cuCtxSynchronize() { return in_context(cudart::cudaDeviceSynchronize); }
// Contexts share the device, so the call waits for the whole device.
GPUMUX_DRIVER_API Result cuCtxSynchronize_v2(Context* context) {
  if (context == nullptr) return cuCtxSynchronize();
  return locked([=] {
    const Result result = check(context);
    return result == Result::Success ? result_of(cudart::cudaDeviceSynchronize()) : result;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetFlags(unsigned* flags) {
  return with_context([=] {
    *flags = current_context()->flags;
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxSetFlags(unsigned flags) {
  return with_context([=] {
    current_context()->flags = flags;
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetApiVersion(Context*, unsigned* version) {
  return locked([=] {
    *version = 3020;  // version of the context interface, not of CUDA
    return Result::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetId(Context* context, unsigned long long* number) {
  return locked([=] {
    const Context* const of = context == nullptr ? current_context() : context;
    if (of == nullptr) return Result::InvalidContext;
    const Result result = check(of);
    if (result == Result::Success) *number = of->number;
    return result;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetLimit(std::size_t* value, int limit) {
  if (limit < 0 || limit > 4 || limit == 3) return Result::UnsupportedLimit;
  return in_context([=] { return cudart::cudaDeviceGetLimit(value, limit); });
}
GPUMUX_DRIVER_API Result cuCtxSetLimit(int limit, std::size_t value) {
  if (limit < 0 || limit > 4 || limit == 3) return Result::UnsupportedLimit;
  return in_context([=] { return cudart::cudaDeviceSetLimit(limit, value); });
}
// The machine divides L1 and shared memory, so this setting has no effect (docs/machines.md).
GPUMUX_DRIVER_API Result cuCtxSetCacheConfig(int) {
  return in_context([] { return Error::Success; });
}
GPUMUX_DRIVER_API Result cuCtxGetCacheConfig(int* config) {
  return in_context([=] {
    *config = 0;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxSetSharedMemConfig(int config) { return cuCtxSetCacheConfig(config); }
GPUMUX_DRIVER_API Result cuCtxGetSharedMemConfig(int* config) {
  return in_context([=] {
    *config = 1;  // four bytes
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([=] { return cudart::cudaDeviceGetStreamPriorityRange(least, greatest); });
}

GPUMUX_DRIVER_API Result cuDevicePrimaryCtxRetain(Context** context, DeviceNumber device) {
  if (context == nullptr) return Result::InvalidValue;
  *context = &contexts().primary;
  return of_primary(device, [](Contexts& all) { ++all.retained; });
}
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxRelease(DeviceNumber device) { return release(device); }
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) { return release(device); }
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxReset(DeviceNumber device) { return of_primary(device, reset); }
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxReset_v2(DeviceNumber device) { return of_primary(device, reset); }
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxSetFlags(DeviceNumber device, unsigned flags) {
  return set_primary_flags(device, flags);
}
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxSetFlags_v2(DeviceNumber device, unsigned flags) {
  return set_primary_flags(device, flags);
}
GPUMUX_DRIVER_API Result cuDevicePrimaryCtxGetState(DeviceNumber device, unsigned* flags, int* active) {
  return locked([=] {
    if (device != 0) return Result::InvalidDevice;
    if (flags != nullptr) *flags = contexts().primary.flags;
    if (active != nullptr) *active = is_primary_active() ? 1 : 0;
    return Result::Success;
  });
}

}  // namespace gpumux::driver
