// Constants of the file format, which docs/bundles.md describes byte by byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "bundle/records.hpp"

namespace gpumux::bundle {

inline constexpr std::string_view kMagic{"gpumuxB\1", 8};
/// Bytes of the header: magic, size of the file, digest of everything after the header, offset of the index,
/// digest of the preceding 40 bytes.
inline constexpr std::uint64_t kHeaderBytes = 48;

/// Bytes of records that are packed together as a chunk. The last record may go beyond this size.
inline constexpr std::uint64_t kRecordsBytes = std::uint64_t{64} << 10U;
/// Limit for the unpacked bytes of a chunk of records.
inline constexpr std::uint64_t kMostChunk = std::uint64_t{16} << 20U;

/// Flags of a chunk in the low bits of its entry in the index.
inline constexpr std::uint64_t kPacked = 1;   // compressed with zstd, otherwise stored as it is
inline constexpr std::uint64_t kRecords = 2;  // holds records, otherwise a piece of a content

}  // namespace gpumux::bundle
