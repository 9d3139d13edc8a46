#include "noc/network.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::noc {

namespace {
constexpr std::uint32_t kMaxFlits = 63;  // MemRequest::flits has six bits
}

Network::Network(const arch::MachineConfig& config)
    : clock(config.clocks.core, config.clocks.noc),
      latency(std::max<Cycle>(1, clock.to_core(config.noc.latency))),
      window(latency),
      core_cycles_per_flit(config.clocks.core / config.clocks.noc),
      routed(config.noc.topology == arch::Topology::Mesh),
      flit_bytes(config.noc.flit_bytes / config.noc.vcs * (config.noc.vcs - config.noc.cpu_vcs)),
      cpu_flit_bytes(config.noc.flit_bytes / config.noc.vcs * config.noc.cpu_vcs),
      header_bytes(config.noc.header_bytes),
      output_buffer_flits(config.noc.output_buffer_flits) {
  if (flit_bytes == 0 || (header_bytes + kLineBytes + flit_bytes - 1) / flit_bytes > kMaxFlits) {
    throw UserError(
        fmt::format("noc.flit_bytes = {} is too small: a packet of a line ({} B) with its header ({} B) must "
                    "fit in {} flits",
                    flit_bytes, kLineBytes, header_bytes, kMaxFlits));
  }
  if (config.noc.cpu_vcs == 0) flit_bytes = cpu_flit_bytes = config.noc.flit_bytes;
  // In a mesh, the sender learns of a free place without delay.
  const Cycle around = routed ? latency : 2 * latency;
  const auto loop = static_cast<std::uint32_t>(clock.tick_at(around)) + flits(kLineBytes);
  request_credits = config.noc.input_buffer_flits + loop;
  cpu_request_credits = request_credits - flits(kLineBytes) + cpu_flits(kLineBytes);
  reply_credits = (config.noc.input_buffer_flits + loop) * config.l2.slices_per_partition;
}

}  // namespace gpumux::noc
