// Reads everything of a trace that a machine would read, within bounds.
#pragma once

#include "fuzz.hpp"
#include "trace/kernel.hpp"
#include "trace/trace_file.hpp"

namespace gpumux::fuzz {

inline void walk(const std::shared_ptr<const trace::Trace>& trace) {
  constexpr std::size_t kMostLaunches = 4;
  constexpr std::uint64_t kMostBlocks = 4;
  constexpr std::uint64_t kMostRecords = 20'000;
  workload::DeviceMemory memory(0);
  for (std::size_t i = 0; i < trace->launches().size() && i < kMostLaunches; ++i) {
    const std::unique_ptr<workload::KernelSource> kernel = trace::make_kernel(trace, i, memory, 32);
    for (std::uint64_t b = 0; b < kernel->blocks() && b < kMostBlocks; ++b) {
      std::unique_ptr<workload::BlockStream> block = kernel->begin_block(b, 0, 0, 0);
      for (std::uint32_t w = 0; w < block->warps(); ++w) {
        workload::WarpStream& stream = block->stream(w);
        for (std::uint64_t records = 0;
             records < kMostRecords && !(stream.finished && stream.available() == 0);) {
          block->refill(w, 256);
          if (stream.available() == 0) break;
          for (; stream.next != stream.end; ++stream.next, ++records) {
            (void)kernel->describe_pc(stream.next->pc);
            if (kernel->static_table().at(stream.next->pc).unit != isa::Unit::Memory) continue;
            const auto header = std::bit_cast<workload::MemHeader>(*stream.mem_next);
            stream.mem_next += 1 + header.transactions;
          }
        }
      }
      kernel->end_block(std::move(block));
    }
  }
}

}  // namespace gpumux::fuzz
