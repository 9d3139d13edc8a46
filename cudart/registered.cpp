#include "registered.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>

#include "allocations.hpp"
#include "mappings.hpp"

namespace gpumux::cudart {
namespace {

constexpr std::uintptr_t kPage = 4096;
constexpr auto kAlreadyRegistered = static_cast<Error>(712);  // cudaErrorHostMemoryAlreadyRegistered
constexpr auto kNotRegistered = static_cast<Error>(713);      // cudaErrorHostMemoryNotRegistered

using Registrations = std::map<std::uintptr_t, Registration>;  // by host address
Registrations& registrations() {
  static auto* const all = new Registrations;
  return *all;
}
std::map<std::uintptr_t, std::uintptr_t>& hosts_by_device() {
  static auto* const all = new std::map<std::uintptr_t, std::uintptr_t>;
  return *all;
}

/// A range of whole pages.
struct Pages {
  std::uintptr_t first;
  std::uintptr_t end;
  [[nodiscard]] std::size_t bytes() const { return end - first; }
  [[nodiscard]] bool meet(std::uintptr_t begin, std::uintptr_t behind) const {
    return begin < end && first < behind;
  }
};
Pages pages_of(std::uintptr_t host, std::size_t bytes) {
  return {host / kPage * kPage, (host + bytes + kPage - 1) / kPage * kPage};
}

/// True if the pages are on the calling thread's stack, which must not move while pages are exchanged.
bool on_own_stack(const Pages& pages) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  void* first = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &first, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  return pages.meet(begin, begin + bytes);
}

/// The reason why memory cannot be registered, from the access rights of its addresses in /proc/self/maps, or
/// nullptr.
const char* obstacle_in_maps(const Pages& pages) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  if (file == nullptr) return "/proc/self/maps cannot be read";
  std::uintptr_t known = pages.first;  // no obstacle below this address
  char line[512];
  while (known < pages.end && std::fgets(line, sizeof(line), file.get()) != nullptr) {
    std::uintptr_t first = 0, end = 0;
    char access[5] = {};
    int read = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %*u%n", &first, &end, access, &read) != 3 ||
        end <= known)
      continue;
    if (first > known) break;
    if (std::strchr(line + read, '[') != nullptr && std::strstr(line + read, "[heap]") == nullptr)
      return "it lies on the stack";
    if (access[0] != 'r' || access[1] != 'w') return "it is not both readable and writable";
    if (access[3] != 'p') return "it is a shared mapping of the program's own";
    known = end;
  }
  return known >= pages.end ? nullptr : "nothing is mapped at some of its addresses";
}

/// The reason why the pages cannot become device memory, or nullptr.
const char* obstacle(const Pages& pages) {
  // The windows of shared, local and constant memory in the generic address space.
  constexpr std::uintptr_t kFirstWindow = 0x7c, kLastWindow = 0x7f, kWindowShift = 40,
                           kWindowBytes = 1U << 24U;
  for (std::uintptr_t window = kFirstWindow; window <= kLastWindow; ++window) {
    const std::uintptr_t begin = window << kWindowShift;
    if (pages.meet(begin, begin + kWindowBytes))
      return "kernels have shared or local memory at its addresses";
  }
  for (const auto& [host, of] : registrations()) {
    const Pages other = pages_of(host, of.bytes);
    if (of.device != 0 && pages.meet(other.first, other.end))
      return "it shares a page with other registered memory";
  }
  if (on_own_stack(pages)) return "it lies on the stack";
  return obstacle_in_maps(pages);
}

/// Moves the pages to device memory, with their content. Other threads must not write to them meanwhile.
Error move_to_device(Registration& of, const Pages& pages) {
  Session& session = Session::get();
  program::AllocateResult result{};
  const program::AllocateArguments wanted{pages.bytes() + kPage, program::MemoryKind::Pinned};
  if (const Error error = session.call(Call::Allocate, wanted, &result); error != Error::Success)
    return error;
  const std::uintptr_t first = (result.address + kPage - 1) / kPage * kPage;
  std::memcpy(reinterpret_cast<void*>(first), reinterpret_cast<const void*>(pages.first), pages.bytes());
  if (!session.map_device(reinterpret_cast<void*>(pages.first), pages.bytes(), first)) {
    of.obstacle = "the system has no more mappings";
    return session.call(Call::Free, program::FreeArguments{result.address, 0});
  }
  of.allocation = result.address;
  of.device = first + (of.host - pages.first);
  hosts_by_device()[of.device] = of.host;
  return session.call(Call::MapHost, program::MapHostArguments{of.host, of.bytes, of.device});
}

/// Makes the pages private memory of this process again, with their content.
Error move_back(const Registration& of) {
  Session& session = Session::get();
  if (const Error error = session.call(Call::WaitForDevice, program::Nothing{}); error != Error::Success)
    return error;
  const Pages pages = pages_of(of.host, of.bytes);
  void* const own = mmap(nullptr, pages.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return Error::MemoryAllocation;
  void* const here = reinterpret_cast<void*>(pages.first);
  std::memcpy(own, here, pages.bytes());
  if (mremap(own, pages.bytes(), pages.bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, here) == MAP_FAILED) {
    munmap(own, pages.bytes());
    return Error::MemoryAllocation;
  }
  const Error error = session.call(Call::UnmapHost, program::UnmapHostArguments{of.host});
  return error == Error::Success ? session.call(Call::Free, program::FreeArguments{of.allocation, 0}) : error;
}

/// The last element that starts at `address` or before it, or nullptr.
template <class Map>
const typename Map::value_type* last_up_to(const Map& map, std::uintptr_t address) {
  const auto after = map.upper_bound(address);
  return after == map.begin() ? nullptr : &*std::prev(after);
}

bool is_whole(std::uintptr_t host, std::size_t bytes) { return host + bytes > host; }

}  // namespace

const Registration* registration_at(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (const auto* const found = last_up_to(registrations(), address);
      found != nullptr && address - found->first < found->second.bytes)
    return &found->second;
  const auto* const by_device = last_up_to(hosts_by_device(), address);
  if (by_device == nullptr) return nullptr;
  const Registration& of = registrations().at(by_device->second);
  return address - of.device < of.bytes ? &of : nullptr;
}

void* device_view(void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (const auto mapped = mapped_at(pointer)) {
    const std::uintptr_t into = address - mapped->address;
    const bool lies_there = mapped->access != Access::None && bytes <= mapped->bytes - into;
    return lies_there ? reinterpret_cast<void*>(mapped->device + into) : pointer;
  }
  const auto* const found = last_up_to(registrations(), address);
  if (found == nullptr || found->second.device == 0) return pointer;
  const Registration& of = found->second;
  const std::uintptr_t offset = address - of.host;
  if (offset >= of.bytes || bytes > of.bytes - offset) return pointer;
  return reinterpret_cast<void*>(of.device + offset);
}

GPUMUX_CUDART_API Error cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kIoMemory = 4, kAllFlags = 15;
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  const auto host = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0 || flags > kAllFlags || !is_whole(host, bytes))
    return returned(Error::InvalidValue);
  if ((flags & kIoMemory) != 0) return returned(not_supported("cudaHostRegister of another device's memory"));
  if (session.is_shared(pointer))
    return returned(is_pinned(pointer) ? kAlreadyRegistered : Error::InvalidValue);
  const auto* const before = last_up_to(registrations(), host + bytes - 1);
  if (before != nullptr && before->first + before->second.bytes > host) return returned(kAlreadyRegistered);

  Registration of{host, bytes, flags};
  const Pages pages = pages_of(host, bytes);
  if (const char* const found = obstacle(pages); found != nullptr) {
    of.obstacle = found;
  } else if (const Error error = move_to_device(of, pages); error != Error::Success) {
    return returned(error);
  }
  registrations().emplace(host, of);
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaHostUnregister(void* pointer) {
  const std::scoped_lock lock(Session::get().lock());
  const auto found = registrations().find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == registrations().end()) return returned(kNotRegistered);
  if (found->second.device != 0) {
    if (const Error error = move_back(found->second); error != Error::Success) return returned(error);
    hosts_by_device().erase(found->second.device);
  }
  registrations().erase(found);
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  const std::scoped_lock lock(Session::get().lock());
  if (device == nullptr || flags != 0) return returned(Error::InvalidValue);
  const Registration* const of = registration_at(host);
  if (of == nullptr) {
    if (!allocation_at(host)) return returned(Error::InvalidValue);
    *device = host;
    return Error::Success;
  }
  if (of->device == 0) {
    std::fprintf(
        stderr,
        "gpumux: kernels cannot reach memory that was registered at %p, since %s; copies of it work\n",
        reinterpret_cast<void*>(of->host), of->obstacle);
    return returned(Error::NotSupported);
  }
  *device = device_view(host, 1);
  return Error::Success;
}

}  // namespace gpumux::cudart
