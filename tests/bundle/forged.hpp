// Bundles with contents that no writer produces. Their digests are right, so that readers do not stop at the
// digests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bundle/coding.hpp"
#include "bundle/format.hpp"
#include "bundle/hashing.hpp"

namespace gpumux::bundle::test {

inline std::string header_of(std::uint64_t size, std::string_view behind, std::uint64_t index) {
  std::string header(kMagic);
  put_word(header, size);
  const Digest sum = digest(behind);
  put_word(header, sum.low);
  put_word(header, sum.high);
  put_word(header, index);
  put_word(header, short_digest(header));
  return header;
}

/// Corrects size and digests of a changed bundle. The position of the index stays unchanged.
inline std::string repaired(std::string bytes) {
  if (bytes.size() < kHeaderBytes) return bytes;
  std::uint64_t index = 0;
  for (unsigned i = 0; i < 8; ++i)
    index |= std::uint64_t{static_cast<unsigned char>(bytes[kHeaderBytes - 16 + i])} << (8 * i);
  const std::string_view behind = std::string_view(bytes).substr(kHeaderBytes);
  return bytes.replace(0, kHeaderBytes, header_of(bytes.size(), behind, index));
}

/// A chunk with the bytes as stored, and the index entry as given (right or wrong).
struct RawChunk {
  std::string stored;
  std::uint64_t raw = 0;    // raw size in the index entry
  std::uint64_t flags = 0;  // kPacked, kRecords
};
inline std::string raw_bundle(const std::vector<RawChunk>& chunks, std::uint64_t records,
                              std::uint64_t base = 1) {
  std::string behind;
  std::string index;
  put_number(index, base);
  put_number(index, records);
  put_number(index, chunks.size());
  for (const RawChunk& chunk : chunks) {
    behind += chunk.stored;
    put_number(index, chunk.raw << 2U | chunk.flags);
    if ((chunk.flags & kPacked) != 0) put_number(index, chunk.stored.size());
  }
  const std::uint64_t at = kHeaderBytes + behind.size();
  behind += index;
  return header_of(kHeaderBytes + behind.size(), behind, at) + behind;
}
inline RawChunk as_it_is(std::string bytes, std::uint64_t flags) {
  const std::uint64_t size = bytes.size();
  return {std::move(bytes), size, flags};
}

/// A bundle with these records, which are not checked. All contents of the records are parts of `piece`.
inline std::string unchecked_bundle(const std::vector<Record>& records, const std::string& piece) {
  CodingState state{Address{1} << kAppShift, 0};
  std::string bytes;
  for (const Record& record : records) encode(state, record, bytes);
  return raw_bundle({as_it_is(piece, 0), as_it_is(bytes, kRecords)}, records.size());
}

}  // namespace gpumux::bundle::test
