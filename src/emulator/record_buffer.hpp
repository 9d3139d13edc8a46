// Records that a warp has executed and the machine has not consumed.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "base/huge_pages.hpp"
#include "workload/stream.hpp"

namespace gpumux::emulator {

/// Contiguous records and memory words of one warp, which are appended at the end and dropped from the front.
/// Buffers are reused from block to block, so that no memory is allocated in a steady state.
class RecordBuffer {
 public:
  /// Empties the buffer. `used`: its contents are needed.
  void begin(bool used) {
    used_ = used;
    clear();
  }
  void clear() {
    records_ = 0;
    words_ = 0;
  }
  [[nodiscard]] bool used() const { return used_; }
  /// Drops records that `stream` has consumed, and makes room for `wanted` more records.
  void make_room(const workload::WarpStream& stream, std::uint32_t wanted) {
    const std::uint32_t left = stream.available();
    if (records_ != left) {
      std::memmove(record_data_.get(), stream.next, left * sizeof(workload::ExecRecord));
      records_ = left;
    }
    if (stream.mem_next != nullptr) {
      const auto consumed = static_cast<std::uint32_t>(stream.mem_next - word_data_.get());
      if (consumed != 0) {
        words_ -= consumed;
        std::memmove(word_data_.get(), stream.mem_next, words_ * sizeof(std::uint64_t));
      }
    }
    if (records_ + wanted > record_capacity_) grow_records(records_ + wanted);
  }
  /// Points the stream to the buffer's contents.
  void publish(workload::WarpStream& stream) const {
    stream.next = record_data_.get();
    stream.end = record_data_.get() + records_;
    stream.mem_next = word_data_.get();
  }

  [[nodiscard]] workload::ExecRecord* record_end() { return record_data_.get() + records_; }
  /// Number of memory words that the machine has not consumed.
  [[nodiscard]] std::uint32_t words_left(const workload::WarpStream& stream) const {
    return stream.mem_next == nullptr
               ? words_
               : words_ - static_cast<std::uint32_t>(stream.mem_next - word_data_.get());
  }
  void records_added(std::uint32_t count) { records_ += count; }

  /// Room for a header and `transactions` words. keep() commits the words that were used.
  std::uint64_t* room(std::uint32_t transactions) {
    if (words_ + 1 + transactions > word_capacity_) grow_words(words_ + 1 + transactions);
    return word_data_.get() + words_;
  }
  /// Completes an instruction whose transactions were written after the header's place.
  void keep(const workload::MemHeader& header) {
    std::memcpy(word_data_.get() + words_, &header, sizeof(header));
    words_ += 1U + header.transactions;
  }

 private:
  // Capacities are odd numbers of cache lines. Warps run in step, so buffers at multiples of a power of two
  // would fall into the same sets of the host's caches. The first size is that of a refill for warps that may
  // wait for each other.
  static constexpr std::uint32_t kPerLine = 8;
  static constexpr std::uint32_t kFirstRecords = 33 * kPerLine;
  static constexpr std::uint32_t kFirstWords = 9 * kPerLine;

  template <typename T>
  static void grow(HugePageArray<T>& data, std::uint32_t used, std::uint32_t& capacity, std::uint32_t wanted,
                   std::uint32_t first) {
    static_assert(sizeof(T) * kPerLine == 64);
    std::uint32_t larger = capacity == 0 ? first : capacity;
    while (larger < wanted) larger = 2 * larger + kPerLine;
    auto bigger = make_huge_page_array<T>(larger);
    if (used != 0) std::memcpy(bigger.get(), data.get(), used * sizeof(T));
    data = std::move(bigger);
    capacity = larger;
  }
  void grow_records(std::uint32_t wanted) {
    grow(record_data_, records_, record_capacity_, wanted, kFirstRecords);
  }
  void grow_words(std::uint32_t wanted) { grow(word_data_, words_, word_capacity_, wanted, kFirstWords); }

  HugePageArray<workload::ExecRecord> record_data_;
  HugePageArray<std::uint64_t> word_data_;
  std::uint32_t records_ = 0;
  std::uint32_t record_capacity_ = 0;
  std::uint32_t words_ = 0;
  std::uint32_t word_capacity_ = 0;
  bool used_ = true;
};

}  // namespace gpumux::emulator
