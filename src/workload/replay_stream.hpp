// A block's stream that can begin again: for blocks that are dropped from their SM and run anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/timing_class.hpp"
#include "workload/overwrites.hpp"
#include "workload/stream.hpp"

namespace gpumux::workload {

/// Keeps all records of another stream in a compact form, so that restart() can give them again; what the
/// block has done to its memory is done once. An instruction costs one byte and a half of the host's memory
/// where warps do not diverge, a memory instruction some two to five more per transaction (docs/block-life.md
/// has measured figures), until the block ends.
class ReplayStream final : public BlockStream {
 public:
  /// `table`: the kernel's; it and the stream's kernel outlive this.
  ReplayStream(std::unique_ptr<BlockStream> inside, const std::vector<isa::StaticInst>& table);
  void refill(std::uint32_t warp, std::uint32_t wanted) override;
  [[nodiscard]] std::string whereabouts(std::uint32_t warp) override { return inside_->whereabouts(warp); }
  [[nodiscard]] Outlook outlook(std::uint32_t warp) override { return inside_->outlook(warp); }
  void moved(SmId sm) override { inside_->moved(sm); }
  [[nodiscard]] bool may_restart(std::span<const std::uint32_t> left) const override;
  /// All warps stand before their first instruction again. What was read of stream() is void.
  void restart();
  /// Ends this; the stream inside is as far as it was read.
  [[nodiscard]] std::unique_ptr<BlockStream> release() { return std::move(inside_); }
  /// That records take at present, of this block.
  [[nodiscard]] std::size_t bytes() const;
  /// That were kept.
  [[nodiscard]] std::uint64_t records() const;

 private:
  /// What the next record is told by its difference from.
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
    std::size_t at = 0;         // in Log::bytes
    std::uint64_t records = 0;  // read so far
    State last;
    std::vector<ExecRecord> given;  // of which the machine has some left
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
  std::vector<Reader> readers_;        // by warp, once it has begun again
  std::vector<std::uint32_t> before_;  // for refill_inside()
  std::vector<std::uint64_t> words_;  // by warp: those of the records that the stream inside has and are kept
};

}  // namespace gpumux::workload
