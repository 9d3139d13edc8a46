#include "noc/network.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::noc {

namespace {
constexpr std::uint32_t kMaxFlits = 15;  // MemReply::flits has four bits
}

Network::Network(const arch::MachineConfig& config)
    : clock(config.clocks.core, config.clocks.noc),
      latency(std::max<Cycle>(1, clock.to_core(config.noc.latency))),
      window(latency),
      core_cycles_per_flit(config.clocks.core / config.clocks.noc),
      flit_bytes(config.noc.flit_bytes),
      header_bytes(config.noc.header_bytes),
      output_buffer_flits(config.noc.output_buffer_flits) {
  if (flit_bytes == 0 || (header_bytes + kLineBytes + flit_bytes - 1) / flit_bytes > kMaxFlits) {
    throw UserError(
        fmt::format("noc.flit_bytes = {} is too small: a packet of a line ({} B) with its header ({} B) must "
                    "fit in {} flits",
                    flit_bytes, kLineBytes, header_bytes, kMaxFlits));
  }
  const auto loop = static_cast<std::uint32_t>(clock.tick_at(2 * latency)) + flits(kLineBytes);
  request_credits = config.noc.input_buffer_flits + loop;
  reply_credits = (config.noc.input_buffer_flits + loop) * config.l2.slices_per_partition;
}

}  // namespace gpumux::noc
