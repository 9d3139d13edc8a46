#include "workload/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"

namespace gpumux::workload {
namespace {

/// Allocations start one page into the range, so that small offsets from a null-like base are faults.
constexpr Address kFirstOffset = 4096;
/// Offset of the first allocation in memory that another process shares. A CUDA context has memory of its own
/// before the program's, so kernels that read a little before their first allocation find a page there.
constexpr Address kSharedOffset = DeviceMemory::kPageBytes;
/// Minimum gap in bytes between two allocations, so that an access beyond an end is noticed.
constexpr std::uint64_t kGap = 256;
constexpr std::uint64_t kLeastReserved = std::uint64_t{1} << 28U;
/// Freed blocks of at least this size in bytes are returned to the host at once.
constexpr std::uint64_t kReturnBytes = std::uint64_t{1} << 20U;

/// Largest allocation in bytes that uses huge pages. The host commits these by 2 MB at the first access.
constexpr std::uint64_t kMostHuge = std::uint64_t{1} << 28U;

/// For writes of at least this size in bytes, pages are requested in advance. One request takes less time
/// than many page faults.
constexpr std::uint64_t kPreparedBytes = std::uint64_t{1} << 20U;

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

/// Number of blocks for which a range of local memory has room.
constexpr std::uint64_t kLocalBlocks = std::uint64_t{1} << 14U;

/// Takes the next `bytes` of a backing range and returns their offset. At the end of the range, placing wraps
/// around to its start.
std::uint64_t place(std::uint64_t& placed, std::uint64_t bytes) {
  if (placed + bytes > DeviceMemory::kBackingBytes) placed = 0;
  const std::uint64_t offset = placed;
  placed = align_up(placed + bytes, DeviceMemory::kAllocationAlign);
  return offset;
}

}  // namespace

DeviceMemory::DeviceMemory(AppId app, std::string owner, int file)
    : base_(first_line_of(app) * kLineBytes),
      cached_base_(base_),
      owner_(std::move(owner)),
      shared_(file != kNoFile),
      first_(base_ + (shared_ ? kSharedOffset : kFirstOffset)),
      top_(base_ + kFirstOffset) {
  reserve(file);
}

DeviceMemory::DeviceMemory(AppId app, std::string owner, const AddressSpace& space)
    : base_(space.base),
      cached_base_(first_line_of(app) * kLineBytes),
      owner_(std::move(owner)),
      first_(std::max(base_ + kFirstOffset, align_up(space.placed_end, kAllocationAlign))),
      top_(base_ + kFirstOffset) {
  GPUMUX_CHECK(base_ != 0 && base_ % (Address{1} << kAppShift) == 0);
  reserve(kNoFile);
}

void DeviceMemory::reserve(int file) {
  const int backing = shared_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  const auto map = [&] {
    return mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, backing | MAP_NORESERVE, file, 0);
  };
  void* range = map();
  while (range == MAP_FAILED && reserved_ > kLeastReserved) {
    reserved_ /= 2;
    range = map();
  }
  if (range == MAP_FAILED) {
    throw UserError(
        fmt::format("no {} MiB of address space for an application's device memory ({}); a limit such "
                    "as `ulimit -v` is too low",
                    reserved_ >> 20U, std::strerror(errno)));
  }
  host_ = static_cast<std::byte*>(range);
  end_ = base_ + reserved_;
}

DeviceMemory::~DeviceMemory() { munmap(host_, reserved_); }

std::string DeviceMemory::error() const {
  return owner_.empty() ? "error: " : fmt::format("error: app {}: ", owner_);
}

Address DeviceMemory::place_constants(std::uint64_t bytes) {
  return constant_backing() + place(constants_placed_, bytes);
}

Address DeviceMemory::place_code(std::uint64_t bytes) { return code_backing() + place(code_placed_, bytes); }

Address DeviceMemory::place_local(std::uint64_t block_bytes) {
  const auto found = local_ranges_.find(block_bytes);
  if (found != local_ranges_.end()) return found->second;
  const std::uint64_t bytes = std::min(block_bytes, kBackingBytes / kLocalBlocks) * kLocalBlocks;
  const Address range = local_backing() + place(local_placed_, bytes);
  local_ranges_.emplace(block_bytes, range);
  return range;
}

void DeviceMemory::fail_full(std::uint64_t wanted) const {
  if (reserved_ < kReservedBytes) {
    throw UserError(fmt::format(
        "{}: {} bytes wanted, {} bytes allocated, and this system gave {} MiB of address "
        "space alone; a limit such as `ulimit -v` is too low",
        owner_.empty() ? "device memory" : "app " + owner_, wanted, allocated_, reserved_ >> 20U));
  }
  throw SimulationFault(
      error() + fmt::format("out of device memory: {} bytes wanted, {} bytes allocated", wanted, allocated_));
}

Address DeviceMemory::allocate(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const Address end_of_range = end_;
  if (first_ + kGap > end_of_range || bytes > reserved_ - kFirstOffset - 2 * kGap) {
    fail_full(bytes);
  }
  // First fit among the gaps below the top, otherwise at the top.
  Address place = 0;
  if (const auto gap = gaps_.first_of(bytes)) {
    place = gap->end - gap->bytes;
  } else {
    place = first_place_behind(allocations_.end());
    if (place + bytes + kGap > end_of_range) fail_full(bytes);
  }
  take(place, bytes);
  return place;
}

Address DeviceMemory::first_place_behind(Allocations::const_iterator after) const {
  if (after == allocations_.begin()) return first_;
  const auto& [start, bytes] = *std::prev(after);
  return std::max(first_, align_up(start + bytes + kGap, kAllocationAlign));
}

void DeviceMemory::note_gap_before(Allocations::const_iterator allocation) {
  if (allocation == allocations_.end()) return;
  const Address place = first_place_behind(allocation);
  const Address end = allocation->first - kGap;
  gaps_.set(end, end > place ? end - place : 0);
}

void DeviceMemory::insert(Address start, std::uint64_t bytes) {
  const auto made = allocations_.emplace(start, bytes).first;
  note_gap_before(made);
  note_gap_before(std::next(made));
}

void DeviceMemory::erase(Allocations::const_iterator allocation) {
  gaps_.set(allocation->first - kGap, 0);
  note_gap_before(allocations_.erase(allocation));
}

void DeviceMemory::allocate_at(Address address, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (address < base_ + kFirstOffset || bytes > reserved_ || address - base_ > reserved_ - bytes) {
    if (address >= base_ + kFirstOffset && reserved_ < kReservedBytes) fail_full(bytes);
    throw UserError(
        fmt::format("{}an allocation of {} bytes at 0x{:x} lies outside of device memory, 0x{:x} to 0x{:x}",
                    owner_.empty() ? "" : fmt::format("app {}: ", owner_), bytes, address,
                    base_ + kFirstOffset, base_ + reserved_));
  }
  const auto after = allocations_.lower_bound(address + bytes);
  if (after != allocations_.begin()) {
    const auto& [start, size] = *std::prev(after);
    if (start + size > address) {
      throw UserError(fmt::format("{}an allocation of {} bytes at 0x{:x} lies where {} does",
                                  owner_.empty() ? "" : fmt::format("app {}: ", owner_), bytes, address,
                                  text_of(start, size)));
    }
  }
  take(address, bytes);
}

Address DeviceMemory::allocate_at_end(std::uint64_t bytes) {
  if (bytes == 0 || bytes > end_ - base_ - kGap) return 0;
  const Address start = (end_ - kGap - bytes) / kAllocationAlign * kAllocationAlign;
  if (start < top_ + kGap) return 0;
  insert(start, bytes);
  end_ = start;
  return start;
}

void DeviceMemory::take(Address start, std::uint64_t bytes) {
  if (start < top_) clear(start, std::min(start + bytes, top_));  // used before: bytes may be stale
  freed_.erase(freed_.lower_bound(start), freed_.lower_bound(start + bytes));
  if (bytes <= kMostHuge) {
    const Address first = start / 4096 * 4096;
    madvise(host(first), align_up(start + bytes, 4096) - first, MADV_HUGEPAGE);
  }
  insert(start, bytes);
  allocated_ += bytes;
  if (start + bytes > top_) top_ = start + bytes;
}

void DeviceMemory::free(Address address) {
  if (address == 0) return;
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) {
    throw SimulationFault(error() +
                          fmt::format("free of 0x{:x}, which is not the start of an allocation ({})", address,
                                      describe(address)));
  }
  if (found->second >= kReturnBytes) {
    const Address first = align_up(address, 4096);
    (void)return_pages(first, (address + found->second) / 4096 * 4096 - first);
  }
  allocated_ -= found->second;
  note_freed(address, found->second);
  erase(found);
  names_.erase(address);
  hot_begin_ = 1;
  hot_end_ = 0;
}

void DeviceMemory::clear(Address start, Address end) {
  const Address first = align_up(start, 4096);
  const Address last = end / 4096 * 4096;
  if (end - start < kReturnBytes) {
    std::memset(host(start), 0, end - start);
    return;
  }
  std::memset(host(start), 0, first - start);
  if (!return_pages(first, last - first)) std::memset(host(first), 0, last - first);
  std::memset(host(last), 0, end - last);
}

bool DeviceMemory::return_pages(Address first, std::uint64_t bytes) {
  // A page of a file is freed only if it is removed from the file.
  return madvise(host(first), bytes, shared_ ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

void DeviceMemory::note_freed(Address address, std::uint64_t bytes) {
  constexpr std::size_t kRemembered = 1024;
  freed_[address] = bytes;
  freed_order_.push_back(address);
  if (freed_order_.size() <= kRemembered) return;
  freed_.erase(freed_order_.front());
  freed_order_.pop_front();
}

Address DeviceMemory::allocate_heap(std::uint64_t bytes, std::uint64_t limit) {
  if (bytes == 0 || bytes > limit || heap_bytes_ + align_up(bytes, kHeapAlign) > limit) return 0;
  const Address address = allocate(bytes);
  heap_.emplace(address, align_up(bytes, kHeapAlign));
  heap_bytes_ += align_up(bytes, kHeapAlign);
  return address;
}

bool DeviceMemory::free_heap(Address address) {
  if (address == 0) return true;
  const auto found = heap_.find(address);
  if (found == heap_.end()) return false;
  heap_bytes_ -= found->second;
  heap_.erase(found);
  free(address);
  return true;
}

void DeviceMemory::name(Address allocation, std::string name) { names_[allocation] = std::move(name); }

std::string DeviceMemory::text_of(Address start, std::uint64_t bytes) const {
  const auto name = names_.find(start);
  const std::string size = fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  if (name != names_.end()) return fmt::format("{}, {} at 0x{:x}", name->second, size, start);
  return fmt::format("the {} of {} at 0x{:x}", heap_.contains(start) ? "block of malloc" : "allocation", size,
                     start);
}

void DeviceMemory::free_all() {
  if (top_ > base_) (void)return_pages(base_, align_up(top_ - base_, 4096));
  if (end_ < base_ + reserved_) {
    const Address first = end_ / 4096 * 4096;
    (void)return_pages(first, base_ + reserved_ - first);
    end_ = base_ + reserved_;
  }
  allocations_.clear();
  gaps_.clear();
  names_.clear();
  heap_.clear();
  host_pieces_.clear();
  heap_bytes_ = 0;
  freed_.clear();
  freed_order_.clear();
  allocated_ = 0;
  top_ = base_ + kFirstOffset;
  hot_begin_ = 1;
  hot_end_ = 0;
}

bool DeviceMemory::valid_slow(Address address, std::uint64_t bytes) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return false;
  --after;
  const Address end = after->first + after->second;
  if (address >= end || bytes > end - address) return false;
  hot_begin_ = after->first;
  hot_end_ = end;
  return true;
}

bool DeviceMemory::on_used_pages(Address address, std::uint64_t bytes) const {
  if (address < base_ || address - base_ >= reserved_ || bytes > reserved_ - (address - base_)) return false;
  for (Address page = address / kPageBytes * kPageBytes; page < address + bytes; page += kPageBytes) {
    if (page == base_) continue;  // the page before the first allocation (kSharedOffset)
    const auto after = allocations_.lower_bound(page + kPageBytes);
    if (after == allocations_.begin()) return false;
    const auto& [start, size] = *std::prev(after);
    if (start + size <= page) return false;
  }
  return true;
}

void DeviceMemory::map_host(Address host, std::uint64_t bytes, Address device) {
  const auto after = host_pieces_.lower_bound(host + bytes);
  if (after != host_pieces_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > host) {
    throw UserError(fmt::format("{}{} bytes of the host at 0x{:x} lie where others do",
                                owner_.empty() ? "" : fmt::format("app {}: ", owner_), bytes, host));
  }
  host_pieces_[host] = {bytes, device};
}

Address DeviceMemory::translated(Address address, std::uint64_t bytes) const {
  const auto after = host_pieces_.upper_bound(address);
  if (after == host_pieces_.begin()) return address;
  const auto& [first, piece] = *std::prev(after);
  const std::uint64_t offset = address - first;
  if (offset >= piece.bytes || bytes > piece.bytes - offset) return address;
  return piece.device + offset;
}

void DeviceMemory::write(Address to, std::span<const std::byte> from) {
  if (from.empty()) return;
  if (!valid(to, from.size())) {
    throw SimulationFault(error() + fmt::format("invalid copy of {} bytes to device address 0x{:x} ({})",
                                                from.size(), to, describe(to)));
  }
  prepare_pages(to, from.size());
  std::memcpy(host(to), from.data(), from.size());
}

void DeviceMemory::prepare_pages(Address first, std::uint64_t bytes) {
  if (bytes < kPreparedBytes) return;
  const Address page = first / 4096 * 4096;
  // A system without MADV_POPULATE_WRITE provides each page when it is touched.
  (void)madvise(host(page), align_up(first + bytes, 4096) - page, MADV_POPULATE_WRITE);
}

void DeviceMemory::read(Address from, std::span<std::byte> to) const {
  if (to.empty()) return;
  if (!valid(from, to.size())) {
    throw SimulationFault(error() + fmt::format("invalid copy of {} bytes from device address 0x{:x} ({})",
                                                to.size(), from, describe(from)));
  }
  std::memcpy(to.data(), host(from), to.size());
}

void DeviceMemory::fill(Address to, std::byte value, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (!valid(to, bytes)) {
    throw SimulationFault(error() + fmt::format("invalid fill of {} bytes at device address 0x{:x} ({})",
                                                bytes, to, describe(to)));
  }
  prepare_pages(to, bytes);
  std::memset(host(to), std::to_integer<int>(value), bytes);
}

std::string DeviceMemory::describe(Address address) const {
  const auto bytes_text = [](std::uint64_t bytes) {
    return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  };
  const auto into = [&](std::uint64_t bytes) {
    return bytes == 0 ? "the start of" : bytes_text(bytes) + " into";
  };
  constexpr Address kNullPage = 65536;
  if (address == 0) return "a null pointer";
  if (address < kNullPage) return fmt::format("{} after a null pointer", bytes_text(address));
  if (address < base_ || address >= base_ + reserved_) return "no address that this application was given";
  if (auto freed = freed_.upper_bound(address); freed != freed_.begin()) {
    const auto& [start, size] = *--freed;
    if (address < start + size) {
      return fmt::format("{} a block of {} at 0x{:x} that was freed", into(address - start), bytes_text(size),
                         start);
    }
  }
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const auto& [start, size] = *std::prev(after);
    if (address < start + size) return fmt::format("{} {}", into(address - start), text_of(start, size));
    // The message names the nearer of the two neighbours.
    if (after == allocations_.end() || address - (start + size) <= after->first - address) {
      const std::uint64_t beyond = address - (start + size);
      return fmt::format("{} the end of {}", beyond == 0 ? "just after" : bytes_text(beyond) + " after",
                         text_of(start, size));
    }
  }
  if (after != allocations_.end()) {
    return fmt::format("{} before {}", bytes_text(after->first - address),
                       text_of(after->first, after->second));
  }
  return "no allocation exists";
}

}  // namespace gpumux::workload
