#include "machine/mesh_network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace gpumux::machine {

MeshNetwork::MeshNetwork(const arch::MachineConfig& config, const noc::Network& network, const Parts& parts)
    : network_(network),
      parts_(parts),
      first_partition_(static_cast<std::uint32_t>(parts.sms.size() + parts.cpus.size())) {
  std::vector<noc::Terminal<arch::MemRequest>> requests;
  std::vector<noc::Terminal<arch::MemReply>> replies;
  Cycle* const next_of_cpus = parts.next + parts.sms.size() + parts.partitions.size();
  const auto sender = [&](arch::SmMailbox& box, Cycle& next) {
    requests.push_back({.credits = &box.credits_in});
    replies.push_back({.messages = &box.in, .next = &next});
  };
  for (std::size_t i = 0; i < parts.sms.size(); ++i) sender(*parts.sms[i], parts.next[i]);
  for (std::size_t i = 0; i < parts.cpus.size(); ++i) sender(*parts.cpus[i], next_of_cpus[i]);
  for (std::size_t i = 0; i < parts.partitions.size(); ++i) {
    requests.push_back({.messages = &parts.partitions[i]->in, .next = &parts.next[parts.sms.size() + i]});
    replies.push_back({.credits = &parts.partitions[i]->credits_in});
  }
  const auto add = [&](noc::Lane lane) {
    requests_.emplace_back(noc::mesh_config(config, network, lane, false), network, requests);
    replies_.emplace_back(noc::mesh_config(config, network, lane, true), network, replies);
  };
  add(noc::Lane::Gpu);
  if (config.noc.cpu_vcs > 0) add(noc::Lane::Cpu);
}

void MeshNetwork::run(Cycle cycle, engine::Crew& crew) {
  const Cycle end = cycle + network_.latency;
  constexpr std::uint32_t kDirections = 2;
  crew.awake().assign({0, 1});
  crew.run(kDirections, [&](std::uint32_t /*thread*/, std::uint32_t k, std::uint32_t /*last*/) {
    crew.part(k) == 0 ? run_requests(end) : run_replies(end);
  });
}

void MeshNetwork::run_requests(Cycle end) {
  const auto take = [this](arch::SmMailbox& box, std::uint32_t from) {
    for (const arch::MemRequest& request : box.out)
      requests_[lane_of(from)].send(request, from, endpoint_of(request.partition), request.flits);
    box.out.clear();
  };
  std::uint32_t endpoint = 0;
  for (arch::SmMailbox* box : parts_.sms) take(*box, endpoint++);
  for (arch::SmMailbox* box : parts_.cpus) take(*box, endpoint++);
  for (arch::PartitionMailbox* box : parts_.partitions) {
    for (const arch::Credit& credit : box->credits_out)
      requests_[lane_of(credit.to)].release(endpoint, credit.flits, credit.time);
    box->credits_out.clear();
    ++endpoint;
  }
  for (auto& lane : requests_) lane.run(end);
}

void MeshNetwork::run_replies(Cycle end) {
  for (std::uint32_t p = 0; p < parts_.partitions.size(); ++p) {
    for (const arch::MemReply& reply : parts_.partitions[p]->out) {
      const std::size_t lane = lane_of(reply.sm);
      const std::uint32_t bytes =
          static_cast<std::uint32_t>(std::popcount(unsigned{reply.sectors})) * kSectorBytes;
      const auto flits = lane == 0 ? static_cast<std::uint8_t>(reply.flits) : network_.cpu_flits(bytes);
      replies_[lane].send(reply, endpoint_of(static_cast<PartitionId>(p)), reply.sm, flits);
    }
    parts_.partitions[p]->out.clear();
  }
  std::uint32_t endpoint = 0;
  const auto take = [this, &endpoint](arch::SmMailbox& box) {
    for (const arch::Credit& credit : box.credits_out)
      replies_[lane_of(endpoint)].release(endpoint, credit.flits, credit.time);
    box.credits_out.clear();
    ++endpoint;
  };
  for (arch::SmMailbox* box : parts_.sms) take(*box);
  for (arch::SmMailbox* box : parts_.cpus) take(*box);
  for (auto& lane : replies_) lane.run(end);
}

Cycle MeshNetwork::next() const {
  Cycle next = kNever;
  for (const auto& lane : requests_) next = std::min(next, lane.next());
  for (const auto& lane : replies_) next = std::min(next, lane.next());
  return next;
}

std::uint64_t MeshNetwork::awaited() const {
  std::uint64_t sum = 0;
  for (const auto& lane : requests_) sum += lane.awaited();
  for (const auto& lane : replies_) sum += lane.awaited();
  return sum;
}

bool MeshNetwork::drained() const {
  const auto is_drained = [](const auto& lane) { return lane.drained(); };
  return std::all_of(requests_.begin(), requests_.end(), is_drained) &&
         std::all_of(replies_.begin(), replies_.end(), is_drained);
}

std::uint64_t MeshNetwork::progress() const {
  std::uint64_t sum = 0;
  for (const auto& lane : requests_) sum += lane.progress();
  for (const auto& lane : replies_) sum += lane.progress();
  return sum;
}

std::string MeshNetwork::describe() const {
  constexpr std::array kLanes = {"", " of CPU cores"};
  std::string text;
  for (std::size_t lane = 0; lane < requests_.size(); ++lane) {
    for (const auto& [way, what] : {std::pair{std::string("requests"), requests_[lane].describe()},
                                    std::pair{std::string("replies"), replies_[lane].describe()}}) {
      if (!what.empty()) text += fmt::format("mesh of {}{}:\n{}", way, kLanes[lane], what);
    }
  }
  return text;
}

}  // namespace gpumux::machine
