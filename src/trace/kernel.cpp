#include "trace/kernel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "trace/memory_source.hpp"
#include "trace/record_source.hpp"
#include "workload/overwrites.hpp"

namespace gpumux::trace {
namespace {

using workload::ExecRecord;
using workload::WarpStream;

/// Position of a warp in its records and items.
struct WarpSource {
  ExpandedPath* path = nullptr;  // nullptr: `runs` are decoded into `records`
  std::uint32_t published = 0;   // number of records of `path` in the stream so far
  RunReader runs;
  HugePageVector<ExecRecord> records;
  MemorySource memory;
};

/// Header of a warp in the launch's data.
struct WarpHead {
  std::uint64_t path = 0;
  ByteReader items;
  std::uint64_t line = 0;  // first value of the deltas of global lines
};

/// Reads the headers of a block's warps in order.
class BlockReader {
 public:
  BlockReader(const Launch& launch, std::uint64_t at) : launch_(launch), reader_(launch.body.subspan(at)) {}
  /// The next header. Throws CorruptTrace.
  WarpHead next() {
    WarpHead head;
    head.path = reader_.varint();
    const std::uint64_t sequence = reader_.varint();
    if (sequence != kNoSequence) {
      const std::uint64_t size = reader_.varint();
      if (sequence == kInlineSequence) {
        head.items = ByteReader(reader_.bytes(size));
      } else {
        const std::uint64_t from = sequence - 2;
        if (from > launch_.body.size() || size > launch_.body.size() - from) {
          throw CorruptTrace{"a warp's addresses lie outside"};
        }
        head.items = ByteReader(launch_.body.subspan(from, size));
      }
      line_ += reader_.signed_varint();
    }
    head.line = line_;
    return head;
  }

 private:
  const Launch& launch_;
  ByteReader reader_;
  std::uint64_t line_ = 0;
};

/// Data that the blocks of a launch share.
struct LaunchState {
  LaunchState(std::shared_ptr<const Trace> the_trace, std::uint64_t index)
      : trace(std::move(the_trace)), launch(trace->launches()[index]), code(trace->code(launch)) {}
  /// Reads the tables when the machine first uses the kernel, since a trace may have thousands of launches.
  void prepare() {
    if (paths) return;
    tables = read_tables(launch);
    paths.emplace(tables, code);
  }

  std::shared_ptr<const Trace> trace;
  const Launch& launch;
  const Code& code;
  LaunchTables tables;
  std::optional<PathStore> paths;
  Placement placement;
  Address code_address = 0;
};

/// The stream of one block. Objects are reused for later blocks, so that no memory is allocated in a steady
/// state.
class TraceBlock final : public workload::BlockStream {
 public:
  TraceBlock(std::shared_ptr<LaunchState> state, SmId sm)
      : BlockStream(state->launch.warps()), state_(std::move(state)), sm_(sm), warps_(streams_.size()) {}
  ~TraceBlock() override { end(); }
  TraceBlock(const TraceBlock&) = delete;
  TraceBlock& operator=(const TraceBlock&) = delete;

  [[nodiscard]] SmId sm() const { return sm_; }
  /// Starts block `index`. Throws UserError when the trace is corrupt.
  void begin(std::uint64_t index, std::uint32_t residency) {
    std::fill(streams_.begin(), streams_.end(), WarpStream{});
    try {
      state_->prepare();
      start(index, residency);
    } catch (const CorruptTrace& corrupt) {
      state_->trace->fail(corrupt);
    }
  }
  void end() {
    for (WarpSource& warp : warps_) {
      if (warp.path != nullptr) PathStore::release(*warp.path);
      warp.path = nullptr;
    }
  }

  void refill(std::uint32_t warp, std::uint32_t wanted) override {
    if (streams_[warp].finished) return;
    try {
      if (warps_[warp].path != nullptr) {
        refill_shared(warps_[warp], streams_[warp], wanted);
      } else {
        refill_own(warps_[warp], streams_[warp], wanted);
      }
    } catch (const CorruptTrace& corrupt) {
      state_->trace->fail(corrupt);
    }
  }

 private:
  void start(std::uint64_t index, std::uint32_t residency) {
    const Launch& launch = state_->launch;
    BlockReader reader(launch, state_->tables.block_at[index]);
    for (std::uint32_t w = 0; w < warps_.size(); ++w) {
      WarpSource& warp = warps_[w];
      const WarpHead head = reader.next();
      warp.path = state_->paths->acquire(head.path);
      warp.published = 0;
      warp.records.clear();
      if (warp.path == nullptr) warp.runs = RunReader(state_->tables.paths[head.path], state_->code);
      const std::uint64_t row = std::uint64_t{residency} * warps_.size() + w;
      warp.memory.start(head.items, state_->placement.global + head.line,
                        state_->placement.local + row * launch.local_words - launch.local_low);
    }
  }

  /// Refills the stream of a warp with a shared path. The stream points into the path's records. Only memory
  /// words are decoded for each warp.
  void refill_shared(WarpSource& warp, WarpStream& stream, std::uint32_t wanted) const {
    constexpr std::uint32_t kStep = ExpandedPath::kStep;
    // Memory items to decode ahead. More of them save calls but cost memory for each transaction.
    constexpr std::uint32_t kItemsAhead = 12;
    const ExpandedPath& path = *warp.path;
    const ExecRecord* begin = path.records.data();
    const auto count = static_cast<std::uint32_t>(path.records.size());
    const std::uint32_t consumed =
        stream.next == nullptr ? 0 : static_cast<std::uint32_t>(stream.next - begin);
    const auto index_of = [count](std::uint32_t end) {  // index into memory_before
      return end == count ? (count + kStep - 1) / kStep : end / kStep;
    };
    std::uint32_t end =
        std::max(warp.published, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                     count, (std::uint64_t{consumed} + wanted + kStep - 1) / kStep * kStep)));
    const std::uint32_t first = path.memory_before[index_of(warp.published)];
    while (end < count) {
      const std::uint32_t further = std::min(count, end + kStep);
      if (path.memory_before[index_of(further)] - first > kItemsAhead) break;
      end = further;
    }
    warp.memory.refill(stream, path.memory_before[index_of(end)] - first, state_->tables, state_->placement);
    warp.published = end;
    stream.next = begin + consumed;
    stream.end = begin + end;
    stream.finished = end == count;
  }

  void refill_own(WarpSource& warp, WarpStream& stream, std::uint32_t wanted) const {
    constexpr std::uint32_t kChunk = 128;
    const std::uint32_t available = stream.available();
    const std::uint32_t more =
        std::min(warp.runs.left(), std::max(kChunk, wanted > available ? wanted - available : 0U));
    if (available != 0 && stream.next != warp.records.data()) {
      std::copy(stream.next, stream.end, warp.records.data());
    }
    warp.records.resize(std::size_t{available} + more);
    const std::uint32_t items = warp.runs.read(warp.records.data() + available, more);
    warp.memory.refill(stream, items, state_->tables, state_->placement);
    stream.next = warp.records.data();
    stream.end = stream.next + warp.records.size();
    stream.finished = warp.runs.left() == 0;
  }

  std::shared_ptr<LaunchState> state_;
  SmId sm_;
  HugePageVector<WarpSource> warps_;
};

class TraceKernel final : public workload::KernelSource {
 public:
  explicit TraceKernel(std::shared_ptr<LaunchState> state) : state_(std::move(state)) {}

  [[nodiscard]] const std::string& name() const override { return state_->launch.kernel; }
  [[nodiscard]] std::uint64_t blocks() const override { return state_->launch.grid.count(); }
  [[nodiscard]] Dim3 grid() const override { return state_->launch.grid; }
  [[nodiscard]] Dim3 block() const override { return state_->launch.block; }
  [[nodiscard]] workload::BlockResources resources() const override {
    const Launch& launch = state_->launch;
    return {static_cast<std::uint32_t>(launch.block.count()), launch.registers, launch.shared_bytes};
  }
  [[nodiscard]] const std::vector<isa::StaticInst>& static_table() const override {
    return state_->code.table;
  }
  [[nodiscard]] Address code_address() const override { return state_->code_address; }
  [[nodiscard]] std::string describe_pc(std::uint32_t pc) const override {
    const Code& code = state_->code;
    if (pc >= code.table.size() || code.entry_at[pc] >= code.entries.size()) return name();
    const Code::Entry& entry = code.entries[code.entry_at[pc]];
    return fmt::format("{}+0x{:x} {}", name(), entry.pc, to_text(entry.inst));
  }
  /// Blocks share the expanded paths and tables, which change only when a block starts or ends.
  [[nodiscard]] bool refills_independently() const override { return true; }
  [[nodiscard]] std::uint64_t records(std::uint64_t index) const override {
    try {
      state_->prepare();
      BlockReader reader(state_->launch, state_->tables.block_at[index]);
      std::uint64_t records = 0;
      for (std::uint32_t w = 0; w < state_->launch.warps(); ++w)
        records += state_->paths->path(reader.next().path).records;
      return records;
    } catch (const CorruptTrace& corrupt) {
      state_->trace->fail(corrupt);
    }
  }
  /// Examines all records.
  [[nodiscard]] bool is_idempotent() override {
    for (std::uint64_t index = 0; index < blocks(); ++index) {
      std::unique_ptr<workload::BlockStream> block = begin_block(index, 0, 0, 0);
      const bool idempotent = workload::is_idempotent(*block, static_table());
      end_block(std::move(block));
      if (!idempotent) return false;
    }
    return true;
  }
  std::unique_ptr<workload::BlockStream> begin_block(std::uint64_t index, std::uint32_t residency, SmId sm,
                                                     Cycle) override {
    if (sm >= free_.size()) free_.resize(sm + 1U);
    std::unique_ptr<TraceBlock> block;
    if (free_[sm].empty()) {
      block = std::make_unique<TraceBlock>(state_, sm);
    } else {
      block = std::move(free_[sm].back());
      free_[sm].pop_back();
    }
    block->begin(index, residency);
    return block;
  }
  void end_block(std::unique_ptr<workload::BlockStream> stream) override {
    std::unique_ptr<TraceBlock> block(static_cast<TraceBlock*>(stream.release()));
    block->end();
    free_[block->sm()].push_back(std::move(block));
  }

 private:
  std::shared_ptr<LaunchState> state_;
  /// By the last SM of the block, because its buffers are in the cache of the thread that simulates this SM.
  std::vector<std::vector<std::unique_ptr<TraceBlock>>> free_;
};

}  // namespace

std::unique_ptr<workload::KernelSource> make_kernel(std::shared_ptr<const Trace> trace, std::uint64_t index,
                                                    workload::DeviceMemory& memory,
                                                    std::uint32_t shared_banks) {
  const Trace& the_trace = *trace;
  try {
    auto state = std::make_shared<LaunchState>(std::move(trace), index);
    Placement& placement = state->placement;
    placement.global = memory.base() / kLineBytes;
    placement.constant = memory.constant_backing() / kLineBytes;
    const std::uint64_t block_lines = state->launch.warps() * state->launch.local_words;
    if (block_lines != 0) placement.local = memory.place_local(block_lines * kLineBytes) / kLineBytes;
    placement.bank_log2 = static_cast<std::uint32_t>(std::countr_zero(shared_banks));
    GPUMUX_CHECK(placement.bank_log2 < kBankCounts);
    constexpr std::uint64_t kInstructionBytes = 16;
    state->code_address = memory.place_code(state->code.table.size() * kInstructionBytes);
    return std::make_unique<TraceKernel>(std::move(state));
  } catch (const CorruptTrace& corrupt) {
    the_trace.fail(corrupt);
  }
}

}  // namespace gpumux::trace
