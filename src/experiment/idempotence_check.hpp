// Executes an application's kernels once, without timing, to see which instructions really end the
// idempotence of blocks. The static analysis (ptx/idempotence.hpp) is tested against this.
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
  std::uint64_t executed = 0;   // warp instructions with at least one active lane
  std::uint64_t overwrote = 0;  // of these: atomics, and stores to what the block had read (D20)
  std::uint64_t first = 0;      // blocks in which it was the first to prevent a safe restart
};
struct ExecutedKernel {
  std::uint64_t blocks = 0;
  std::uint64_t stopped = 0;                         // blocks that could not be restarted safely at their end
  std::map<std::uint32_t, ExecutedAccess> accesses;  // of memory instructions, by pc
};

/// Executes all kernels of the application. The result is by kernel name. Throws what the host program
/// throws, and UserError for a host program that waits for time to pass.
[[nodiscard]] std::map<std::string, ExecutedKernel> execute_for_idempotence(
    std::unique_ptr<runtime::Application> application, const std::string& name,
    const arch::MachineConfig& machine);

/// The static analysis compared with an execution.
struct IdempotenceVerdict {
  std::vector<std::uint32_t> missed;  // pcs without a mark that were first in some block
  std::vector<std::uint32_t>
      over_cautious;  // pcs with a mark that were executed and never overwrote anything
};
[[nodiscard]] IdempotenceVerdict judge(const isa::Function& code, const ExecutedKernel& executed);

}  // namespace gpumux::experiment
