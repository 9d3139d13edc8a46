// Constants of the file, which docs/bundles.md describes byte by byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "bundle/records.hpp"

namespace gpumux::bundle {

inline constexpr std::string_view kMagic{"gpumuxB\1", 8};
/// Magic, bytes of the file, digest of what follows the header, offset of the index, digest of these 40
/// bytes.
inline constexpr std::uint64_t kHeaderBytes = 48;

/// Records are packed together until they have as many bytes; the last of them may go beyond.
inline constexpr std::uint64_t kRecordsBytes = std::uint64_t{64} << 10U;
/// The most that such a chunk may have, unpacked.
inline constexpr std::uint64_t kMostChunk = std::uint64_t{16} << 20U;

/// Of a chunk, in the low bits of its entry in the index.
inline constexpr std::uint64_t kPacked = 1;   // with zstd; else as it is
inline constexpr std::uint64_t kRecords = 2;  // else a piece of a content

}  // namespace gpumux::bundle
