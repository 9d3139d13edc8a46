#include "trace/warp_program.hpp"

#include <optional>

namespace gpumux::trace {

void write_kernel(
    TraceBuilder& builder, const KernelHeader& header,
    const std::function<void(WarpProgram& program, std::uint32_t block, std::uint32_t warp)>& run) {
  std::vector<Executed> executed;
  std::vector<std::optional<std::uint32_t>>
      numbers;  // the builder's instruction numbers by position in the program
  builder.begin_kernel(header);
  for (std::uint32_t block = 0; block < header.grid.x; ++block) {
    builder.begin_block(block);
    for (std::uint32_t warp = 0; warp < header.warps(); ++warp) {
      WarpProgram program(executed);
      run(program, block, warp);
      builder.begin_warp(warp);
      for (const Executed& e : executed) {
        const std::size_t place = e.pc / WarpProgram::kInstructionBytes;
        if (place >= numbers.size()) numbers.resize(place + 1);
        if (!numbers[place]) numbers[place] = builder.instruction(e.pc, e.inst);
        builder.record(*numbers[place], kAllLanes, e.addresses);
      }
      builder.end_warp();
    }
    builder.end_block();
  }
  builder.end_kernel();
}

}  // namespace gpumux::trace
