#include "ptx/liveness.hpp"

#include <algorithm>

namespace gpumux::ptx {

Liveness::Liveness(const FlowGraph& graph, const RegisterSpace& space)
    : space_(space),
      in_(graph.blocks.size(), BitSet(space.size())),
      out_(graph.blocks.size(), BitSet(space.size())) {
  std::vector<BlockId> order = reverse_post_order(graph);
  std::reverse(order.begin(), order.end());
  const auto before = predecessors(graph);
  std::vector<BitSet> generated(graph.blocks.size(), BitSet(space.size()));
  std::vector<BitSet> killed(graph.blocks.size(), BitSet(space.size()));
  for (const BlockId id : order) {
    for (const isa::Instruction& inst : graph.blocks[id].code) {
      for_each_use(inst, [&](const isa::Operand& operand) {
        if (!killed[id].test(space.index(operand))) generated[id].set(space.index(operand));
      });
      if (!keeps_old_value(inst)) {
        for_each_def(inst, [&](const isa::Operand& operand) { killed[id].set(space.index(operand)); });
      }
    }
    in_[id] = generated[id];
  }
  std::vector<bool> queued(graph.blocks.size(), false);
  std::vector<BlockId> work(order.rbegin(), order.rend());
  for (const BlockId id : order) queued[id] = true;
  while (!work.empty()) {
    const BlockId id = work.back();
    work.pop_back();
    queued[id] = false;
    for (const BlockId target : successors(graph, id)) out_[id].merge(in_[target]);
    bool changed = false;
    out_[id].for_each([&](std::uint32_t reg) {
      if (!killed[id].test(reg) && !in_[id].test(reg)) {
        in_[id].set(reg);
        changed = true;
      }
    });
    if (!changed) continue;
    for (const BlockId from : before[id]) {
      if (!queued[from]) {
        queued[from] = true;
        work.push_back(from);
      }
    }
  }
}

}  // namespace gpumux::ptx
