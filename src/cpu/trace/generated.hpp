// Instructions generated from a few shares, for programs of which papers state only the miss rate.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::cpu {

/// A program given by its L2 misses and by shares that are equal for all programs (docs/cpu.md gives their
/// sources). Its memory consists of three sets of lines of 128 B with different reuse distances. The hot set
/// stays in L1. The warm set is accessed in a loop and is too large for L1, but fits in L2. Each line of the
/// far set is new to L2 when it is visited.
struct TraceModel {
  /// L2 misses per 1000 instructions: visits of far lines. All other members are shares or counts.
  double l2_mpki = 1;  // 0.01..120

  double memory = 0.4;      // of all instructions
  double stores = 1.0 / 3;  // of memory instructions
  double branches = 0.15;   // of all instructions; the remaining ones are computations

  std::uint32_t hot_lines = 64;
  std::uint32_t warm_lines = 512;
  double warm_pki = 10;                  // visits of warm lines per 1000 instructions,
                                         // in addition to warm_per_far
  double warm_per_far = 1;               // visits of warm lines per visit of a far line
  std::uint32_t far_lines = 512 * 1024;  // 64 MiB; a power of two

  std::uint32_t burst = 2;           // far lines that are visited in succession
  double streams = 0.5;              // share of bursts that continue a stream; the other
                                     // bursts go to random lines
  std::uint32_t stream_count = 4;    // 1..256
  std::uint32_t stream_touches = 2;  // accesses to each line of a stream, 1..16
  double chased =
      0.5;  // share of random bursts whose address is the result of the previous load in such a burst

  double known_addresses = 0.5;  // share of other addresses (random, hot, warm) that no instruction waits for
  double distance = 4;           // mean number of results since a source was produced, 1..16; geometric
  double two_sources = 0.25;     // share of computations
  double no_source = 0.15;       // share of computations

  /// Throws UserError that names the value out of its range.
  void check() const;
};

/// A trace generated from a TraceModel. A seed and core always give the same trace, and each pair of seed and
/// core gives a different one.
class GeneratedTrace final : public TraceSource {
 public:
  /// Throws UserError as TraceModel::check() does.
  GeneratedTrace(const TraceModel& model, std::uint64_t seed, std::uint32_t core);
  std::span<const Record> next() override;

 private:
  /// Events at a given rate. The gaps between them are 0.5 to 1.5 times their mean.
  struct Pace {
    double gap = 0;
    double due = 0;  // time of the next event, in instructions
    [[nodiscard]] bool passed(std::uint64_t instruction, Random& random) {
      if (static_cast<double>(instruction) < due) return false;
      due += gap * (0.5 + static_cast<double>(random.unit()));
      return true;
    }
  };
  void make(Record& record);
  void memory_instruction(Record& record, std::uint64_t bits);
  void computation(Record& record, std::uint64_t bits);
  void begin_burst();
  [[nodiscard]] std::uint64_t far_address();
  [[nodiscard]] std::uint8_t result();
  [[nodiscard]] std::uint8_t source(std::uint64_t bits) const;

  static constexpr std::size_t kChunk = 256;
  TraceModel model_;
  Random random_;
  std::vector<Record> chunk_;
  std::array<std::uint8_t, 256> distances_{};  // distances to the sources of an instruction, equally likely
  std::uint32_t memory_below_;                 // thresholds of a 16-bit random number,
                                               // here and in the next members
  std::uint32_t branch_below_;
  std::uint32_t store_below_;
  std::uint32_t known_below_;
  std::uint32_t no_source_below_;
  std::uint32_t two_sources_from_;
  std::uint64_t instructions_ = 0;
  std::uint64_t results_ = 0;
  std::uint64_t ip_;
  Pace far_;
  Pace warm_;
  std::uint64_t bursts_due_ = 0;
  std::uint64_t warm_due_ = 0;
  std::uint32_t warm_at_ = 0;
  enum class Burst : std::uint8_t { None, Stream, Spread, Chased } burst_ = Burst::None;
  std::uint32_t burst_left_ = 0;          // accesses left in the burst
  std::uint32_t burst_stream_ = 0;        // stream of the burst
  std::vector<std::uint64_t> stream_at_;  // by stream: accesses since line 0 of the far set
};

}  // namespace gpumux::cpu
