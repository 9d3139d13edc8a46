#include "cpu/config.hpp"

#include <fmt/core.h>

#include <bit>

#include "base/error.hpp"

namespace gpumux::cpu {
namespace {

void check_range(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return;
  throw UserError(fmt::format("CPU core: {} is {}; it may be {} to {}", name, value, least, most));
}

void check_cache(const char* name, const CacheConfig& cache) {
  constexpr std::uint32_t kMostWays = 64;
  check_range(fmt::format("{}.ways", name).c_str(), cache.ways, 1, kMostWays);
  const std::uint32_t sets = cache.bytes / kLineBytes / cache.ways;
  if (std::has_single_bit(sets) && sets * cache.ways * kLineBytes == cache.bytes) return;
  throw UserError(fmt::format("CPU core: {}.bytes is {}; it must be {} ways times {} times a power of two",
                              name, cache.bytes, cache.ways, kLineBytes));
}

}  // namespace

void check(const CpuConfig& config) {
  constexpr std::uint32_t kLongest = 63;
  check_range("window", config.window, 1, 128);
  check_range("width", config.width, 1, 16);
  check_range("mshrs", config.mshrs, 1, 64);
  check_range("outbox", config.outbox, 1, 1024);
  constexpr std::uint32_t kMostBits = 20;
  constexpr std::uint32_t kMostRedirect = 1000;
  check_range("predictor_bits", config.predictor_bits, 0, kMostBits);
  check_range("redirect", config.redirect, 0, kMostRedirect);
  check_cache("l1", config.l1);
  check_cache("l2", config.l2);
  check_range("l1.latency", config.l1.latency, 1, kLongest - 1);
  check_range("l2.latency", config.l2.latency, 1, kLongest - config.l1.latency);
}

Counters& Counters::operator-=(const Counters& other) {
  for (auto member : {&Counters::cycles,
                      &Counters::instructions,
                      &Counters::loads,
                      &Counters::stores,
                      &Counters::branches,
                      &Counters::forwarded_loads,
                      &Counters::mispredictions,
                      &Counters::stalled_by_branches,
                      &Counters::l1_accesses,
                      &Counters::l1_misses,
                      &Counters::l1_merges,
                      &Counters::l2_misses,
                      &Counters::l1_writebacks,
                      &Counters::l2_writebacks,
                      &Counters::stalled_by_load,
                      &Counters::stalled_by_mshrs,
                      &Counters::stalled_by_outbox,
                      &Counters::stalled_by_rest,
                      &Counters::replies,
                      &Counters::memory_latency}) {
    this->*member -= other.*member;
  }
  return *this;
}

}  // namespace gpumux::cpu
