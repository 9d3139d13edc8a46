#include "ptx/definitions.hpp"

#include <utility>

namespace gpumux::ptx {

Definitions::Definitions(const FlowGraph& graph, const isa::Function& function)
    : graph_(graph),
      space_(function),
      value_(space_.size(), false),
      place_(space_.size()),
      uses_(space_.size(), 0),
      order_(reverse_post_order(graph)),
      idom_(immediate_dominators(graph)),
      enter_(graph.blocks.size(), 1),
      leave_(graph.blocks.size(), 0) {
  // Entry and exit times of a walk over the dominator tree.
  std::vector<std::vector<BlockId>> children(graph.blocks.size());
  for (const BlockId id : order_) {
    if (idom_[id] != kNoBlock) children[idom_[id]].push_back(id);
  }
  std::uint32_t clock = 0;
  std::vector<std::pair<BlockId, std::size_t>> stack{{0, 0}};
  enter_[0] = clock++;
  while (!stack.empty()) {
    auto& [id, next] = stack.back();
    if (next < children[id].size()) {
      const BlockId child = children[id][next++];
      enter_[child] = clock++;
      stack.emplace_back(child, 0);
    } else {
      leave_[id] = clock++;
      stack.pop_back();
    }
  }
  std::vector<std::uint32_t> count(space_.size(), 0);
  for (const BlockId id : order_) {
    const auto& code = graph.blocks[id].code;
    for (std::uint32_t i = 0; i < code.size(); ++i) {
      for_each_def(code[i], [&](const isa::Operand& dst) {
        const std::uint32_t reg = space_.index(dst);
        ++count[reg];
        value_[reg] = count[reg] == 1 && !code[i].guard;
        place_[reg] = {id, i};
      });
    }
  }
  for (const BlockId id : order_) {
    const auto& code = graph.blocks[id].code;
    for (std::uint32_t i = 0; i < code.size(); ++i) {
      for_each_use(code[i], [&](const isa::Operand& src) {
        const std::uint32_t reg = space_.index(src);
        ++uses_[reg];
        if (!value_[reg]) return;
        const Place& place = place_[reg];
        const bool before = place.block == id ? place.index < i : dominates(place.block, id);
        if (!before) value_[reg] = false;
      });
    }
  }
}

}  // namespace gpumux::ptx
