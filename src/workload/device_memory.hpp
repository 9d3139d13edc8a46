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

/// Device addresses of application i lie in [(i + 1) << kAppShift, (i + 2) << kAppShift) (base/types.hpp),
/// for caches always, and for its program unless it was given another AddressSpace. Translation is one
/// addition: the range is backed by one lazily committed reservation of host memory (by 2 MB in allocations
/// of up to 256 MB, where the host has huge pages).
///
/// Invariants: allocations do not overlap; bytes outside them are never read or written by a kernel
/// (checked()). Not thread-safe: one application is emulated by one thread at a time.
class DeviceMemory {
 public:
  /// Of addresses, 64 GiB; where the system gives less, the largest power of two down to 256 MiB.
  static constexpr std::uint64_t kReservedBytes = std::uint64_t{1} << 36U;
  static constexpr std::uint32_t kAllocationAlign = 256;
  static constexpr int kNoFile = -1;
  /// Generic-address windows (CUDA's layout in spirit): outside every application's range.
  static constexpr Address kSharedWindow = Address{0x7e} << 40U;
  static constexpr Address kLocalWindow = Address{0x7f} << 40U;
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 24U;
  /// What the caches alone see of an application besides its allocations and notices lies in the upper three
  /// quarters of its 2^40 addresses: constant banks and parameters, local memory of resident blocks, code.
  [[nodiscard]] Address constant_backing() const { return cached_base_ + kBackingBytes; }
  [[nodiscard]] Address local_backing() const { return cached_base_ + 2 * kBackingBytes; }
  [[nodiscard]] Address code_backing() const { return cached_base_ + 3 * kBackingBytes; }
  /// Where SM s reports that a block of the application may not begin anew: the line s behind this. It lies
  /// beyond every allocation.
  [[nodiscard]] Address notice_address() const { return cached_base_ + kBackingBytes / 2; }
  /// Bytes of each of the three.
  static constexpr std::uint64_t kBackingBytes = std::uint64_t{1} << 38U;

  /// A place of its own for a constant bank or the parameters of a launch, 256-byte aligned.
  Address place_constants(std::uint64_t bytes);
  /// A place of its own for a kernel's code, 256-byte aligned.
  Address place_code(std::uint64_t bytes);
  /// Where the local memory of the block with residency 0 lies; residency r's follows at r * block_bytes.
  /// Blocks with different residencies share no line, whatever the sizes of their kernels' frames: each
  /// size has a range of its own, with room for 2^14 blocks (for fewer where a block takes over 16 MiB).
  Address place_local(std::uint64_t block_bytes);

  /// `owner`: the application's name, for messages; may be empty. Throws UserError when no addresses are to
  /// be had. `file`: of kReservedBytes zero bytes, without pages yet (a memfd), which backs the addresses
  /// from base() on, so that another process can map them, too; kNoFile: memory of this process alone.
  explicit DeviceMemory(AppId app, std::string owner = {}, int file = kNoFile);
  /// The same with these addresses for the program.
  DeviceMemory(AppId app, std::string owner, const AddressSpace& space);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A new allocation (zero bytes allocate nothing and give 0), 256-byte aligned, its bytes zero.
  /// Throws SimulationFault when the reservation is exhausted.
  Address allocate(std::uint64_t bytes);
  /// The same at this address, which need not be aligned. Throws UserError when it is not in the range, or
  /// when something lies there.
  void allocate_at(Address address, std::uint64_t bytes);
  /// For what the run time itself keeps there, until free_all(): from the end of the addresses on downwards,
  /// so that it lies in the same place whatever was allocated before. Its bytes are zero. 0: there is no
  /// room.
  Address allocate_at_end(std::uint64_t bytes);
  /// Frees what allocate() gave. Throws SimulationFault for any other address but 0.
  void free(Address address);
  void free_all();
  /// The same for what a kernel's malloc and free do: all such blocks together have at most `limit` bytes,
  /// each rounded up to kHeapAlign. 0 when there is no room.
  Address allocate_heap(std::uint64_t bytes, std::uint64_t limit);
  /// False when `address` is neither 0 nor the start of a block of the heap.
  [[nodiscard]] bool free_heap(Address address);
  static constexpr std::uint64_t kHeapAlign = 16;
  /// What messages call an allocation, such as "--arg 1 (x.bin)".
  void name(Address allocation, std::string name);

  /// True when [address, address + bytes) lies inside one allocation.
  [[nodiscard]] bool valid(Address address, std::uint64_t bytes) const {
    return valid_again(address, bytes) || valid_slow(address, bytes);
  }
  /// False where it lies in another allocation than what valid() found last.
  [[nodiscard]] bool valid_again(Address address, std::uint64_t bytes) const {
    return address >= hot_begin_ && address <= hot_end_ && bytes <= hot_end_ - address;
  }
  /// True when it touches pages of kPageBytes alone that hold an allocation, or are the first: what a GPU,
  /// which maps whole pages, lets a kernel access.
  [[nodiscard]] bool on_used_pages(Address address, std::uint64_t bytes) const;
  static constexpr std::uint64_t kPageBytes = std::uint64_t{2} << 20U;
  /// Host pointer of a device address of this application; the caller has checked valid().
  [[nodiscard]] std::byte* host(Address address) const { return host_ + (address - base_); }

  /// The program's host sees the bytes at `device` at `host`, an address outside of the range: kernels may
  /// use it for them. Throws UserError where another such piece lies there.
  void map_host(Address host, std::uint64_t bytes, Address device);
  /// What began at this address of the host; nothing where none did.
  void unmap_host(Address host) { host_pieces_.erase(host); }
  /// There is such memory.
  [[nodiscard]] bool maps_host() const { return !host_pieces_.empty(); }
  /// The device's address of bytes that lie in such a piece; all others as they are.
  [[nodiscard]] Address translated(Address address, std::uint64_t bytes) const;

  /// Copies for the host side. Throw SimulationFault that names the range when it is not allocated.
  void write(Address to, std::span<const std::byte> from);
  void read(Address from, std::span<std::byte> to) const;
  void fill(Address to, std::byte value, std::uint64_t bytes);

  /// "4 bytes after the end of the allocation of 1024 bytes at 0x...", with its name, "a null pointer", "8
  /// bytes into a block of 64 bytes at 0x... that was freed": for error messages.
  [[nodiscard]] std::string describe(Address address) const;
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_; }
  /// The first address of the program's range.
  [[nodiscard]] Address base() const { return base_; }
  /// Where caches see an address of the program.
  [[nodiscard]] Address cached(Address address) const { return address + (cached_base_ - base_); }
  /// Bytes from base() on in which allocations lie.
  [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_; }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  /// The texture objects over it.
  [[nodiscard]] TextureTable& textures() { return textures_; }
  [[nodiscard]] const TextureTable& textures() const { return textures_; }

 private:
  [[noreturn]] void fail_full(std::uint64_t wanted) const;
  void reserve(int file);
  using Allocations = std::map<Address, std::uint64_t>;  // start -> bytes
  void insert(Address start, std::uint64_t bytes);
  void erase(Allocations::const_iterator allocation);
  /// The first address for a new allocation behind the one before this position.
  [[nodiscard]] Address first_place_behind(Allocations::const_iterator after) const;
  void note_gap_before(Allocations::const_iterator allocation);
  /// Zeroes bytes that were used before: large ranges as pages that go back to the host.
  void clear(Address start, Address end);
  /// What both ways to allocate do once the place is known.
  void take(Address start, std::uint64_t bytes);
  void note_freed(Address address, std::uint64_t bytes);
  /// Whole pages from `first` on go back to the host; they read as zero then. False: the system refuses.
  bool return_pages(Address first, std::uint64_t bytes);
  /// Of bytes that are about to be written.
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
  FreeGaps gaps_;                          // between them, at their ends kGap before the next
  std::map<Address, std::string> names_;   // of some of them
  std::map<Address, std::uint64_t> heap_;  // those of kernels, with the bytes that count
  std::uint64_t heap_bytes_ = 0;
  std::map<Address, std::uint64_t> freed_;  // start -> bytes, of the last ones, where nothing lives since
  std::deque<Address> freed_order_;
  std::uint64_t allocated_ = 0;
  Address first_;    // of allocations whose place is free
  Address top_;      // first address never allocated, but at the end
  Address end_ = 0;  // from there on allocate_at_end() has been
  std::uint64_t constants_placed_ = 0;
  std::uint64_t code_placed_ = 0;
  std::uint64_t local_placed_ = 0;
  std::map<std::uint64_t, Address> local_ranges_;  // by bytes of a block
  struct HostPiece {
    std::uint64_t bytes = 0;
    Address device = 0;
  };
  std::map<Address, HostPiece> host_pieces_;  // by the host's address
  mutable Address hot_begin_ = 1;             // the allocation that was hit last
  mutable Address hot_end_ = 0;
  TextureTable textures_{*this};
};

}  // namespace gpumux::workload
