#include "experiment/idempotence_check.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "ptx/idempotence.hpp"
#include "runtime/context.hpp"
#include "workload/overwrites.hpp"

namespace gpumux::experiment {
namespace {

/// A device without timing: kernels run when they are submitted.
class Watching final : public runtime::Device {
 public:
  explicit Watching(const arch::MachineConfig& machine) : machine_(machine) {}
  [[nodiscard]] const arch::MachineConfig& config() const override { return machine_; }
  [[nodiscard]] Cycle now() const override { return now_; }
  void submit(runtime::Context& context, std::uint32_t stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t /*priority*/) override {
    submit_child(context, stream, std::move(kernel));
    while (!submitted_.empty()) {
      const auto next = std::move(submitted_.front());
      submitted_.pop_front();
      context.kernel_began(next.first);
      run(*next.second, kernels[next.second->name()]);
      context.kernel_ended(next.first);
    }
  }
  void submit_child(runtime::Context&, std::uint32_t stream,
                    std::unique_ptr<workload::KernelSource> kernel) override {
    submitted_.emplace_back(stream, std::move(kernel));
  }
  void copied_to_device(AppId, Address, std::uint64_t) override {}
  void kill(runtime::Context&) override {}  // no kernel is in progress between two calls
  void move_to(Cycle cycle) { now_ = cycle; }

  std::map<std::string, ExecutedKernel> kernels;

 private:
  struct Resident {
    Resident(std::unique_ptr<workload::BlockStream> of, std::uint32_t warps)
        : stream(std::move(of)), overwrites(warps) {}
    std::unique_ptr<workload::BlockStream> stream;
    workload::Overwrites overwrites;
    bool stopped = false;
  };

  /// Executes all blocks of a kernel, several at a time, so that blocks that wait for each other make
  /// progress.
  static void run(workload::KernelSource& kernel, ExecutedKernel& result) {
    constexpr std::uint64_t kResident = 8;
    constexpr std::uint32_t kAtOnce = 256;
    std::vector<std::optional<Resident>> places(std::min(kResident, kernel.blocks()));
    std::uint64_t begun = 0;
    for (std::uint64_t ended = 0; ended < kernel.blocks();) {
      for (std::uint32_t p = 0; p < places.size(); ++p) {
        if (!places[p]) {
          if (begun == kernel.blocks()) continue;
          auto stream = kernel.begin_block(begun++, p, 0, 0);
          const std::uint32_t warps = stream->warps();
          places[p].emplace(std::move(stream), warps);
        }
        Resident& block = *places[p];
        bool finished = true;
        for (std::uint32_t w = 0; w < block.stream->warps(); ++w) {
          if (!block.stream->stream(w).finished) block.stream->refill(w, kAtOnce);
          look(block, kernel, result);
          finished = finished && block.stream->stream(w).finished;
        }
        if (!finished) continue;
        ++result.blocks;
        if (block.stopped) ++result.stopped;
        places[p].reset();
        ++ended;
      }
    }
  }

  /// Consumes all records that the block's streams hold.
  static void look(Resident& block, const workload::KernelSource& kernel, ExecutedKernel& result) {
    const std::vector<isa::StaticInst>& table = kernel.static_table();
    const std::vector<std::uint32_t> none(block.stream->warps(), 0);
    block.overwrites.follow(*block.stream, none, table,
                            [&](std::uint32_t, const workload::ExecRecord& record, bool overwrites) {
                              if (record.active == 0) return;
                              ExecutedAccess& access = result.accesses[record.pc];
                              ++access.executed;
                              if (!overwrites) return;
                              ++access.overwrote;
                              if (!std::exchange(block.stopped, true)) ++access.first;
                            });
    for (std::uint32_t w = 0; w < block.stream->warps(); ++w) {
      workload::WarpStream& stream = block.stream->stream(w);
      for (; stream.next != stream.end; ++stream.next)
        if (table[stream.next->pc].unit == isa::Unit::Memory)
          stream.mem_next += 1 + std::bit_cast<workload::MemHeader>(*stream.mem_next).transactions;
    }
  }

  const arch::MachineConfig& machine_;
  Cycle now_ = 0;
  std::deque<std::pair<std::uint32_t, std::unique_ptr<workload::KernelSource>>> submitted_;
};

}  // namespace

std::map<std::string, ExecutedKernel> execute_for_idempotence(
    std::unique_ptr<runtime::Application> application, const std::string& name,
    const arch::MachineConfig& machine) {
  Watching device(machine);
  runtime::Context context(AppId{0}, name, std::move(application), device, false, nullptr);
  context.start();
  while (true) {
    context.pump();
    if (context.finished()) return std::move(device.kernels);
    if (context.next_event() == kNever)
      throw UserError(fmt::format("app {}: it waits for what nothing brings about", name));
    device.move_to(context.next_event());
  }
}

IdempotenceVerdict judge(const isa::Function& code, const ExecutedKernel& executed) {
  std::set<std::uint32_t> marked;
  for (const ptx::HazardPoint& point : ptx::hazard_points(code)) marked.insert(point.pc);
  IdempotenceVerdict verdict;
  for (const auto& [pc, access] : executed.accesses) {
    if (!marked.contains(pc) && access.first > 0) verdict.missed.push_back(pc);
    if (marked.contains(pc) && access.overwrote == 0) verdict.over_cautious.push_back(pc);
  }
  return verdict;
}

}  // namespace gpumux::experiment
