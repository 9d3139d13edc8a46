#include "cpu/trace/generated.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "base/types.hpp"

namespace gpumux::cpu {
namespace {

// Addresses of the sets of lines. All are in one region of 4 GiB. Each set starts at a multiple of 32 KiB, so
// that L2's sets are used evenly.
constexpr std::uint64_t kCode = 0x0040'0000;
constexpr std::uint64_t kCodeMask = 0x3ffc;  // 16 KiB of instructions
constexpr std::uint64_t kHot = 0x1000'0000;
constexpr std::uint64_t kWarm = 0x2000'0000;
constexpr std::uint64_t kFar = 0x4000'0000;

constexpr std::uint8_t kFirstResult = 64;  // first of the registers that hold results, in turn
constexpr std::uint64_t kResults = 32;
constexpr std::uint8_t kKnown = 40;   // a base or an index that no instruction waits for
constexpr std::uint8_t kChased = 41;  // result of the last load in a chased burst

constexpr double kMostFarLines = 8.0 * 1024 * 1024;  // 1 GiB

/// Number of the 2^16 values of a random number that a share covers.
[[nodiscard]] std::uint32_t of_65536(double share) {
  return static_cast<std::uint32_t>(std::lround(share * 65536));
}

void check_parameter(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw UserError(fmt::format("generated CPU trace: {} is {}; it may be {} to {}", name, value, least, most));
}

}  // namespace

void TraceModel::check() const {
  check_parameter("l2_mpki", l2_mpki, 0.01, 120);
  for (const auto& [name, share] : {std::pair{"memory", memory},
                                    {"stores", stores},
                                    {"branches", branches},
                                    {"streams", streams},
                                    {"chased", chased},
                                    {"known_addresses", known_addresses},
                                    {"two_sources", two_sources},
                                    {"no_source", no_source},
                                    {"memory and branches", memory + branches},
                                    {"two_sources and no_source", two_sources + no_source}}) {
    check_parameter(name, share, 0, 1);
  }
  check_parameter("hot_lines", hot_lines, 1, 4096);
  check_parameter("warm_lines", warm_lines, 1, 65536);
  check_parameter("warm_pki", warm_pki, 0, 1000);
  check_parameter("warm_per_far", warm_per_far, 0, 100);
  check_parameter("far_lines", far_lines, 1, kMostFarLines);
  if (!std::has_single_bit(far_lines)) {
    throw UserError(
        fmt::format("generated CPU trace: far_lines is {}; it must be a power of two", far_lines));
  }
  check_parameter("burst", burst, 1, 64);
  check_parameter("stream_count", stream_count, 1, 256);
  check_parameter("stream_touches", stream_touches, 1, 16);
  check_parameter("distance", distance, 1, 16);
  const double far_accesses = l2_mpki * (1 - streams + streams * stream_touches);
  const double accesses = far_accesses + warm_pki + warm_per_far * l2_mpki;
  if (accesses > 1000 * memory) {
    throw UserError(
        fmt::format("generated CPU trace: {:.0f} accesses of warm and far lines per 1000 instructions; "
                    "there are {:.0f} memory instructions",
                    accesses, 1000 * memory));
  }
}

GeneratedTrace::GeneratedTrace(const TraceModel& model, std::uint64_t seed, std::uint32_t core)
    : model_((model.check(), model)),
      random_(mix64(seed) ^ core),
      chunk_(kChunk),
      memory_below_(of_65536(model.memory)),
      branch_below_(of_65536(model.memory + model.branches)),
      store_below_(of_65536(model.stores)),
      known_below_(of_65536(model.known_addresses)),
      no_source_below_(of_65536(model.no_source)),
      two_sources_from_(65536 - of_65536(model.two_sources)),
      ip_(kCode),
      stream_at_(model.stream_count) {
  // Geometric distribution from 1 on: a share of 1 - (1 - 1/mean)^n is at most n. Cut off
  // where registers are reused.
  for (std::size_t i = 0; i < distances_.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(distances_.size());
    std::uint32_t n = 1;
    while (n < kResults - 1 && 1 - std::pow(1 - 1 / model.distance, n) < share) ++n;
    distances_[i] = static_cast<std::uint8_t>(n);
  }
  far_.gap = 1000 * model.burst / model.l2_mpki;
  const double warm_pki = model.warm_pki + model.warm_per_far * model.l2_mpki;
  warm_.gap = warm_pki > 0 ? 1000 / warm_pki : INFINITY;
  warm_.due = warm_.gap;
  far_.due = far_.gap * static_cast<double>(random_.unit());
  for (std::uint64_t& at : stream_at_)
    at = std::uint64_t{random_.below(model_.far_lines)} * model_.stream_touches;
}

std::span<const Record> GeneratedTrace::next() {
  for (Record& record : chunk_) make(record);
  return chunk_;
}

std::uint8_t GeneratedTrace::result() {
  return static_cast<std::uint8_t>(kFirstResult + results_++ % kResults);
}

std::uint8_t GeneratedTrace::source(std::uint64_t bits) const {
  return static_cast<std::uint8_t>(kFirstResult + (results_ - distances_[bits & 0xffU]) % kResults);
}

void GeneratedTrace::make(Record& record) {
  record = {};
  const std::uint64_t bits = random_.next();
  record.ip = ip_;
  ip_ = kCode + ((ip_ + 4) & kCodeMask);
  ++instructions_;
  while (far_.passed(instructions_, random_)) ++bursts_due_;
  while (warm_.passed(instructions_, random_)) ++warm_due_;
  const std::uint32_t kind = bits & 0xffffU;
  if (kind < memory_below_) {
    memory_instruction(record, bits >> 16U);
  } else if (kind < branch_below_) {
    // Each branch goes mostly one way, and always to the same target.
    const std::uint64_t own = mix64(record.ip);
    constexpr std::uint64_t kSeldom = 0x1999;  // 0.1 of 2^16
    record.is_branch = 1;
    record.branch_taken =
        static_cast<std::uint8_t>((own & 1U) ^ static_cast<std::uint64_t>((bits >> 16U & 0xffffU) < kSeldom));
    record.source_registers = {kInstructionPointer, kFlags, 0, 0};
    record.destination_registers[0] = kInstructionPointer;
    if (record.branch_taken != 0) ip_ = kCode + (own >> 16U & kCodeMask);
  } else {
    computation(record, bits >> 16U);
  }
}

void GeneratedTrace::computation(Record& record, std::uint64_t bits) {
  const std::uint32_t sources = bits & 0xffffU;
  if (sources >= no_source_below_) record.source_registers[0] = source(bits >> 16U);
  if (sources >= two_sources_from_) record.source_registers[1] = source(bits >> 24U);
  record.destination_registers = {result(), kFlags};
}

void GeneratedTrace::begin_burst() {
  --bursts_due_;
  const auto below = [this](double share) { return static_cast<double>(random_.unit()) < share; };
  if (below(model_.streams)) {
    burst_ = Burst::Stream;
    burst_stream_ = random_.below(model_.stream_count);
    burst_left_ = model_.burst * model_.stream_touches;
  } else {
    burst_ = below(model_.chased) ? Burst::Chased : Burst::Spread;
    burst_left_ = model_.burst;
  }
}

std::uint64_t GeneratedTrace::far_address() {
  if (burst_ != Burst::Stream) {
    return kFar + std::uint64_t{random_.below(model_.far_lines)} * kLineBytes + random_.below(16) * 8;
  }
  const std::uint64_t at = stream_at_[burst_stream_]++;
  const std::uint64_t line = at / model_.stream_touches & (model_.far_lines - 1);
  return kFar + line * kLineBytes + at % model_.stream_touches * (kLineBytes / model_.stream_touches);
}

void GeneratedTrace::memory_instruction(Record& record, std::uint64_t bits) {
  bool store = (bits & 0xffffU) < store_below_;
  std::uint8_t base = (bits >> 16U & 0xffffU) < known_below_ ? kKnown : source(bits >> 32U);
  std::uint8_t to = 0;
  std::uint64_t address = 0;
  if (burst_ == Burst::None && bursts_due_ > 0) begin_burst();
  if (burst_ != Burst::None) {
    address = far_address();
    if (burst_ == Burst::Stream) base = kKnown;
    if (burst_ == Burst::Chased) {
      base = kChased;
      if (!store) to = kChased;
    }
    if (--burst_left_ == 0) burst_ = Burst::None;
  } else if (warm_due_ > 0) {
    --warm_due_;
    address = kWarm + std::uint64_t{warm_at_} * kLineBytes + (bits >> 40U & 15U) * 8;
    if (++warm_at_ == model_.warm_lines) warm_at_ = 0;
  } else {
    address = kHot + (bits >> 40U) % (model_.hot_lines * std::uint64_t{16}) * 8;
  }
  record.source_registers[0] = base;
  if (store) {
    record.source_registers[1] = source(bits >> 24U);
    record.destination_memory[0] = address;
  } else {
    record.destination_registers[0] = result();
    record.destination_registers[1] = to;
    record.source_memory[0] = address;
  }
}

}  // namespace gpumux::cpu
