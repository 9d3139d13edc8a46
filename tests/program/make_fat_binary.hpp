// Makes fat binaries like those of nvcc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <lz4.h>
#include <zstd.h>

enum class Packing { Raw, Lz4, Zstd, MachineCodeOnly, BesideMachineCode };

template <class T>
void put(std::string& to, std::size_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof(T));
}

/// An entry of a fat binary: a header of 0x48 bytes, and the payload padded to a multiple of 8 bytes.
inline std::string fat_entry(std::uint16_t kind, std::uint32_t architecture, const std::string& text,
                             Packing packing) {
  std::string payload = text;
  std::uint64_t flags = 1 + 0x10;
  if (packing == Packing::Lz4) {
    payload.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()))));
    payload.resize(static_cast<std::size_t>(LZ4_compress_default(
        text.data(), payload.data(), static_cast<int>(text.size()), static_cast<int>(payload.size()))));
    flags |= 0x2000;
  }
  if (packing == Packing::Zstd) {
    payload.resize(ZSTD_compressBound(text.size()));
    payload.resize(ZSTD_compress(payload.data(), payload.size(), text.data(), text.size(), 3));
    flags |= 0x8000;
  }
  const std::size_t packed = payload.size();
  payload.resize((packed + 7) / 8 * 8);
  std::string entry(0x48, '\0');
  put<std::uint16_t>(entry, 0, kind);
  put<std::uint32_t>(entry, 4, 0x48);
  put<std::uint64_t>(entry, 8, payload.size());
  put<std::uint32_t>(entry, 0x10, flags > 0x11 ? static_cast<std::uint32_t>(packed) : 0);
  put<std::uint16_t>(entry, 0x1a, 9);
  put<std::uint32_t>(entry, 0x1c, architecture);
  put<std::uint64_t>(entry, 0x28, flags);
  put<std::uint64_t>(entry, 0x38, flags > 0x11 ? text.size() : 0);
  return entry + payload;
}

inline std::string fat_binary(const std::string& entries) {
  std::string binary(16, '\0');
  put<std::uint32_t>(binary, 0, 0xba55ed50);
  put<std::uint16_t>(binary, 4, 1);
  put<std::uint16_t>(binary, 6, 16);
  put<std::uint64_t>(binary, 8, entries.size());
  return binary + entries;
}
