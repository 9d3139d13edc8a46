// An application's kernels executed once, without time, to see which instructions really end the idempotence
// of blocks: what the static analysis (ptx/idempotence.hpp) is judged by.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "emulator/program.hpp"
#include "runtime/application.hpp"

namespace gpumux::experiment {

/// One static instruction of a kernel, over all its launches.
struct ExecutedAccess {
  std::uint64_t executed = 0;   // warp instructions, by some lane at least
  std::uint64_t overwrote = 0;  // of these: atomics, and stores to what the block had read (D20)
  std::uint64_t first = 0;      // blocks that it was the first to keep from beginning anew
};
struct ExecutedKernel {
  std::uint64_t blocks = 0;
  std::uint64_t stopped = 0;                         // blocks that could not begin anew at their end
  std::map<std::uint32_t, ExecutedAccess> accesses;  // by pc: memory instructions
};

/// By name of the kernel. Throws what the host program throws, and UserError for one that waits for time to
/// pass.
[[nodiscard]] std::map<std::string, ExecutedKernel> execute_for_idempotence(
    std::unique_ptr<runtime::Application> application, const std::string& name,
    const arch::MachineConfig& machine);

/// The two beside each other.
struct IdempotenceVerdict {
  std::vector<std::uint32_t> missed;  // pcs without a mark that were the first in some block
  std::vector<std::uint32_t>
      over_cautious;  // with one, that were executed and have never overwritten anything
};
[[nodiscard]] IdempotenceVerdict judge(const isa::Function& code, const ExecutedKernel& executed);

}  // namespace gpumux::experiment
