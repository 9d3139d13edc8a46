// Records of blocks that are kept because the blocks may be restarted: their size, and that the restarted
// blocks get the same records.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/hash.hpp"
#include "benchmarks/functional_host.hpp"
#include "runtime/application.hpp"
#include "workload/replay_stream.hpp"

namespace gpumux {
namespace {

/// Runs each kernel block by block, each block to its end, then once more from its kept records.
class KeepingHost final : public testing_support::FunctionalHost {
 public:
  KeepingHost() : FunctionalHost(1) {}
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t plain = 0;    // bytes as the emulator has them
  std::uint64_t largest = 0;  // bytes of one block

 protected:
  std::uint64_t run(workload::KernelSource& kernel) override {
    std::uint64_t executed = 0;
    for (std::uint64_t index = 0; index < kernel.blocks(); ++index) {
      workload::ReplayStream stream(kernel.begin_block(index, 0, 0, 0), kernel.static_table());
      const Read first = read(stream, kernel);
      stream.restart();
      EXPECT_EQ(read(stream, kernel), first) << kernel.name() << ", block " << index;
      executed += first.records;
      plain += first.bytes;
      records += stream.records();
      bytes += stream.bytes();
      largest = std::max<std::uint64_t>(largest, stream.bytes());
    }
    return executed;
  }

 private:
  struct Read {
    std::uint64_t records = 0, hash = 0, bytes = 0;
    bool operator==(const Read&) const = default;
  };
  static Read read(workload::ReplayStream& block, const workload::KernelSource& kernel) {
    Read read;
    std::vector<std::uint64_t> hashes(block.warps());
    for (bool finished = false; !finished;) {
      finished = true;
      for (std::uint32_t w = 0; w < block.warps(); ++w) {
        workload::WarpStream& stream = block.stream(w);
        if (!stream.finished) block.refill(w, 256);
        for (; stream.next != stream.end; ++stream.next, ++read.records) {
          read.bytes += sizeof(workload::ExecRecord);
          hashes[w] = mix64(hashes[w] ^ (std::uint64_t{stream.next->pc} << 32U | stream.next->active));
          if (kernel.static_table()[stream.next->pc].unit != isa::Unit::Memory) continue;
          const auto header = std::bit_cast<workload::MemHeader>(*stream.mem_next);
          read.bytes += 8 * (std::uint64_t{1} + header.transactions);
          for (std::uint32_t i = 0; i < 1U + header.transactions; ++i)
            hashes[w] = mix64(hashes[w] ^ *stream.mem_next++);
        }
        finished = finished && stream.finished;
      }
    }
    for (const std::uint64_t hash : hashes) read.hash = mix64(read.hash ^ hash);
    return read;
  }
};

TEST(KeptRecords, TakeAFewBytesPerInstruction) {
  std::printf("%-44s %12s %8s %8s %14s\n", "application", "instructions", "plain", "kept", "largest block");
  for (const char* app :
       {"3mm:ni=64,nj=40,nk=36,nl=70,nm=33", "add:loops=2,blocks=40", "atax:nx=300,ny=270",
        "backprop:inputs=512", "bfs:nodes=2000", "cutcp:regions_x=2,regions_y=2,regions_z=2",
        "hotspot:size=61,steps=5", "kmeans:points=1000,features=9", "lud:size=64",
        "pathfinder:columns=2000,rows=11,pyramid=4", "sgemm:m=128,n=64,k=16", "spmv:rows=2000,nonzeros=9",
        "stencil:nx=35,ny=34,nz=9,steps=3", "stream:blocks=40", "dai18/dc:width=16,height=12",
        "dai18/cd:side=12,height=9", "dai18/s2:width=3,height=2",
        "dai18/bs:nodes=3000,degree=4,level=2,repeats=2",
        // Trees and motion estimation of chimera15's Table 2.
        "btree:keys=3001,order=37,ranges=20,range=33,queries=40"}) {
    KeepingHost host;
    const std::string text = app;
    const std::size_t colon = text.find(':');
    const runtime::AppInfo* const info = runtime::find_app(text.substr(0, colon));
    ASSERT_NE(info, nullptr);
    const auto application = info->create(runtime::parse_params(*info, text.substr(colon + 1)), 1);
    runtime::Task task = application->run(host, true);
    while (!task.done()) task.resume();
    const double each = static_cast<double>(host.bytes) / static_cast<double>(host.records);
    const double plain = static_cast<double>(host.plain) / static_cast<double>(host.records);
    std::printf("%-44s %12llu %8.2f %8.2f %14llu\n", app, static_cast<unsigned long long>(host.records),
                plain, each, static_cast<unsigned long long>(host.largest));
    EXPECT_LT(each, plain / 2.5) << app;
  }
}

}  // namespace
}  // namespace gpumux
