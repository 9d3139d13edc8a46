#include "noc/fabric.hpp"

namespace gpumux::noc {

MeshConfig mesh_config(const arch::MachineConfig& config, const Network& network, Lane lane, bool replies) {
  const arch::NocConfig& noc = config.noc;
  const arch::Placement place = arch::placement(config);
  MeshConfig mesh;
  mesh.width = place.width;
  mesh.height = place.height;
  mesh.vcs = lane == Lane::Cpu ? noc.cpu_vcs : noc.vcs - noc.cpu_vcs;
  mesh.vc_flits = noc.vc_flits;
  mesh.router_cycles = noc.router_cycles;
  mesh.link_cycles = noc.link_cycles;
  mesh.local_cycles = noc.local_cycles;
  mesh.credit_cycles = noc.credit_cycles;
  for (const auto* nodes : {&place.sms, &place.cpus, &place.partitions})
    mesh.endpoint_nodes.insert(mesh.endpoint_nodes.end(), nodes->begin(), nodes->end());

  const bool cpu = lane == Lane::Cpu;
  const std::uint32_t line = cpu ? network.cpu_flits(kLineBytes) : network.flits(kLineBytes);
  mesh.injection_flits = replies ? network.reply_credits : network.request_credits;
  // No sender exceeds its credits. A partition counts its credits in flits of the SMs' lane.
  if (cpu && replies) mesh.injection_flits = (network.reply_credits / network.flits(0) + 1) * line;
  if (!replies) mesh.injection_flits = std::max(mesh.injection_flits, network.cpu_request_credits);
  // The router learns one latency later that the receiver has free space. Until then, the mesh needs space
  // for the flits of that time and for one more packet.
  mesh.ejection_flits =
      noc.ejection_flits + static_cast<std::uint32_t>(network.clock.tick_at(network.latency)) + line;
  return mesh;
}

}  // namespace gpumux::noc
