#include "pools.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

namespace gpumux::cudart {

/// A memory pool. cudaMemPoolAttr: 1 to 3 permit certain kinds of reuse, 4 is the release threshold, 5 and 7
/// are the present bytes reserved and used, 6 and 8 their maxima.
struct Pool {
  std::array<int, 4> reuse{0, 1, 1, 1};  // [0] is unused
  std::uint64_t threshold = 0;
  std::uint64_t used = 0;
  std::uint64_t most = 0;
};

namespace {

constexpr int kPoolThreshold = 4;
constexpr int kPoolReserved = 5;
constexpr int kPoolMostReserved = 6;
constexpr int kPoolUsed = 7;
constexpr int kPoolMostUsed = 8;

struct Pools {
  Pool usual;
  std::set<Pool*> made;
  Pool* current = &usual;
};
Pools& pools() {
  static auto* const all = new Pools;
  return *all;
}

Error give_pool(void** pool, Pool* given) {
  const std::scoped_lock lock(Session::get().lock());
  if (pool == nullptr) return returned(Error::InvalidValue);
  *pool = given;
  return Error::Success;
}

}  // namespace

Pool* current_pool() { return pools().current; }
Pool* pool_of(void* handle) {
  auto* const pool = static_cast<Pool*>(handle);
  return pool == &pools().usual || pools().made.contains(pool) ? pool : nullptr;
}
void count_in(Pool* pool, std::size_t bytes) {
  pool->used += bytes;
  pool->most = std::max(pool->most, pool->used);
}
void count_out(Pool* pool, std::size_t bytes) {
  if (pool_of(pool) != nullptr) pool->used -= bytes;  // the pool may be destroyed before its memory is freed
}

GPUMUX_CUDART_API Error cudaDeviceGetDefaultMemPool(void** pool, int) {
  return give_pool(pool, &pools().usual);
}
GPUMUX_CUDART_API Error cudaDeviceGetMemPool(void** pool, int) { return give_pool(pool, pools().current); }
GPUMUX_CUDART_API Error cudaDeviceSetMemPool(int, void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Pool* const pool = pool_of(handle);
  if (pool == nullptr) return returned(Error::InvalidValue);
  pools().current = pool;
  return Error::Success;
}
// The properties name the device and kinds of sharing with other processes, which are not supported.
GPUMUX_CUDART_API Error cudaMemPoolCreate(void** handle, const void*) {
  const std::scoped_lock lock(Session::get().lock());
  if (handle == nullptr) return returned(Error::InvalidValue);
  auto pool = std::make_unique<Pool>();
  *handle = pool.get();
  pools().made.insert(pool.release());
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaMemPoolDestroy(void* handle) {
  const std::scoped_lock lock(Session::get().lock());
  Pool* const pool = pool_of(handle);
  Pools& all = pools();
  if (pool == nullptr || pool == &all.usual) return returned(Error::InvalidValue);
  if (all.current == pool) all.current = &all.usual;
  all.made.erase(pool);
  delete pool;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaMemPoolSetAttribute(void* handle, int attribute, void* value) {
  const std::scoped_lock lock(Session::get().lock());
  Pool* const pool = pool_of(handle);
  if (pool == nullptr || value == nullptr) return returned(Error::InvalidValue);
  if (attribute >= 1 && attribute < kPoolThreshold) {
    std::memcpy(&pool->reuse[static_cast<std::size_t>(attribute)], value, sizeof(int));
    return Error::Success;
  }
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof(number));
  if (attribute == kPoolThreshold) {
    pool->threshold = number;
  } else if ((attribute == kPoolMostReserved || attribute == kPoolMostUsed) && number == 0) {
    pool->most = pool->used;  // resets the maximum
  } else {
    return returned(Error::InvalidValue);
  }
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaMemPoolGetAttribute(void* handle, int attribute, void* value) {
  const std::scoped_lock lock(Session::get().lock());
  const Pool* const pool = pool_of(handle);
  if (pool == nullptr || value == nullptr) return returned(Error::InvalidValue);
  if (attribute >= 1 && attribute < kPoolThreshold) {
    std::memcpy(value, &pool->reuse[static_cast<std::size_t>(attribute)], sizeof(int));
    return Error::Success;
  }
  std::uint64_t number = 0;
  switch (attribute) {
    case kPoolThreshold: number = pool->threshold; break;
    case kPoolReserved:
    case kPoolUsed: number = pool->used; break;
    case kPoolMostReserved:
    case kPoolMostUsed: number = pool->most; break;
    default: return returned(Error::InvalidValue);
  }
  std::memcpy(value, &number, sizeof(number));
  return Error::Success;
}
// There is no unused memory to trim, and only one device, which always has access.
GPUMUX_CUDART_API Error cudaMemPoolTrimTo(void* handle, std::size_t) {
  const std::scoped_lock lock(Session::get().lock());
  return returned(pool_of(handle) != nullptr ? Error::Success : Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaMemPoolSetAccess(void* handle, const void*, std::size_t) {
  return cudaMemPoolTrimTo(handle, 0);
}

}  // namespace gpumux::cudart
