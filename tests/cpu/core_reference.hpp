// A model with the rules of cpu::Core, which examines every instruction of the window in every cycle.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "cpu/config.hpp"
#include "cpu/core.hpp"

namespace gpumux::cpu::test {

/// Reads are answered `latency` cycles after they leave L2. Places of the outbox are free again `hold` cycles
/// after the request leaves L2. Both are as in FixedMemory.
class CoreReference {
 public:
  CoreReference(const CpuConfig& config, std::vector<Record> records, Cycle latency, Cycle hold)
      : config_(config), records_(std::move(records)), latency_(latency), hold_(hold) {}

  Counters counters{};
  std::vector<Request> sent{};
  std::vector<Cycle> retired_at{};

  void cycle() {
    const Cycle now = counters.cycles;
    // Arrival of data: replies of the memory first, then lines from L2.
    for (const bool from_memory : {true, false}) {
      for (auto it = lines_.begin(); it != lines_.end();) {
        if (it->arrives == now && it->from_memory == from_memory) {
          if (from_memory) {
            ++counters.replies;
            counters.memory_latency += latency_;
            put(l2_, it->line, false);
          }
          put(l1_, it->line, it->dirty);
          it = lines_.erase(it);
        } else {
          ++it;
        }
      }
    }
    // Retirement.
    for (unsigned i = 0; i < config_.width && !window_.empty() && complete(window_.front(), now); ++i) {
      const Instruction& it = window_.front();
      ++counters.instructions;
      counters.loads += it.loads();
      counters.stores += it.operands.size() - it.loads();
      counters.branches += it.branch;
      retired_at.push_back(now);
      window_.pop_front();
      ++first_;
    }
    // Issue.
    bool port = true;
    unsigned issued = 0;
    for (Instruction& it : window_) {
      if (issued == config_.width) break;
      if (!operands_there(it, now)) continue;
      if (it.operands.empty()) {
        if (it.done) continue;
        it.done = now + 1;
        ++issued;
      } else if (port && wants_port(it, now)) {
        port = false;
        ++issued;
        access(it, now);
      }
    }
    // Dispatch.
    const std::size_t room = std::min<std::size_t>(config_.width, config_.window - window_.size());
    // Nothing behind a mispredicted branch enters the window.
    if (mispredicted_ && (*mispredicted_ < first_ || complete(window_[*mispredicted_ - first_], now))) {
      mispredicted_.reset();
      resume_ = now + config_.redirect;
    }
    const bool unknown = mispredicted_ || now < resume_;
    if (room > 0 && unknown) ++counters.stalled_by_branches;
    if (room == 0) {
      const Instruction& oldest = window_.front();
      if (oldest.refused == Refused::Mshr) {
        ++counters.stalled_by_mshrs;
      } else if (oldest.refused == Refused::Outbox) {
        ++counters.stalled_by_outbox;
      } else if (std::any_of(oldest.operands.begin(), oldest.operands.end(), [&](const Operand& operand) {
                   return operand.load && operand.issued && data_at(operand) > now;
                 })) {
        ++counters.stalled_by_load;
      } else {
        ++counters.stalled_by_rest;
      }
    }
    for (std::size_t i = 0; i < room && !unknown && !mispredicted_; ++i) {
      enter(records_[position_++ % records_.size()]);
    }
    ++counters.cycles;
  }

 private:
  enum class Refused { No, Mshr, Outbox };
  struct Operand {
    std::uint64_t address = 0;
    bool load = false;
    bool forwarded = false;
    bool issued = false;
    Cycle known = kNever;      // cycle at which the data is there, if known
    Cycle looked_up = 0;       // earliest cycle of the data, which also needs the line
    std::uint64_t serial = 0;  // of the Line for which the operand waits
  };
  struct Instruction {
    bool branch = false;
    std::vector<std::uint64_t> needs;  // numbers of the older instructions that it needs
    std::vector<Operand> operands;
    std::optional<Cycle> done;
    Refused refused = Refused::No;
    [[nodiscard]] std::size_t loads() const {
      return static_cast<std::size_t>(
          std::count_if(operands.begin(), operands.end(), [](const Operand& o) { return o.load; }));
    }
  };
  struct Line {
    std::uint64_t line = 0;
    Cycle arrives = 0;
    bool from_memory = false;
    bool dirty = false;
    std::uint64_t serial = 0;
  };
  struct Entry {
    std::uint64_t line = 0;
    bool dirty = false;
  };
  struct Tags {
    CacheConfig config;
    std::map<std::uint64_t, std::list<Entry>> sets{};  // most recently used first
    std::list<Entry>& set(std::uint64_t line) {
      return sets[line % (config.bytes / config.ways / kLineBytes)];
    }
    bool touch(std::uint64_t line, bool write) {
      std::list<Entry>& in = set(line);
      for (auto it = in.begin(); it != in.end(); ++it) {
        if (it->line != line) continue;
        it->dirty |= write;
        in.splice(in.begin(), in, it);
        return true;
      }
      return false;
    }
  };

  void put(Tags& tags, std::uint64_t line, bool dirty) {
    std::list<Entry>& in = tags.set(line);
    in.push_front({line, dirty});
    if (in.size() <= tags.config.ways) return;
    const Entry victim = in.back();
    in.pop_back();
    if (!victim.dirty) return;
    if (&tags == &l1_) {
      ++counters.l1_writebacks;
      if (!l2_.touch(victim.line, true)) put(l2_, victim.line, true);
    } else {
      ++counters.l2_writebacks;
      sent.push_back({victim.line, counters.cycles, 0, true});
    }
  }
  [[nodiscard]] Cycle data_at(const Operand& operand) const {
    if (operand.known != kNever) return operand.known;
    for (const Line& line : lines_) {
      if (line.serial == operand.serial) return std::max(line.arrives, operand.looked_up);
    }
    return operand.looked_up;  // the line has arrived
  }
  [[nodiscard]] bool complete(const Instruction& it, Cycle now) const {
    if (it.operands.empty()) return it.done && *it.done <= now;
    if (!it.operands.back().load) return it.done && *it.done <= now;
    return std::all_of(it.operands.begin(), it.operands.end(),
                       [&](const Operand& operand) { return operand.issued && data_at(operand) <= now; });
  }
  [[nodiscard]] bool operands_there(const Instruction& it, Cycle now) const {
    return std::all_of(it.needs.begin(), it.needs.end(), [&](std::uint64_t number) {
      return number < first_ || complete(window_[number - first_], now);
    });
  }
  [[nodiscard]] unsigned in_outbox(Cycle now) const {
    return static_cast<unsigned>(std::count_if(
        sent.begin(), sent.end(), [&](const Request& request) { return request.cycle + hold_ > now; }));
  }
  /// True if the instruction's next operand can use the L1 port.
  [[nodiscard]] bool wants_port(const Instruction& it, Cycle now) const {
    if (it.refused == Refused::Mshr && lines_.size() >= config_.mshrs) return false;
    if (it.refused == Refused::Outbox && in_outbox(now) >= config_.outbox) return false;
    for (const Operand& operand : it.operands) {
      if (operand.issued) {
        if (!operand.load || data_at(operand) <= now) continue;
        // A store waits for the data of all loads; another load does not.
        const auto next =
            std::find_if(it.operands.begin(), it.operands.end(), [](const Operand& o) { return !o.issued; });
        return next != it.operands.end() && next->load;
      }
      return true;
    }
    return false;
  }
  void access(Instruction& it, Cycle now) {
    it.refused = Refused::No;
    Operand& operand =
        *std::find_if(it.operands.begin(), it.operands.end(), [](const Operand& o) { return !o.issued; });
    const std::uint64_t line = operand.address / kLineBytes;
    const Cycle looked_up = now + config_.l1.latency;
    if (operand.forwarded) {
      ++counters.forwarded_loads;
      operand.known = looked_up;
    } else if (l1_.touch(line, !operand.load)) {
      ++counters.l1_accesses;
      operand.known = looked_up;
    } else {
      auto under_way =
          std::find_if(lines_.begin(), lines_.end(), [&](const Line& other) { return other.line == line; });
      if (under_way != lines_.end()) {
        ++counters.l1_merges;
      } else if (lines_.size() >= config_.mshrs) {
        it.refused = Refused::Mshr;
        return;
      } else if (in_outbox(now) >= config_.outbox) {
        it.refused = Refused::Outbox;
        return;
      } else {
        ++counters.l1_misses;
        const Cycle from_l2 = looked_up + config_.l2.latency;
        const bool hit = l2_.touch(line, false);
        if (!hit) {
          ++counters.l2_misses;
          sent.push_back({line, from_l2, 0, false});
        }
        lines_.push_back({line, hit ? from_l2 : from_l2 + latency_, !hit, false, ++serials_});
        under_way = std::prev(lines_.end());
      }
      ++counters.l1_accesses;
      operand.serial = under_way->serial;
      operand.looked_up = looked_up;
      under_way->dirty |= !operand.load;
    }
    operand.issued = true;
    if (!it.operands.back().load && &operand == &it.operands.back()) it.done = now + 1;
  }
  void enter(const Record& record) {
    const std::uint64_t number = first_ + window_.size();
    Instruction it;
    it.branch = record.is_branch != 0;
    bool reads_other = false;
    for (const std::uint8_t reg : record.source_registers) {
      if (reg == 0 || reg == kInstructionPointer) continue;
      reads_other |= reg != kStackPointer && reg != kFlags;
      if (writers_.contains(reg)) it.needs.push_back(writers_[reg]);
    }
    for (const std::uint64_t address : record.source_memory) {
      if (address == 0) continue;
      Operand operand{address, true};
      for (std::size_t i = window_.size(); config_.forward_stores && !operand.forwarded && i-- > 0;) {
        for (const Operand& other : window_[i].operands) {
          if (other.load || other.address / 8 != address / 8) continue;
          it.needs.push_back(first_ + i);
          operand.forwarded = true;
          break;
        }
      }
      it.operands.push_back(operand);
    }
    for (const std::uint64_t address : record.destination_memory) {
      if (address != 0) it.operands.push_back({address, false});
    }
    for (const std::uint8_t reg : record.destination_registers) {
      if (reg == 0 || reg == kInstructionPointer) continue;
      if (reg == kStackPointer && config_.fold_stack_pointer &&
          (it.branch || !it.operands.empty() || !reads_other))
        continue;
      writers_[reg] = number;
    }
    window_.push_back(std::move(it));
    if (record.is_branch == 0 || config_.predictor_bits == 0) return;
    int& counter =
        predictor_.try_emplace((record.ip ^ history_) % (1U << config_.predictor_bits), 2).first->second;
    if ((record.branch_taken != 0) != (counter > 1)) {
      ++counters.mispredictions;
      mispredicted_ = number;
    }
    counter = std::clamp(counter + (record.branch_taken != 0 ? 1 : -1), 0, 3);
    history_ = history_ * 2 + record.branch_taken;
  }

  CpuConfig config_;
  std::vector<Record> records_;
  Cycle latency_;
  Cycle hold_;
  std::uint64_t position_ = 0;
  std::deque<Instruction> window_{};
  std::uint64_t first_ = 0;  // number of the oldest instruction in the window
  std::map<std::uint8_t, std::uint64_t> writers_{};
  std::map<std::uint64_t, int> predictor_{};
  std::uint64_t history_ = 0;
  std::optional<std::uint64_t> mispredicted_{};
  Cycle resume_ = 0;
  std::vector<Line> lines_{};
  std::uint64_t serials_ = 0;
  Tags l1_{config_.l1};
  Tags l2_{config_.l2};
};

}  // namespace gpumux::cpu::test
