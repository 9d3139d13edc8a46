// The SMs, memory partitions and CPU cores in time: how far each has come, and the simulation of all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "engine/crew.hpp"
#include "engine/exchange.hpp"
#include "engine/part.hpp"
#include "engine/windows.hpp"
#include "l2/partition.hpp"
#include "machine/cpu_node.hpp"
#include "machine/mesh_network.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "sm/sm.hpp"

namespace gpumux::machine {

static_assert(engine::Part<sm::Sm> && engine::Part<l2::Partition>);

class Horizon;
struct Span;

/// Between two calls of run() everything belongs to the caller; while it runs, parts share nothing. now() is
/// a window that all have reached; some SMs may be ahead of it, where the horizon has let them.
class Parts {
 public:
  /// What each CPU core executes; nothing: it has no program, as have those beyond the last.
  using CpuTraces = std::vector<std::unique_ptr<cpu::TraceSource>>;
  /// `no_skip`: parts are run also while nothing can happen in them.
  Parts(const arch::MachineConfig& config, const std::vector<arch::Instance>& instances, CpuTraces traces,
        unsigned threads, bool no_skip);

  [[nodiscard]] std::uint32_t sms() const { return static_cast<std::uint32_t>(sms_.size()); }
  [[nodiscard]] sm::Sm& sm(std::uint32_t i) { return *sms_[i]; }
  [[nodiscard]] const sm::Sm& sm(std::uint32_t i) const { return *sms_[i]; }
  [[nodiscard]] std::uint32_t partitions() const { return static_cast<std::uint32_t>(partitions_.size()); }
  [[nodiscard]] l2::Partition& partition(std::uint32_t i) { return *partitions_[i]; }
  [[nodiscard]] const l2::Partition& partition(std::uint32_t i) const { return *partitions_[i]; }
  [[nodiscard]] l2::Partition& partition_of(std::uint64_t line) { return *partitions_[map_.partition(line)]; }
  /// CPU cores of the machine; nullptr: it has no program.
  [[nodiscard]] std::uint32_t cpus() const { return static_cast<std::uint32_t>(cpus_.size()); }
  [[nodiscard]] CpuNode* cpu(std::uint32_t i) { return cpus_[i].get(); }
  [[nodiscard]] const CpuNode* cpu(std::uint32_t i) const { return cpus_[i].get(); }
  [[nodiscard]] const noc::Network& network() const { return network_; }
  [[nodiscard]] const engine::Windows& windows() const { return windows_; }

  // --- time -----------------------------------------------------------------------------------------
  [[nodiscard]] Cycle now() const { return now_; }
  /// All parts have come there (to that window), which is now() or later.
  [[nodiscard]] Cycle reached() const { return reached_; }
  [[nodiscard]] bool is_ahead(std::uint32_t sm) const { return sm_time_[sm] > now_; }
  [[nodiscard]] bool someone_is_ahead() const {
    return std::any_of(sm_time_.begin(), sm_time_.end(), [this](Cycle time) { return time > now_; });
  }
  /// The first cycle to which all parts can be brought.
  [[nodiscard]] Cycle farthest() const;
  /// No part has come beyond.
  [[nodiscard]] bool none_beyond(Cycle cycle) const;
  /// Brings now() on, to reached() at most.
  void set_now(Cycle cycle) { now_ = cycle; }
  /// Simulates all parts up to a window after now() at least, which is reached() then.
  void run(const Span& span, Horizon& horizon);
  /// Nothing happens before `cycle`, the begin of a window, in any part.
  void skip_to(Cycle cycle, Horizon& horizon);
  /// When something can happen next, in a part, or with a block that has ended or a stream to be refilled.
  [[nodiscard]] Cycle next_event() const;
  [[nodiscard]] Cycle next_of_parts() const {
    return std::min(*std::min_element(next_.begin(), next_.end()), mesh_ ? mesh_->next() : kNever);
  }
  /// A mesh has these on their way: requests that will be answered, and replies.
  [[nodiscard]] std::uint64_t awaited_on_the_way() const { return mesh_ ? mesh_->awaited() : 0; }
  /// No packet of a mesh is on its way.
  [[nodiscard]] bool network_drained() const { return !mesh_ || mesh_->drained(); }
  [[nodiscard]] std::string describe_network() const;

  // --- between windows --------------------------------------------------------------------------------
  /// Something has changed on the SM: it is run from `cycle` on.
  void wake(std::uint32_t sm, Cycle cycle) { next_[sm] = std::min(next_[sm], cycle); }
  /// The SM has a new block: its streams are looked at in this window.
  void refill_now(std::uint32_t sm) { refill_at_[sm] = std::min(refill_at_[sm], now_); }
  /// The streams of those SMs that stopped at this window for it, however far ahead the others are.
  void refill_streams();
  /// It is in the midst of that.
  [[nodiscard]] bool refilling() const { return refilling_; }
  /// The SM with its counters up to now(), also if it sleeps.
  [[nodiscard]] const sm::Sm& settled_sm(std::uint32_t i) const {
    sms_[i]->settle(now_);
    return *sms_[i];
  }
  /// Counters of parts that sleep, up to `cycle`.
  void settle(Cycle cycle);
  /// Triggers have fired on some SM since the last call.
  [[nodiscard]] bool take_fired() {
    const bool some = std::find(fired_.begin(), fired_.end(), 1) != fired_.end();
    if (some) std::fill(fired_.begin(), fired_.end(), std::uint8_t{0});
    return some;
  }
  /// The SM has blocks that ended, some perhaps later than now().
  [[nodiscard]] bool has_ended_blocks(std::uint32_t sm) const { return collect_at_[sm] != kNever; }
  /// Calls take(block) for those of the SM that have ended by now(), and forgets them.
  template <typename Take>
  void collect(std::uint32_t sm, const Take& take);
  /// The last call.
  void drop();
  /// A number that changes when any part makes progress.
  [[nodiscard]] std::uint64_t progress() const;

 private:
  void build(const arch::MachineConfig& config);
  void run_window(const Span& span, Horizon& horizon);
  void run_partitions(Cycle complete, Cycle end, Horizon& horizon);
  void run_cpus(Cycle end);
  void run_sms(const Span& span, Horizon& horizon);
  void run_sm(std::uint32_t i, const engine::Grant& grant, Horizon& horizon);
  [[nodiscard]] Cycle* partition_next() { return next_.data() + sms_.size(); }
  [[nodiscard]] Cycle* cpu_next() { return partition_next() + partitions_.size(); }

  noc::PartitionMap map_;
  noc::Network network_;
  engine::Windows windows_;
  engine::Crew crew_;
  bool no_skip_;
  bool refilling_ = false;
  std::vector<std::unique_ptr<sm::Sm>> sms_;
  std::vector<std::unique_ptr<l2::Partition>> partitions_;
  std::vector<std::unique_ptr<CpuNode>> cpus_;
  arch::SmMailbox idle_box_;  // of CPU cores without a program
  // A crossbar's messages go from end to end; a mesh has its turn between the parts'.
  std::optional<engine::Exchange<arch::MemRequest>> requests_;
  std::optional<engine::Exchange<arch::MemReply>> replies_;
  std::optional<MeshNetwork> mesh_;

  Cycle now_ = 0;
  Cycle reached_ = 0;
  std::vector<Cycle> next_;     // by part (SMs, partitions, CPU cores): when it can change by itself
  std::vector<Cycle> sm_time_;  // simulated up to here, by SM
  std::vector<Cycle> sm_end_;   // to be simulated up to here
  std::vector<Cycle>
      collect_at_;  // by SM: from then on its ended blocks can be collected; kNever: it has none
  std::vector<Cycle> refill_at_;       // by SM: it stops there, for refill_streams() to look at it; or kNever
  std::vector<std::uint8_t> blind_;    // by SM: waits for credits that are not known
  std::vector<std::uint8_t> fired_;    // by SM: a trigger has fired
  std::vector<Cycle> partition_time_;  // simulated up to here, by partition
};

template <typename Take>
void Parts::collect(std::uint32_t sm, const Take& take) {
  const bool ahead = is_ahead(sm);
  const auto is_later = [&](const sm::FinishedBlock& block) {
    return ahead && windows_.end(block.time) > now_;
  };
  std::vector<sm::FinishedBlock>& finished = sms_[sm]->finished_blocks();
  for (sm::FinishedBlock& block : finished)
    if (!is_later(block)) take(block);
  std::erase_if(finished, [&](const sm::FinishedBlock& block) { return !is_later(block); });
  if (finished.empty()) collect_at_[sm] = kNever;
}

}  // namespace gpumux::machine
