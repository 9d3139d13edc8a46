// A request inside a partition, and the pool that holds it from its arrival to its reply.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/messages.hpp"
#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace gpumux::l2 {

using arch::KernelSlot;
using arch::RequestKind;

using RequestIndex = std::uint32_t;
inline constexpr RequestIndex kNoRequest = ~RequestIndex{0};

struct alignas(64) Request {     // one cache line
  std::uint64_t slice_line = 0;  // see noc::PartitionMap::Place
  std::uint64_t time = 0;        // core cycle of arrival
  std::uint32_t tag = 0;         // chosen by the SM
  SmId sm = 0;
  std::uint16_t mshr = 0;  // MSHR of the fill for which the request waits
  // The following members have the order of arch::MemRequest, so that they are copied together.
  KernelSlot kernel = 0;
  AppId app = 0;
  RequestKind kind = RequestKind::Read;
  std::uint8_t sectors = 0;
  std::uint8_t operations = 0;
  std::uint8_t rounds = 0;
  std::uint8_t data_bytes = 0;
  std::uint8_t wants_reply : 1 = 1;
  std::uint8_t charged : 1 = 0;
  std::uint8_t flits : 6 = 1;
  RequestIndex next = kNoRequest;
  std::uint32_t set = 0;
  std::uint8_t slice = 0;
  // For the ledger, while the request waits for a fill: the application that evicted the line, and
  // since when the request waits.
  AppId displaced_by = kMaxApps;
  Cycle waits_since = 0;
};
static_assert(sizeof(Request) == 64);

/// Request records with a stack of free records; the last one freed is taken first. The pool grows only if
/// senders ignore their credits.
class RequestPool {
 public:
  explicit RequestPool(std::uint32_t size) { grow(size); }
  RequestIndex take() {
    if (free_count_ == 0) grow(static_cast<std::uint32_t>(records_.size()));
    const RequestIndex index = free_[--free_count_];
    if (free_count_ >= kAhead) __builtin_prefetch(&records_[free_[free_count_ - kAhead]]);
    return index;
  }
  void release(RequestIndex index) { free_[free_count_++] = index; }
  Request& operator[](RequestIndex index) { return records_[index]; }
  const Request& operator[](RequestIndex index) const { return records_[index]; }
  [[gnu::always_inline]] void prefetch(RequestIndex index) const { __builtin_prefetch(&records_[index]); }
  [[nodiscard]] std::uint32_t used() const {
    return static_cast<std::uint32_t>(records_.size()) - free_count_;
  }

 private:
  static constexpr std::uint32_t kAhead = 4;
  void grow(std::uint32_t more) {
    const auto first = static_cast<RequestIndex>(records_.size());
    records_.resize(first + more);
    free_.resize(records_.size());
    for (std::uint32_t i = more; i-- > 0;) free_[free_count_++] = first + i;
  }
  HugePageVector<Request> records_;
  HugePageVector<RequestIndex> free_;  // stack of free records, as long as records_; the first
                                       // free_count_ entries are used
  std::uint32_t free_count_ = 0;
};

/// A queue of requests, linked through Request::next.
class RequestList {
 public:
  [[nodiscard]] bool empty() const { return head_ == kNoRequest; }
  [[nodiscard]] RequestIndex front() const { return head_; }
  void push(RequestPool& pool, RequestIndex index) {
    pool[index].next = kNoRequest;
    if (head_ == kNoRequest) {
      head_ = index;
    } else {
      pool[tail_].next = index;
    }
    tail_ = index;
  }
  RequestIndex pop(RequestPool& pool) {
    const RequestIndex index = head_;
    head_ = pool[index].next;
    return index;
  }

 private:
  RequestIndex head_ = kNoRequest;
  RequestIndex tail_ = kNoRequest;
};

/// A ring buffer of fixed capacity.
template <typename T>
class Ring {
 public:
  explicit Ring(std::uint32_t capacity) : items_(capacity), capacity_(capacity) {}
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] T& front() { return items_[head_]; }
  [[nodiscard]] const T& front() const { return items_[head_]; }
  /// The n-th element from the front. Requires n < size().
  [[nodiscard]] const T& operator[](std::uint32_t n) const {
    const std::uint32_t place = head_ + n;
    return items_[place < capacity_ ? place : place - capacity_];
  }
  /// Prefetches the cache line of the front.
  [[gnu::always_inline]] void prefetch() const { __builtin_prefetch(&items_[head_], 1); }
  void push(const T& item) {
    GPUMUX_DCHECK(count_ < capacity_);
    std::uint32_t place = head_ + count_;
    if (place >= capacity_) place -= capacity_;
    items_[place] = item;
    ++count_;
  }
  void pop() {
    if (++head_ == capacity_) head_ = 0;
    --count_;
  }

 private:
  HugePageVector<T> items_;
  std::uint32_t capacity_;
  std::uint32_t head_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace gpumux::l2
