#include "program/fat_binary.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "base/error.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint64_t kHeaderBytes = 16;
constexpr std::uint64_t kLeastEntryHeader = 0x40;
constexpr std::uint64_t kMostContent = std::uint64_t{256} << 20U;  // bytes of one text or image
enum Kind : std::uint16_t { kPtx = 1, kMachineCode = 2 };
enum Flags : std::uint64_t { kLz4 = 0x2000, kZstd = 0x8000 };

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  FatBinary read() {
    if (bytes_.size() < kHeaderBytes || number<std::uint32_t>(0) != kMagic)
      fail(0, fmt::format("no fat binary of nvcc: it would begin with 0x{:x}", kMagic));
    const std::uint64_t header = number<std::uint16_t>(6);
    const std::uint64_t rest = number<std::uint64_t>(8);
    if (header < kHeaderBytes || header > bytes_.size() || rest > bytes_.size() - header)
      fail(6, fmt::format("{} and {} bytes of header and entries, where {} are left", header, rest,
                          bytes_.size()));
    const std::uint64_t end = header + rest;
    FatBinary all;
    for (std::uint64_t at = header; at < end;) at = read_entry(at, end, all);
    return all;
  }

  /// The unpacked content of the entry at `at`, which read() has found.
  [[nodiscard]] std::string content(std::uint64_t at) const {
    const std::uint64_t header = number<std::uint32_t>(at + 4);
    const std::uint64_t payload = number<std::uint64_t>(at + 8);
    const std::span<const std::byte> packed = bytes_.subspan(at + header, payload);
    const auto flags = number<std::uint64_t>(at + 0x28);
    const std::uint64_t packed_bytes = number<std::uint32_t>(at + 0x10);
    const auto unpacked_bytes = number<std::uint64_t>(at + 0x38);
    if ((flags & (kLz4 | kZstd)) == 0) return {reinterpret_cast<const char*>(packed.data()), packed.size()};
    if (packed_bytes > payload)
      fail(at + 0x10, fmt::format("{} compressed bytes in an entry of {}", packed_bytes, payload));
    if (unpacked_bytes > kMostContent)
      fail(at + 0x38, fmt::format("an entry of {} bytes; at most {} can be", unpacked_bytes, kMostContent));
    return unpack((flags & kZstd) != 0, at + header, packed.first(packed_bytes), unpacked_bytes);
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw UserError({file_}, fmt::format("fat binary, byte {}: {}", at, what));
  }

  template <class T>
  [[nodiscard]] T number(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  std::uint64_t read_entry(std::uint64_t at, std::uint64_t end, FatBinary& all) const {
    if (end - at < kLeastEntryHeader)
      fail(at, fmt::format("an entry of {} bytes; its header has {}", end - at, kLeastEntryHeader));
    const std::uint64_t header = number<std::uint32_t>(at + 4);
    const std::uint64_t payload = number<std::uint64_t>(at + 8);
    if (header < kLeastEntryHeader || header > end - at || payload > end - at - header)
      fail(at + 4, fmt::format("an entry of {} and {} bytes, where {} are left", header, payload, end - at));
    const auto kind = number<std::uint16_t>(at);
    const auto architecture = number<std::uint32_t>(at + 0x1c);
    if (kind == kMachineCode) all.machine_code.push_back({architecture, at});
    if (kind == kPtx) all.ptx.push_back({architecture, text(at)});
    return at + header + payload;
  }

  [[nodiscard]] std::string text(std::uint64_t at) const {
    std::string unpacked = content(at);
    // The text is a C string with padding zeros.
    unpacked.resize(std::min(unpacked.find('\0'), unpacked.size()));
    return unpacked;
  }

  [[nodiscard]] std::string unpack(bool zstd, std::uint64_t at, std::span<const std::byte> packed,
                                   std::uint64_t bytes) const {
    std::string text(bytes, '\0');
    if (zstd) {
      const std::size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
      if (ZSTD_isError(got) != 0 || got != bytes)
        fail(at,
             fmt::format("an entry does not unpack (Zstandard) to the {} bytes that its entry says", bytes));
      return text;
    }
    const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), text.data(),
                                        static_cast<int>(packed.size()), static_cast<int>(bytes));
    if (got < 0 || static_cast<std::uint64_t>(got) != bytes)
      fail(at, fmt::format("an entry does not unpack (LZ4) to the {} bytes that its entry says", bytes));
    return text;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
};

}  // namespace

const FatBinary::Ptx* FatBinary::best(std::uint32_t capability) const {
  const Ptx* chosen = nullptr;
  for (const Ptx& candidate : ptx) {
    const auto better = [&](const Ptx& than) {
      const bool runs = candidate.architecture <= capability;
      if (runs != (than.architecture <= capability)) return runs;
      return runs ? candidate.architecture > than.architecture : candidate.architecture < than.architecture;
    };
    if (chosen == nullptr || better(*chosen)) chosen = &candidate;
  }
  return chosen;
}

const FatBinary::MachineCode* FatBinary::code_for(std::uint32_t capability,
                                                  std::uint32_t architecture) const {
  const MachineCode* chosen = nullptr;
  const MachineCode* of_ptx = nullptr;
  for (const MachineCode& candidate : machine_code) {
    const bool runs = candidate.architecture <= capability && candidate.architecture / 10 == capability / 10;
    if (runs && (chosen == nullptr || candidate.architecture > chosen->architecture)) chosen = &candidate;
    if (candidate.architecture == architecture) of_ptx = &candidate;
  }
  return chosen != nullptr ? chosen : of_ptx;
}

FatBinary read_fat_binary(std::span<const std::byte> bytes, const std::string& file) {
  return Reader(bytes, file).read();
}

std::string read_machine_code(std::span<const std::byte> bytes, const std::string& file,
                              const FatBinary::MachineCode& of) {
  return Reader(bytes, file).content(of.at);
}

}  // namespace gpumux::program
