// One application's device memory: allocations with exact bounds in a reserved range of addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>

#include "base/types.hpp"
#include "workload/address_space.hpp"
#include "workload/free_gaps.hpp"
#include "workload/texture.hpp"

namespace gpumux::workload {

/// Device memory of one application. Caches see application i at the addresses [(i + 1) << kAppShift, (i + 2)
/// << kAppShift) (base/types.hpp). The program sees the same addresses, unless it was given another
/// AddressSpace. The range is backed by one lazily committed reservation of host memory, so translation is
/// one addition. On hosts with huge pages, allocations of up to 256 MB are committed by 2 MB.
///
/// Invariants: allocations do not overlap, and kernels never read or write bytes outside them (checked()).
/// Not thread safe: only one thread at a time emulates an application.
class DeviceMemory {
 public:
  /// Size of the address range in bytes: 64 GiB. If the system has less, the largest power of two that it
  /// gives, at least 256 MiB.
  static constexpr std::uint64_t kReservedBytes = std::uint64_t{1} << 36U;
  static constexpr std::uint32_t kAllocationAlign = 256;
  static constexpr int kNoFile = -1;
  /// Windows of generic addresses for shared and local memory, outside every application's range, similar to
  /// CUDA's layout.
  static constexpr Address kSharedWindow = Address{0x7e} << 40U;
  static constexpr Address kLocalWindow = Address{0x7f} << 40U;
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 24U;
  /// Address ranges that only caches see: constant banks and parameters, local memory of resident blocks,
  /// code. The ranges are in the upper three quarters of the application's 2^40 addresses.
  [[nodiscard]] Address constant_backing() const { return cached_base_ + kBackingBytes; }
  [[nodiscard]] Address local_backing() const { return cached_base_ + 2 * kBackingBytes; }
  [[nodiscard]] Address code_backing() const { return cached_base_ + 3 * kBackingBytes; }
  /// Base address of notices: SM s reports at the s-th line after it that a block of the application may soon
  /// not be restarted. No allocation reaches this address.
  [[nodiscard]] Address notice_address() const { return cached_base_ + kBackingBytes / 2; }
  /// Bytes of each backing range (constants, local memory, code).
  static constexpr std::uint64_t kBackingBytes = std::uint64_t{1} << 38U;

  /// Takes a 256-byte aligned address range for a constant bank or the parameters of a launch.
  Address place_constants(std::uint64_t bytes);
  /// Takes a 256-byte aligned address range for a kernel's code.
  Address place_code(std::uint64_t bytes);
  /// Address of the local memory of the block with residency 0. Residency r is at r * block_bytes from there.
  /// Blocks with different residencies share no line, whatever the frame sizes of their kernels. Each size
  /// has a range of its own with room for 2^14 blocks, or fewer if a block takes over 16 MiB.
  Address place_local(std::uint64_t block_bytes);

  /// `owner`: the application's name for messages, may be empty. `file`: kNoFile for memory of this process,
  /// or a file of kReservedBytes zero bytes without pages (a memfd) which backs the addresses from base() on,
  /// so that another process can map them. Throws UserError when no addresses are available.
  explicit DeviceMemory(AppId app, std::string owner = {}, int file = kNoFile);
  /// Device memory with the addresses `space` for the program.
  DeviceMemory(AppId app, std::string owner, const AddressSpace& space);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A new zeroed allocation, 256-byte aligned. Zero bytes allocate nothing and return 0. Throws
  /// SimulationFault when the reservation is exhausted.
  Address allocate(std::uint64_t bytes);
  /// A new zeroed allocation at this address, which need not be aligned. Throws UserError when the address is
  /// not in the range or the memory is not free.
  void allocate_at(Address address, std::uint64_t bytes);
  /// Allocates zeroed memory for the run time itself, until free_all(). Addresses are taken from the end of
  /// the range downwards, so they do not depend on earlier allocations. Returns 0 if there is no room.
  Address allocate_at_end(std::uint64_t bytes);
  /// Frees an allocation of allocate(). Throws SimulationFault for any other address except 0.
  void free(Address address);
  void free_all();
  /// Allocates a block of the heap, for malloc in kernels. All heap blocks together have at most `limit`
  /// bytes, each rounded up to kHeapAlign. Returns 0 when there is no room.
  Address allocate_heap(std::uint64_t bytes, std::uint64_t limit);
  /// Frees a block of the heap. Returns false when `address` is neither 0 nor the start of such a block.
  [[nodiscard]] bool free_heap(Address address);
  static constexpr std::uint64_t kHeapAlign = 16;
  /// Sets the name of an allocation in messages, such as "--arg 1 (x.bin)".
  void name(Address allocation, std::string name);

  /// True when [address, address + bytes) is inside one allocation.
  [[nodiscard]] bool valid(Address address, std::uint64_t bytes) const {
    return valid_again(address, bytes) || valid_slow(address, bytes);
  }
  /// valid() for the allocation that the last valid() found: a fast check, false for any other allocation.
  [[nodiscard]] bool valid_again(Address address, std::uint64_t bytes) const {
    return address >= hot_begin_ && address <= hot_end_ && bytes <= hot_end_ - address;
  }
  /// True when the range touches only pages of kPageBytes that hold an allocation, or the first page. A GPU
  /// maps whole pages, so a kernel can access these.
  [[nodiscard]] bool on_used_pages(Address address, std::uint64_t bytes) const;
  static constexpr std::uint64_t kPageBytes = std::uint64_t{2} << 20U;
  /// Host pointer to a device address of this application. The caller must have checked valid().
  [[nodiscard]] std::byte* host(Address address) const { return host_ + (address - base_); }

  /// Makes the bytes at `device` also accessible to kernels at `host`, an address outside the range that the
  /// program's host uses for these bytes. Throws UserError if another mapped piece overlaps.
  void map_host(Address host, std::uint64_t bytes, Address device);
  /// Ends the mapping that starts at this host address, if there is one.
  void unmap_host(Address host) { host_pieces_.erase(host); }
  /// True if any host memory is mapped.
  [[nodiscard]] bool maps_host() const { return !host_pieces_.empty(); }
  /// The device address of bytes inside a mapped piece of host memory. Other addresses are returned
  /// unchanged.
  [[nodiscard]] Address translated(Address address, std::uint64_t bytes) const;

  /// Copies for the host side. They throw SimulationFault that names the range when it is not allocated.
  void write(Address to, std::span<const std::byte> from);
  void read(Address from, std::span<std::byte> to) const;
  void fill(Address to, std::byte value, std::uint64_t bytes);

  /// Description of an address for error messages, with the name of the allocation: "4 bytes after the end of
  /// the allocation of 1024 bytes at 0x...", "a null pointer", "8 bytes into a block of 64 bytes at 0x...
  /// that was freed".
  [[nodiscard]] std::string describe(Address address) const;
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_; }
  /// The first address of the program's range.
  [[nodiscard]] Address base() const { return base_; }
  /// The address at which caches see an address of the program.
  [[nodiscard]] Address cached(Address address) const { return address + (cached_base_ - base_); }
  /// Size in bytes of the range of allocations, from base() on.
  [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_; }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  /// The application's texture and surface objects.
  [[nodiscard]] TextureTable& textures() { return textures_; }
  [[nodiscard]] const TextureTable& textures() const { return textures_; }

 private:
  [[noreturn]] void fail_full(std::uint64_t wanted) const;
  void reserve(int file);
  using Allocations = std::map<Address, std::uint64_t>;  // start -> bytes
  void insert(Address start, std::uint64_t bytes);
  void erase(Allocations::const_iterator allocation);
  /// The first address for a new allocation between the allocation `after` and the one before it.
  [[nodiscard]] Address first_place_behind(Allocations::const_iterator after) const;
  void note_gap_before(Allocations::const_iterator allocation);
  /// Zeroes bytes that were used before. Pages of large ranges are returned to the host.
  void clear(Address start, Address end);
  /// Common part of allocate() and allocate_at(), once the address is known.
  void take(Address start, std::uint64_t bytes);
  void note_freed(Address address, std::uint64_t bytes);
  /// Returns whole pages from `first` on to the host. They read as zero afterwards. False if the system
  /// refuses.
  bool return_pages(Address first, std::uint64_t bytes);
  /// Requests pages for bytes that are about to be written.
  void prepare_pages(Address first, std::uint64_t bytes);
  [[nodiscard]] std::string text_of(Address start, std::uint64_t bytes) const;
  bool valid_slow(Address address, std::uint64_t bytes) const;
  /// "error: app NAME: " or "error: ".
  [[nodiscard]] std::string error() const;
  Address base_;
  Address cached_base_;
  std::string owner_;
  std::byte* host_ = nullptr;
  bool shared_ = false;  // backed by a file
  std::uint64_t reserved_ = kReservedBytes;
  Allocations allocations_;
  FreeGaps gaps_;                          // between allocations, each ending kGap before the next allocation
  std::map<Address, std::string> names_;   // of allocations, if set
  std::map<Address, std::uint64_t> heap_;  // blocks of kernels' malloc, with their rounded size
  std::uint64_t heap_bytes_ = 0;
  std::map<Address, std::uint64_t> freed_;  // start -> bytes, the last freed blocks that are still free
  std::deque<Address> freed_order_;
  std::uint64_t allocated_ = 0;
  Address first_;    // lowest address for allocations that are not placed
  Address top_;      // end of the highest allocation so far, without those of allocate_at_end()
  Address end_ = 0;  // start of the memory of allocate_at_end()
  std::uint64_t constants_placed_ = 0;
  std::uint64_t code_placed_ = 0;
  std::uint64_t local_placed_ = 0;
  std::map<std::uint64_t, Address> local_ranges_;  // by bytes per block
  struct HostPiece {
    std::uint64_t bytes = 0;
    Address device = 0;
  };
  std::map<Address, HostPiece> host_pieces_;  // by host address
  mutable Address hot_begin_ = 1;             // bounds of the allocation that was hit last
  mutable Address hot_end_ = 0;
  TextureTable textures_{*this};
};

}  // namespace gpumux::workload
