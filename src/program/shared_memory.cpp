#include "program/shared_memory.hpp"

#include <algorithm>
#include <cstring>

namespace gpumux::program {
namespace {

constexpr std::uint64_t kPart = 4096;  // bytes that are compared at once

}  // namespace

void SharedMemory::add(Address first, std::uint64_t bytes) {
  const std::byte* const now = memory_.host(first);
  known_[first].assign(now, now + bytes);
}

template <class Visit>
void SharedMemory::for_each_changed(Address first, Known& known, const Visit& visit) const {
  const std::byte* const now = memory_.host(first);
  for (std::uint64_t at = 0; at < known.size(); at += kPart) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kPart, known.size() - at);
    if (std::memcmp(now + at, known.data() + at, bytes) != 0) visit(at, bytes);
  }
}

void SharedMemory::learn() {
  for (auto& range : known_) {
    const Address first = range.first;
    Known& known = range.second;
    const std::byte* const now = memory_.host(first);
    for_each_changed(first, known, [&](std::uint64_t at, std::uint64_t bytes) {
      std::memcpy(known.data() + at, now + at, bytes);
    });
  }
}

void SharedMemory::tell_writes(const std::function<void(Address, std::span<const std::byte>)>& tell) {
  for (auto& range : known_) {
    const Address first = range.first;
    Known& known = range.second;
    const std::byte* const now = memory_.host(first);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // of the run so far; empty where both are equal
    const auto finish = [&] {
      if (begin != end) tell(first + begin, {now + begin, end - begin});
    };
    for_each_changed(first, known, [&](std::uint64_t at, std::uint64_t bytes) {
      for (std::uint64_t i = at; i < at + bytes; ++i) {
        if (now[i] == known[i]) continue;
        if (begin == end || i - end >= kGap) {
          finish();
          begin = i;
        }
        end = i + 1;
      }
      std::memcpy(known.data() + at, now + at, bytes);
    });
    finish();
  }
}

}  // namespace gpumux::program
