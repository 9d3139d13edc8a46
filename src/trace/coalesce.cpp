#include "trace/coalesce.hpp"

#include <algorithm>
#include <bit>

#include "workload/atomic_rounds.hpp"
#include "workload/shared_banks.hpp"

namespace gpumux::trace {
namespace {

using Where = workload::MemHeader::Where;
using Addresses = std::array<Address, kWarpSize>;

template <class F>
void each_lane(LaneMask mask, F visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

void add(MemoryAccess& access, std::uint64_t line, std::uint32_t sectors, bool new_lane) {
  // Searches from the end, since adjacent lanes usually touch the same line.
  for (auto at = access.lines.rbegin(); at != access.lines.rend(); ++at) {
    if (at->line != line) continue;
    at->sectors |= sectors;
    at->lanes += new_lane ? 1 : 0;
    return;
  }
  access.lines.push_back({line, sectors, 1, 0});
}

/// Adds the lines of an access to contiguous memory: global or constant.
void add_lines(MemoryAccess& access, const Addresses& addresses, LaneMask mask, std::uint32_t bytes) {
  each_lane(mask, [&](std::uint32_t lane) {
    const Address first = addresses[lane] / kSectorBytes;
    const Address last = (addresses[lane] + bytes - 1) / kSectorBytes;
    std::uint64_t line = ~std::uint64_t{0};
    for (Address sector = first; sector <= last; ++sector) {
      const bool new_line = sector / kSectorsPerLine != line;
      line = sector / kSectorsPerLine;
      add(access, line, 1U << (sector % kSectorsPerLine), new_line);
    }
  });
}

void add_local(MemoryAccess& access, const Addresses& addresses, const Windows& windows, LaneMask mask,
               std::uint32_t bytes) {
  // LDL and STL give either the offset in the window or the generic address.
  const auto word_of = [&](std::uint32_t lane) {
    const Address at = addresses[lane];
    return (windows.is_local(at) ? at - windows.local_base : at % Windows::kBytes) / 4;
  };
  for (std::uint32_t step = 0; step < std::max(1U, (bytes + 3) / 4); ++step) {
    each_lane(mask, [&](std::uint32_t lane) { add(access, word_of(lane) + step, 1U << (lane / 8), true); });
  }
}

void add_shared(MemoryAccess& access, const Addresses& addresses, LaneMask mask, std::uint32_t bytes,
                bool atomic) {
  for (unsigned k = 0; k < kBankCounts; ++k) {
    access.passes[k] =
        static_cast<std::uint16_t>(workload::shared_passes(addresses.data(), mask, bytes, atomic, 1U << k));
  }
}

void add_constant(MemoryAccess& access, const Addresses& addresses, LaneMask mask, std::uint32_t bytes) {
  add_lines(access, addresses, mask, bytes);
  std::array<Address, kWarpSize> distinct{};
  std::size_t count = 0;
  each_lane(mask, [&](std::uint32_t lane) {
    const auto end = distinct.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(distinct.begin(), end, addresses[lane]) == end) distinct[count++] = addresses[lane];
  });
  access.passes.fill(static_cast<std::uint16_t>(count));
}

}  // namespace

void coalesce(MemoryAccess& access, SassSpace space, bool atomic, const Windows& windows,
              const Addresses& addresses, LaneMask mask, std::uint32_t bytes) {
  access.lines.clear();
  access.passes.fill(0);
  access.where = Where::None;
  if (space == SassSpace::Generic) {
    LaneMask local = 0;
    LaneMask shared = 0;
    each_lane(mask, [&](std::uint32_t lane) {
      const LaneMask bit = 1U << lane;
      if (windows.is_shared(addresses[lane])) {
        shared |= bit;
      } else if (windows.is_local(addresses[lane])) {
        local |= bit;
      }
    });
    const LaneMask global = mask & ~(local | shared);
    space = global != 0 ? SassSpace::Global : local != 0 ? SassSpace::Local : SassSpace::Shared;
    mask = global != 0 ? global : local != 0 ? local : shared;
  }
  switch (space) {
    case SassSpace::Global:
      access.where = Where::Global;
      add_lines(access, addresses, mask, bytes);
      if (atomic) {
        const workload::AtomicRounds rounds(addresses.data(), mask);
        for (LineAccess& line : access.lines) line.rounds = std::max(1U, rounds.of_line(line.line));
      }
      break;
    case SassSpace::Local:
      access.where = Where::Local;
      add_local(access, addresses, windows, mask, bytes);
      break;
    case SassSpace::Shared:
      access.where = Where::Shared;
      add_shared(access, addresses, mask, bytes, atomic);
      break;
    case SassSpace::Constant:
      access.where = Where::Constant;
      add_constant(access, addresses, mask, bytes);
      break;
    case SassSpace::None:
    case SassSpace::Generic: break;
  }
}

void coalesce_bulk(MemoryAccess& access, const std::vector<Address>& addresses, std::uint32_t bytes) {
  access.lines.clear();
  access.passes.fill(0);
  access.where = Where::Global;
  std::vector<Address> sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  Address done = sorted.front();  // end of the counted addresses
  for (const Address address : sorted) {
    const Address end = address + bytes;
    for (Address at = std::max(address, done); at < end;) {
      const std::uint64_t line = at / kLineBytes;
      const Address until = std::min(end, (line + 1) * kLineBytes);
      if (access.lines.empty() || access.lines.back().line != line) access.lines.push_back({line, 0, 0, 0});
      LineAccess& touched = access.lines.back();
      for (Address sector = at / kSectorBytes; sector <= (until - 1) / kSectorBytes; ++sector)
        touched.sectors |= 1U << (sector % kSectorsPerLine);
      touched.lanes = std::min(kWarpSize, touched.lanes + static_cast<std::uint32_t>((until - at + 3) / 4));
      at = until;
    }
    done = std::max(done, end);
  }
}

}  // namespace gpumux::trace
