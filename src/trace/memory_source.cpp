#include "trace/memory_source.hpp"

#include <bit>

namespace gpumux::trace {
namespace {

using Where = workload::MemHeader::Where;

std::uint64_t header_word(Where where, std::uint32_t transactions, std::uint32_t passes) {
  workload::MemHeader header;
  header.transactions = static_cast<std::uint16_t>(transactions);
  header.shared_passes = static_cast<std::uint16_t>(passes);
  header.where = where;
  return std::bit_cast<std::uint64_t>(header);
}

}  // namespace

void MemorySource::grow(std::uint32_t wanted) {
  // Capacities are odd numbers of cache lines. Warps run in step, so buffers at multiples of a power of two
  // would fall into the same sets of the host's caches.
  constexpr std::uint32_t kFirst = 9 * 8;
  std::uint32_t larger = capacity_ == 0 ? kFirst : capacity_;
  while (larger < wanted) larger = 2 * larger + 8;
  auto bigger = make_huge_page_array<std::uint64_t>(larger);
  if (words_ != 0) std::memcpy(bigger.get(), data_.get(), words_ * sizeof(std::uint64_t));
  data_ = std::move(bigger);
  capacity_ = larger;
}

void MemorySource::refill(workload::WarpStream& stream, std::uint32_t count, const LaunchTables& tables,
                          const Placement& placement) {
  if (stream.mem_next != nullptr && words_ != 0) {
    const auto consumed = static_cast<std::uint32_t>(stream.mem_next - data_.get());
    words_ -= consumed;
    if (consumed != 0) std::memmove(data_.get(), stream.mem_next, words_ * sizeof(std::uint64_t));
  }
  for (; count > 0; --count) {
    const std::uint64_t shape_number = items_.varint();
    if (shape_number == 0) {
      const auto lines = static_cast<std::uint32_t>(items_.varint_up_to(kMaxTransactions, "too many lines"));
      if (lines == 0) throw CorruptTrace{"an access without lines"};
      if (words_ + 1 + lines > capacity_) grow(words_ + 1 + lines);
      std::uint64_t* out = data_.get() + words_;
      *out++ = header_word(Where::Global, lines, 0);
      std::uint64_t line = line_;
      for (std::uint32_t i = 0; i < lines; ++i) {
        line += items_.signed_varint();
        const std::uint64_t touched = items_.varint();
        if (touched > kMostTouched || (touched & 0xfU) == 0) throw CorruptTrace{"a line is impossible"};
        *out++ = transaction_of(line, touched).word;
        if (i == 0) line_ = line;
      }
      words_ += 1 + lines;
      continue;
    }
    if (shape_number > tables.shapes.size()) throw CorruptTrace{"a shape is missing"};
    const Shape& shape = tables.shapes[shape_number - 1];
    std::uint64_t base = 0;
    switch (shape.where) {
      case Where::Global: base = line_ += items_.signed_varint(); break;
      case Where::Local: base = local_ + items_.varint(); break;
      case Where::Constant:
        if (shape.count > 0) base = placement.constant + items_.varint();
        break;
      case Where::Shared:
      case Where::Texture:  // never in traces
      case Where::None: break;
    }
    if (words_ + 1 + shape.count > capacity_) grow(words_ + 1 + shape.count);
    std::uint64_t* out = data_.get() + words_;
    *out++ = header_word(shape.where, shape.count, shape.passes[placement.bank_log2]);
    const std::uint64_t* relative = tables.words.data() + shape.first;
    for (std::uint32_t i = 0; i < shape.count; ++i)
      out[i] = relative[i] + (base << workload::Transaction::kLineShift);
    words_ += 1U + shape.count;
  }
  stream.mem_next = data_.get();
}

}  // namespace gpumux::trace
