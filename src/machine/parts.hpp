// The SMs, memory partitions and CPU cores: the cycle that each has reached, and their simulation.
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

/// All parts of the machine and their time. Between two calls of run(), the caller may access everything.
/// During run(), parts share nothing. now() is a window that all parts have reached. Some SMs may be ahead of
/// it, as far as the horizon allows.
class Parts {
 public:
  /// Trace of each CPU core. Null: the core has no program, as have cores beyond the last element.
  using CpuTraces = std::vector<std::unique_ptr<cpu::TraceSource>>;
  /// `no_skip`: parts are run even if nothing can happen in them.
  Parts(const arch::MachineConfig& config, const std::vector<arch::Instance>& instances, CpuTraces traces,
        unsigned threads, bool no_skip);

  [[nodiscard]] std::uint32_t sms() const { return static_cast<std::uint32_t>(sms_.size()); }
  [[nodiscard]] sm::Sm& sm(std::uint32_t i) { return *sms_[i]; }
  [[nodiscard]] const sm::Sm& sm(std::uint32_t i) const { return *sms_[i]; }
  [[nodiscard]] std::uint32_t partitions() const { return static_cast<std::uint32_t>(partitions_.size()); }
  [[nodiscard]] l2::Partition& partition(std::uint32_t i) { return *partitions_[i]; }
  [[nodiscard]] const l2::Partition& partition(std::uint32_t i) const { return *partitions_[i]; }
  [[nodiscard]] l2::Partition& partition_of(std::uint64_t line) { return *partitions_[map_.partition(line)]; }
  /// CPU cores of the machine. cpu() returns nullptr for a core without a program.
  [[nodiscard]] std::uint32_t cpus() const { return static_cast<std::uint32_t>(cpus_.size()); }
  [[nodiscard]] CpuNode* cpu(std::uint32_t i) { return cpus_[i].get(); }
  [[nodiscard]] const CpuNode* cpu(std::uint32_t i) const { return cpus_[i].get(); }
  [[nodiscard]] const noc::Network& network() const { return network_; }
  [[nodiscard]] const engine::Windows& windows() const { return windows_; }

  // --- time -----------------------------------------------------------------------------------------
  [[nodiscard]] Cycle now() const { return now_; }
  /// The window that all parts have reached, which is now() or later.
  [[nodiscard]] Cycle reached() const { return reached_; }
  [[nodiscard]] bool is_ahead(std::uint32_t sm) const { return sm_time_[sm] > now_; }
  [[nodiscard]] bool someone_is_ahead() const {
    return std::any_of(sm_time_.begin(), sm_time_.end(), [this](Cycle time) { return time > now_; });
  }
  /// The first window start that no part has passed, so that all parts can be brought to it.
  [[nodiscard]] Cycle farthest() const;
  /// True if no part has been simulated beyond `cycle`.
  [[nodiscard]] bool none_beyond(Cycle cycle) const;
  /// Advances now(), at most to reached().
  void set_now(Cycle cycle) { now_ = cycle; }
  /// Simulates all parts at least up to the next window after now(), which reached() then returns.
  void run(const Span& span, Horizon& horizon);
  /// Skips to `cycle`, the start of a window. Nothing must happen in any part before.
  void skip_to(Cycle cycle, Horizon& horizon);
  /// The next cycle with an event: in a part, of an ended block, or of a stream to be refilled.
  [[nodiscard]] Cycle next_event() const;
  [[nodiscard]] Cycle next_of_parts() const {
    return std::min(*std::min_element(next_.begin(), next_.end()), mesh_ ? mesh_->next() : kNever);
  }
  /// Requests with a reply to come, and replies, on their way in a mesh.
  [[nodiscard]] std::uint64_t awaited_on_the_way() const { return mesh_ ? mesh_->awaited() : 0; }
  /// True if no packet of a mesh is on its way.
  [[nodiscard]] bool network_drained() const { return !mesh_ || mesh_->drained(); }
  [[nodiscard]] std::string describe_network() const;

  // --- between windows --------------------------------------------------------------------------------
  /// Tells that something has changed on the SM, which is then simulated from `cycle` on.
  void wake(std::uint32_t sm, Cycle cycle) { next_[sm] = std::min(next_[sm], cycle); }
  /// Tells that the SM has a new block, whose streams must be refilled in this window.
  void refill_now(std::uint32_t sm) { refill_at_[sm] = std::min(refill_at_[sm], now_); }
  /// Refills the streams of the SMs that stopped at this window to have them refilled.
  void refill_streams();
  /// True during refill_streams().
  [[nodiscard]] bool refilling() const { return refilling_; }
  /// The SM with its counters up to now(), even if it sleeps.
  [[nodiscard]] const sm::Sm& settled_sm(std::uint32_t i) const {
    sms_[i]->settle(now_);
    return *sms_[i];
  }
  /// Brings the counters of sleeping parts up to `cycle`.
  void settle(Cycle cycle);
  /// True if triggers have fired on an SM since the last call.
  [[nodiscard]] bool take_fired() {
    const bool some = std::find(fired_.begin(), fired_.end(), 1) != fired_.end();
    if (some) std::fill(fired_.begin(), fired_.end(), std::uint8_t{0});
    return some;
  }
  /// True if the SM has blocks that have ended, perhaps after now().
  [[nodiscard]] bool has_ended_blocks(std::uint32_t sm) const { return collect_at_[sm] != kNever; }
  /// Calls take(block) for the SM's blocks that have ended by now(), and removes them.
  template <typename Take>
  void collect(std::uint32_t sm, const Take& take);
  /// Destroys all parts. No call may follow.
  void drop();
  /// A number that changes whenever a part makes progress.
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
  arch::SmMailbox idle_box_;  // mailbox of CPU cores without a program
  // A crossbar needs only the exchange of messages. A mesh is simulated between the parts' turns.
  std::optional<engine::Exchange<arch::MemRequest>> requests_;
  std::optional<engine::Exchange<arch::MemReply>> replies_;
  std::optional<MeshNetwork> mesh_;

  Cycle now_ = 0;
  Cycle reached_ = 0;
  std::vector<Cycle> next_;     // by part (SMs, partitions, CPU cores): next cycle at which the part
                                // can change without a message
  std::vector<Cycle> sm_time_;  // by SM: simulated up to this cycle
  std::vector<Cycle> sm_end_;   // by SM: to be simulated up to this cycle
  std::vector<Cycle>
      collect_at_;  // by SM: cycle from which its ended blocks can be collected; kNever: no ended block
  std::vector<Cycle> refill_at_;       // by SM: cycle at which it stops for refill_streams(); kNever: none
  std::vector<std::uint8_t> blind_;    // by SM: 1 if it waits for credits that are not known
  std::vector<std::uint8_t> fired_;    // by SM: 1 if a trigger has fired
  std::vector<Cycle> partition_time_;  // by partition: simulated up to this cycle
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
