// What a warp has executed and the machine has not consumed yet.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "workload/stream.hpp"

namespace gpumux::emulator {

/// Contiguous records and memory words of one warp, appended at the end and dropped from the front.
/// Reused from block to block, so that a steady state allocates nothing.
class RecordBuffer {
 public:
  /// Empties the buffer.
  void clear() {
    records_ = 0;
    words_ = 0;
  }
  /// Drops what `stream` has consumed and makes room for `wanted` more records.
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
  /// Points the stream at the buffer's contents.
  void publish(workload::WarpStream& stream) const {
    stream.next = record_data_.get();
    stream.end = record_data_.get() + records_;
    stream.mem_next = word_data_.get();
  }

  [[nodiscard]] workload::ExecRecord* record_end() { return record_data_.get() + records_; }
  void records_added(std::uint32_t count) { records_ += count; }

  /// Room for a header and `transactions` words; keep() says how many were used.
  std::uint64_t* room(std::uint32_t transactions) {
    if (words_ + 1 + transactions > word_capacity_) grow_words(words_ + 1 + transactions);
    return word_data_.get() + words_;
  }
  /// Ends an instruction: the transactions lie behind the header's place.
  void keep(const workload::MemHeader& header) {
    std::memcpy(word_data_.get() + words_, &header, sizeof(header));
    words_ += 1U + header.transactions;
  }

 private:
  void grow_records(std::uint32_t wanted) {
    std::uint32_t capacity = record_capacity_ == 0 ? 512 : record_capacity_;
    while (capacity < wanted) capacity *= 2;
    auto bigger = std::make_unique<workload::ExecRecord[]>(capacity);
    if (records_ != 0) std::memcpy(bigger.get(), record_data_.get(), records_ * sizeof(workload::ExecRecord));
    record_data_ = std::move(bigger);
    record_capacity_ = capacity;
  }
  void grow_words(std::uint32_t wanted) {
    std::uint32_t capacity = word_capacity_ == 0 ? 512 : word_capacity_;
    while (capacity < wanted) capacity *= 2;
    auto bigger = std::make_unique<std::uint64_t[]>(capacity);
    if (words_ != 0) std::memcpy(bigger.get(), word_data_.get(), words_ * sizeof(std::uint64_t));
    word_data_ = std::move(bigger);
    word_capacity_ = capacity;
  }

  std::unique_ptr<workload::ExecRecord[]> record_data_;
  std::unique_ptr<std::uint64_t[]> word_data_;
  std::uint32_t records_ = 0;
  std::uint32_t record_capacity_ = 0;
  std::uint32_t words_ = 0;
  std::uint32_t word_capacity_ = 0;
};

}  // namespace gpumux::emulator
