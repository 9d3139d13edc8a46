// Instructions made up from a few shares: programs of which papers say no more than how often they miss.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::cpu {

/// A program by its misses beyond L2 and by shares that are the same for all (docs/cpu.md has where they come
/// from). Memory is three sets of lines of 128 B, three distances of reuse: a hot one, which stays in L1; a
/// warm one, which is walked through again and again, too large for L1 and small enough for L2; a far one, of
/// which every line is new to L2.
struct TraceModel {
  /// Misses of L2 per 1000 instructions: far lines that are visited. All of the following are shares or
  /// counts.
  double l2_mpki = 1;  // 0.01..120

  double memory = 0.4;      // of all instructions
  double stores = 1.0 / 3;  // of memory instructions
  double branches = 0.15;   // of all instructions; the rest is computation

  std::uint32_t hot_lines = 64;
  std::uint32_t warm_lines = 512;
  double warm_pki = 10;                  // visits of warm lines per 1000 instructions, beside
  double warm_per_far = 1;               // as many for each visit of a far one
  std::uint32_t far_lines = 512 * 1024;  // 64 MiB; a power of two

  std::uint32_t burst = 2;           // far lines that are visited one after the other
  double streams = 0.5;              // of bursts that go on with one of these; the rest is spread at random
  std::uint32_t stream_count = 4;    // 1..256
  std::uint32_t stream_touches = 2;  // accesses of each line of a stream: 1..16
  double chased =
      0.5;  // of bursts at random: the address is what the load before it in such a burst has found

  double known_addresses = 0.5;  // of other addresses at random, hot and warm ones: waited for by none
  double distance = 4;           // mean of how many results ago a source was made, 1..16: geometric
  double two_sources = 0.25;     // of computations
  double no_source = 0.15;       // of computations

  /// Throws UserError that says which value is out of its range.
  void check() const;
};

/// The same for a seed and core, always; each pair has a sequence of its own.
class GeneratedTrace final : public TraceSource {
 public:
  /// Throws UserError as TraceModel::check does.
  GeneratedTrace(const TraceModel& model, std::uint64_t seed, std::uint32_t core);
  std::span<const Record> next() override;

 private:
  /// Visits that are due at a rate: the gaps in between are 0.5 to 1.5 times their mean.
  struct Pace {
    double gap = 0;
    double due = 0;  // in instructions
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
  std::array<std::uint8_t, 256> distances_{};  // equally likely
  std::uint32_t memory_below_;                 // of 2^16, as the next ones
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
  std::uint32_t burst_left_ = 0;          // accesses
  std::uint32_t burst_stream_ = 0;        // which
  std::vector<std::uint64_t> stream_at_;  // accesses since line 0 of the far set
};

}  // namespace gpumux::cpu
