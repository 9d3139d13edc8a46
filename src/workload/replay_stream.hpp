// A block's stream that can restart, for blocks that are dropped from their SM and run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/timing_class.hpp"
#include "workload/overwrites.hpp"
#include "workload/stream.hpp"

namespace gpumux::workload {

/// Keeps all records of another stream in a compact form until the block ends, so that restart() can replay
/// them. The block's changes to memory are made only once. An instruction costs about 1.5 bytes of host
/// memory if warps do not diverge, a memory instruction 2 to 5 bytes more per transaction (docs/block-life.md
/// has measured figures).
class ReplayStream final : public BlockStream {
 public:
  /// `table`: the static table of the kernel. `table` and the kernel must outlive this stream.
  ReplayStream(std::unique_ptr<BlockStream> inside, const std::vector<isa::StaticInst>& table);
  void refill(std::uint32_t warp, std::uint32_t wanted) override;
  [[nodiscard]] std::string whereabouts(std::uint32_t warp) override { return inside_->whereabouts(warp); }
  [[nodiscard]] Outlook outlook(std::uint32_t warp) override { return inside_->outlook(warp); }
  void moved(SmId sm) override { inside_->moved(sm); }
  [[nodiscard]] bool may_restart(std::span<const std::uint32_t> left) const override;
  /// Sets all warps back to their first instruction. Pointers into stream() become invalid.
  void restart();
  /// Ends this stream and returns the inner one, which is as far as it was read.
  [[nodiscard]] std::unique_ptr<BlockStream> release() { return std::move(inside_); }
  /// Bytes that the records of this block take at present.
  [[nodiscard]] std::size_t bytes() const;
  /// Number of records in the log.
  [[nodiscard]] std::uint64_t records() const;

 private:
  /// State of the decoder: the previous record, from which the next one is coded as a difference.
  struct State {
    std::uint32_t pc = ~std::uint32_t{0};
    LaneMask active = kAllLanes;
    std::uint64_t word = 0;
  };
  struct Log {
    std::vector<std::uint8_t> bytes;
    std::uint64_t records = 0;
    State last;
  };
  struct Reader {
    std::size_t at = 0;         // position in Log::bytes
    std::uint64_t records = 0;  // read so far
    State last;
    std::vector<ExecRecord> given;  // decoded records, including those that the machine has not consumed
    std::vector<std::uint64_t> words;
  };
  [[nodiscard]] bool replays() const { return !readers_.empty(); }
  [[nodiscard]] bool takes_words(const ExecRecord& record) const {
    return (*table_)[record.pc].unit == isa::Unit::Memory;
  }
  void keep(std::uint32_t warp, std::uint32_t already);
  void look_for_overwrites();
  void refill_inside(std::uint32_t warp, std::uint32_t wanted);
  void read(std::uint32_t warp, std::uint32_t wanted);

  std::unique_ptr<BlockStream> inside_;
  const std::vector<isa::StaticInst>* table_;
  std::vector<Log> logs_;  // by warp
  Overwrites overwrites_;
  std::vector<Reader> readers_;        // by warp, empty before the first restart
  std::vector<std::uint32_t> before_;  // for refill_inside()
  std::vector<std::uint64_t> words_;   // by warp: words of records that are in both inside_ and the log
};

}  // namespace gpumux::workload
