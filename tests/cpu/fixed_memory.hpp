// Surroundings of a core for tests: instructions made by hand, and a memory that answers after a fixed time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cpu/core.hpp"

namespace gpumux::cpu::test {

/// A trace of the given records, followed by instructions without operands. With `again`, the records are
/// repeated instead.
class Script final : public TraceSource {
 public:
  explicit Script(std::vector<Record> records, bool again = false)
      : records_(std::move(records)), nothing_(64), again_(again) {}
  std::span<const Record> next() override {
    if (std::exchange(given_, true) && !again_) return nothing_;
    return records_.empty() ? nothing_ : records_;
  }

 private:
  std::vector<Record> records_;
  std::vector<Record> nothing_;
  bool again_;
  bool given_ = false;
};

inline Record alu(std::uint8_t to = 0, std::uint8_t from = 0) {
  Record record;
  record.destination_registers[0] = to;
  record.source_registers[0] = from;
  return record;
}
inline Record load(std::uint64_t address, std::uint8_t to = 0, std::uint8_t from = 0) {
  Record record = alu(to, from);
  record.source_memory[0] = address;
  return record;
}
inline Record store(std::uint64_t address, std::uint8_t from = 0) {
  Record record = alu(0, from);
  record.destination_memory[0] = address;
  return record;
}

/// A memory that answers reads `latency` cycles after they leave L2. Places of the outbox are free again
/// `hold` cycles after the request leaves L2.
struct FixedMemory {
  Cycle latency = 100;
  Cycle hold = 1;
  std::vector<Request> seen{};
  std::size_t answered = 0;

  /// Runs the core up to cycle `until`, at most `chunk` cycles at a time.
  void run(Core& core, Cycle until, Cycle chunk = 1) {
    chunk = std::min({chunk, latency, hold});
    while (core.done() < until) {
      core.run(std::min(until, core.done() + chunk), core.done() + chunk);
      for (const Request* request = core.front(); request != nullptr; request = core.front()) {
        const Request taken = *request;
        core.take(taken.cycle + hold);
        seen.push_back(taken);
        if (taken.write) continue;
        core.reply(taken.id, taken.cycle + latency);
        ++answered;
      }
    }
  }
  /// Runs until `instructions` instructions have retired. Returns the counters at the end of the cycle in
  /// which the last one retires.
  Counters until_retired(Core& core, std::uint64_t instructions, Cycle chunk = 1) {
    core.watch(instructions);
    while (!core.watched()) run(core, core.done() + 1000, chunk);
    return *core.watched();
  }
};

inline Core make_core(std::vector<Record> records, const CpuConfig& config = {}, bool again = false) {
  return {config, std::make_unique<Script>(std::move(records), again), 0};
}

/// Number of cycles until all records have retired.
inline std::uint64_t cycles_of(const std::vector<Record>& records, const CpuConfig& config = {},
                               FixedMemory memory = {}) {
  Core core = make_core(records, config);
  return memory.until_retired(core, records.size()).cycles;
}

}  // namespace gpumux::cpu::test
