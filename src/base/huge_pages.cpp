#include "base/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace gpumux {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = std::size_t{1} << 21U;
/// Size in bytes of the largest block of the arena. Larger blocks are left to the C++ library.
constexpr std::size_t kLargest = kPage / 4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kPlain = true;  // a sanitizer watches only memory from its own allocator
#else
constexpr bool kPlain = false;
#endif

std::size_t to_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// A freed block, as an entry of the free list for its size.
struct Freed {
  Freed* next;
};

/// Allocator of blocks in huge pages. Never destroyed, since blocks may be freed while the program ends.
class Arena {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Freed*& list = free_[bytes];
    if (list != nullptr) {
      Freed* block = list;
      list = block->next;
      return block;
    }
    if (left_ < bytes) new_page();
    std::byte* block = at_;
    at_ += bytes;
    left_ -= bytes;
    return block;
  }
  void give(void* block, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    Freed*& list = free_[bytes];  // exists since the block was allocated
    list = new (block) Freed{list};
  }

 private:
  void new_page() {
    // Twice the size, so that an aligned page can be cut out of the range.
    void* range = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(range);
    const std::size_t head = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
    if (head != 0) munmap(begin, head);
    munmap(begin + head + kPage, kPage - head);
    at_ = begin + head;
    left_ = kPage;
    madvise(at_, kPage, MADV_HUGEPAGE);  // a host without huge pages provides small ones
  }

  std::mutex mutex_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::unordered_map<std::size_t, Freed*> free_;  // by size
};

Arena& arena() {
  static Arena* const instance = new Arena;
  return *instance;
}

}  // namespace

void* huge_page_allocate(std::size_t bytes) {
  bytes = to_lines(bytes == 0 ? 1 : bytes);
  if (kPlain || bytes > kLargest) return ::operator new (bytes, std::align_val_t{kLine});
  return arena().take(bytes);
}

void huge_page_free(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  bytes = to_lines(bytes == 0 ? 1 : bytes);
  if (kPlain || bytes > kLargest) {
    ::operator delete (block, std::align_val_t{kLine});
    return;
  }
  arena().give(block, bytes);
}

}  // namespace gpumux
