// Streams made by hand, and a memory that answers after a fixed delay.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "sm/sm.hpp"

namespace gpumux::sm::testing {

using isa::LatencyClass;
using isa::StaticInst;
using isa::Unit;
using Where = workload::MemHeader::Where;

/// A machine with one SM, one scheduler, and ideal fetch and buses, so that the result of a test depends only
/// on its subject.
inline arch::MachineConfig plain_machine() {
  arch::MachineConfig config;
  config.clocks = {1000, 1000, 1000, 1000};
  config.sm.max_threads = 2048;
  config.sm.max_warps = 64;
  config.sm.max_blocks = 16;
  config.sm.registers = 65536;
  config.sm.schedulers = 1;
  config.sm.warp_scheduler = arch::WarpScheduler::lrr;
  config.sm.register_banks = 64;
  config.sm.collectors_per_scheduler = 8;
  config.sm.result_buses = 8;
  config.sm.branch_latency = 4;
  config.noc.latency = 10;
  config.noc.input_buffer_flits = 64;
  config.l1.bytes = 16384;
  config.l1.ways = 4;
  config.l1.index = arch::L1Index::Linear;
  config.l1.latency = 30;
  for (auto& unit : config.units) unit.count = 4;  // 32 lanes, which the schedulers share
  return config;
}

struct Program {
  std::vector<StaticInst> table;
  std::uint32_t add(const StaticInst& inst) {
    table.push_back(inst);
    return static_cast<std::uint32_t>(table.size() - 1);
  }
};

inline StaticInst inst(Unit unit, LatencyClass latency_class, std::initializer_list<std::uint16_t> dst,
                       std::initializer_list<std::uint16_t> src, std::uint16_t flags = 0) {
  StaticInst made;
  made.unit = unit;
  made.latency_class = latency_class;
  made.flags = flags;
  made.num_dst = static_cast<std::uint8_t>(dst.size());
  made.num_src = static_cast<std::uint8_t>(src.size());
  std::size_t i = 0;
  for (const auto slot : dst) made.slot[i++] = slot;
  for (const auto slot : src) made.slot[i++] = slot;
  made.num_operands = static_cast<std::uint8_t>(
      std::count_if(src.begin(), src.end(), [](std::uint16_t slot) { return slot < isa::kPredicateSlot; }));
  made.access_bytes = 4;
  return made;
}
inline StaticInst alu(std::uint16_t dst, std::initializer_list<std::uint16_t> src = {}) {
  return inst(Unit::Sp, LatencyClass::FpAdd, {dst}, src);
}
inline StaticInst load(std::uint16_t dst, std::uint16_t flags = 0) {
  return inst(Unit::Memory, LatencyClass::Memory, {dst}, {}, static_cast<std::uint16_t>(isa::kLoad | flags));
}
inline StaticInst store() { return inst(Unit::Memory, LatencyClass::Memory, {}, {}, isa::kStore); }
inline StaticInst control(std::uint16_t flags) {
  return inst(Unit::Control, LatencyClass::Control, {}, {}, flags);
}

/// The instructions of one warp.
struct WarpCode {
  std::vector<workload::ExecRecord> records;
  std::vector<std::uint64_t> memory;

  WarpCode& run(std::uint32_t pc, LaneMask active = kAllLanes) {
    records.push_back({pc, active});
    return *this;
  }
  WarpCode& access(std::uint32_t pc, Where where, std::initializer_list<workload::Transaction> lines,
                   std::uint16_t passes = 0, LaneMask active = kAllLanes) {
    run(pc, active);
    workload::MemHeader header;
    header.where = where;
    header.transactions = static_cast<std::uint16_t>(lines.size());
    header.shared_passes = passes;
    memory.push_back(std::bit_cast<std::uint64_t>(header));
    for (const auto& line : lines) memory.push_back(line.word);
    return *this;
  }
  WarpCode& global(std::uint32_t pc, std::uint64_t line, std::uint32_t sectors = 0xf,
                   std::uint32_t lanes = 32) {
    return access(pc, Where::Global, {workload::Transaction::make(line, sectors, lanes)});
  }
  WarpCode& shared(std::uint32_t pc, std::uint16_t passes) { return access(pc, Where::Shared, {}, passes); }
};

/// A block stream that provides records in chunks.
class HandMadeBlock : public workload::BlockStream {
 public:
  HandMadeBlock(std::vector<WarpCode> code, std::uint32_t chunk)
      : BlockStream(static_cast<std::uint32_t>(code.size())),
        code_(std::move(code)),
        given_(code_.size(), 0),
        chunk_(chunk) {
    for (std::size_t w = 0; w < code_.size(); ++w) {
      streams_[w].next = streams_[w].end = code_[w].records.data();
      streams_[w].mem_next = code_[w].memory.data();
    }
  }
  void refill(std::uint32_t warp, std::uint32_t wanted) override {
    WarpCode& code = code_[warp];
    const auto used = static_cast<std::size_t>(streams_[warp].next - code.records.data());
    given_[warp] = std::min(code.records.size(), std::max(given_[warp], used + std::max(wanted, chunk_)));
    streams_[warp].end = code.records.data() + given_[warp];
    streams_[warp].finished = given_[warp] == code.records.size();
  }
  [[nodiscard]] bool may_restart(std::span<const std::uint32_t>) const override { return restartable; }
  bool restartable = true;

 private:
  std::vector<WarpCode> code_;
  std::vector<std::size_t> given_;
  std::uint32_t chunk_;
};

/// One SM, and a memory that answers each request `delay` cycles after the request arrives.
struct Bench {
  explicit Bench(arch::MachineConfig machine_config, Cycle memory_delay = 100, SmId id = 0)
      : config(std::move(machine_config)),
        network(config),
        map(config.l2),
        sm(config, id, map),
        delay(memory_delay) {}

  void bind(const Program& program, workload::BlockResources resources, KernelSlot slot = 0, AppId app = 0) {
    KernelContext context;
    context.table = program.table.data();
    context.table_size = static_cast<std::uint32_t>(program.table.size());
    context.resources = resources;
    context.app = app;
    context.code_address = Address{1} << 40U;
    sm.bind_kernel(slot, context);
  }
  void launch(std::vector<WarpCode> code, KernelSlot slot = 0, std::uint32_t residency = 0, Cycle start = 0) {
    sm.launch_block(slot, residency, std::make_unique<HandMadeBlock>(std::move(code), chunk), start);
  }
  /// Starts one kernel with one block of the given warps.
  void start(const Program& program, std::vector<WarpCode> code) {
    bind(program, {static_cast<std::uint32_t>(code.size()) * kWarpSize, 16, 0});
    launch(std::move(code));
  }
  void window(Cycle end) {
    sm.refill_streams(static_cast<std::uint32_t>(end - now) + 1);
    wake = sm.run(now, end);
    for (const MemRequest& request : sm.mailbox().out) {
      EXPECT_GE(request.time, end);
      if (keep_sent) sent.push_back(request);
      if (!answer) continue;
      sm.mailbox().credits_in.push_back(
          {request.time + network.latency, request.flits, 0, request.partition});
      MemReply reply;
      reply.time = request.time + delay;
      reply.tag = request.tag;
      reply.kind = request.kind;
      reply.sectors =
          request.kind == arch::RequestKind::Write ? 0U : static_cast<std::uint8_t>(request.sectors & 0xfU);
      reply.flits = 1;
      sm.mailbox().in.push_back(reply);
    }
    for (const Credit& credit : sm.mailbox().credits_out) EXPECT_GE(credit.time, end);
    sm.mailbox().out.clear();
    sm.mailbox().credits_out.clear();
    for (FinishedBlock& block : sm.finished_blocks()) {
      EXPECT_GE(block.time, now);
      EXPECT_LT(block.time, end);
      ended.push_back(std::move(block));
    }
    sm.finished_blocks().clear();
    now = end;
  }
  /// Runs in windows of `length` cycles until all blocks and all requests have ended. Returns the end of the
  /// last block.
  Cycle finish(Cycle length = 5, Cycle limit = 1'000'000) {
    while (sm.all_resident_blocks() > 0 || !sm.drained(0)) {
      window(now + length);
      if (now > limit) {
        ADD_FAILURE() << "does not end:\n" << sm.describe_waits();
        return kNever;
      }
    }
    window(now + 200);  // the credits return
    sm.check_drained(answer);
    return ended.empty() ? kNever : ended.back().time;
  }
  const arch::KernelCounters& counters() { return sm.counters(0); }

  arch::MachineConfig config;
  noc::Network network;
  noc::PartitionMap map;
  Sm sm;
  Cycle delay;
  std::uint32_t chunk = 64;
  Cycle now = 0;
  Cycle wake = 0;
  bool answer = true;
  bool keep_sent = true;
  std::vector<MemRequest> sent;
  std::vector<FinishedBlock> ended;
};

/// Cycle in which a block ends that has one warp per code.
inline Cycle time_of(const arch::MachineConfig& config, const Program& program, std::vector<WarpCode> code,
                     Cycle delay = 100) {
  Bench bench(config, delay);
  bench.start(program, std::move(code));
  return bench.finish();
}

}  // namespace gpumux::sm::testing
