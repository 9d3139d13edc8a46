// Orders, dominators, post-dominators and loops of a control-flow graph. Dominators: Cooper, Harvey and
// Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
#include <algorithm>
#include <utility>

#include "ptx/flow.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;

std::vector<BlockId> successors(const FlowGraph& graph, BlockId id) {
  const Block& block = graph.blocks[id];
  std::vector<BlockId> result;
  if (block.next != kNoBlock) result.push_back(block.next);
  const auto add = [&](BlockId target) {
    if (std::find(result.begin(), result.end(), target) == result.end()) result.push_back(target);
  };
  if (!block.code.empty()) {
    const Instruction& last = block.code.back();
    if (last.op == Opcode::Bra) add(last.target);
    if (last.op == Opcode::BrxIdx) {
      for (const BlockId target : graph.branch_tables[last.call]) add(target);
    }
  }
  return result;
}

std::vector<std::vector<BlockId>> predecessors(const FlowGraph& graph) {
  std::vector<std::vector<BlockId>> result(graph.blocks.size());
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    for (const BlockId target : successors(graph, id)) result[target].push_back(id);
  }
  return result;
}

namespace {

using Edges = std::vector<std::vector<BlockId>>;

/// Post order of the blocks reachable from `root`. Iterative, so that long chains of blocks cannot overflow
/// the host's stack.
std::vector<BlockId> post_order(const Edges& edges, BlockId root) {
  std::vector<BlockId> result;
  std::vector<bool> seen(edges.size(), false);
  std::vector<std::pair<BlockId, std::size_t>> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    auto& [id, index] = stack.back();
    if (index < edges[id].size()) {
      const BlockId target = edges[id][index++];
      if (!seen[target]) {
        seen[target] = true;
        stack.emplace_back(target, 0);
      }
    } else {
      result.push_back(id);
      stack.pop_back();
    }
  }
  return result;
}

std::vector<BlockId> dominator_tree(const Edges& forward, const Edges& backward, BlockId root) {
  const std::vector<BlockId> post = post_order(forward, root);
  std::vector<std::uint32_t> number(forward.size(), 0);
  for (std::uint32_t i = 0; i < post.size(); ++i) number[post[i]] = i;
  std::vector<BlockId> idom(forward.size(), kNoBlock);
  idom[root] = root;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = post.rbegin(); it != post.rend(); ++it) {
      if (*it == root) continue;
      BlockId best = kNoBlock;
      for (BlockId from : backward[*it]) {
        if (idom[from] == kNoBlock) continue;
        if (best == kNoBlock) {
          best = from;
          continue;
        }
        while (best != from) {
          while (number[best] < number[from]) best = idom[best];
          while (number[from] < number[best]) from = idom[from];
        }
      }
      if (idom[*it] != best) {
        idom[*it] = best;
        changed = true;
      }
    }
  }
  idom[root] = kNoBlock;
  return idom;
}

Edges forward_edges(const FlowGraph& graph) {
  Edges edges(graph.blocks.size());
  for (BlockId id = 0; id < graph.blocks.size(); ++id) edges[id] = successors(graph, id);
  return edges;
}

}  // namespace

std::vector<BlockId> reverse_post_order(const FlowGraph& graph) {
  std::vector<BlockId> order = post_order(forward_edges(graph), 0);
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<BlockId> immediate_dominators(const FlowGraph& graph) {
  return dominator_tree(forward_edges(graph), predecessors(graph), 0);
}

bool dominates(const std::vector<BlockId>& idom, BlockId above, BlockId below) {
  while (below != above && below != kNoBlock) below = idom[below];
  return below == above;
}

std::vector<BlockId> immediate_post_dominators(const FlowGraph& graph) {
  const std::size_t count = graph.blocks.size();
  const BlockId exit = static_cast<BlockId>(count);
  const Edges forward = forward_edges(graph);
  // The reversed graph, whose root is a virtual exit.
  Edges from_exit(count + 1);
  for (BlockId id = 0; id < count; ++id) {
    for (const BlockId target : forward[id]) from_exit[target].push_back(id);
  }
  for (BlockId id = 0; id < count; ++id) {
    const auto& code = graph.blocks[id].code;
    if (graph.blocks[id].next == kNoBlock && !code.empty() && code.back().op != Opcode::Trap &&
        code.back().op != Opcode::BrxIdx) {
      from_exit[exit].push_back(id);
    }
  }
  std::vector<bool> ends(count + 1, false);  // blocks from which a regular end can be reached
  for (const BlockId id : post_order(from_exit, exit)) ends[id] = true;
  // A guarded exit removes lanes without a branch, so it is no edge, unless it is the only way out of a loop.
  // Post order gives a loop its edge before the blocks that lead to it, for which the loop then has an end.
  for (const BlockId id : post_order(forward, 0)) {
    const auto& code = graph.blocks[id].code;
    const bool leaves = std::any_of(code.begin(), code.end(), [](const Instruction& inst) {
      return inst.guard && (inst.op == Opcode::Exit || inst.op == Opcode::Ret);
    });
    if (ends[id] || !leaves) continue;
    from_exit[exit].push_back(id);
    for (const BlockId block : post_order(from_exit, id)) ends[block] = true;
  }
  // Edges into the part that traps or never ends are dropped, because its lanes never join the others.
  for (BlockId id = 0; id < count; ++id) {
    if (ends[id]) continue;
    auto& edges = from_exit[id];
    edges.erase(std::remove_if(edges.begin(), edges.end(), [&](BlockId from) { return ends[from]; }),
                edges.end());
  }
  // This part gets its own ends: first traps, then the last block of each region that still reaches none.
  std::vector<bool> seen = ends;
  const auto root_at = [&](BlockId id) {
    from_exit[exit].push_back(id);
    for (const BlockId block : post_order(from_exit, id)) seen[block] = true;
  };
  for (BlockId id = 0; id < count; ++id) {
    if (!seen[id] && forward[id].empty()) root_at(id);
  }
  for (BlockId id = exit; id-- > 0;) {
    if (!seen[id]) root_at(id);
  }
  Edges to_exit(count + 1);
  for (BlockId id = 0; id <= exit; ++id) {
    for (const BlockId from : from_exit[id]) to_exit[from].push_back(id);
  }
  std::vector<BlockId> result = dominator_tree(from_exit, to_exit, exit);
  result.pop_back();
  for (BlockId& id : result) {
    if (id == exit) id = kNoBlock;
  }
  return result;
}

std::vector<Loop> natural_loops(const FlowGraph& graph) {
  const std::vector<BlockId> idom = immediate_dominators(graph);
  const auto before = predecessors(graph);
  std::vector<Loop> loops;
  for (const BlockId header : reverse_post_order(graph)) {
    Loop loop;
    loop.header = header;
    for (const BlockId from : before[header]) {
      if (dominates(idom, header, from)) loop.latches.push_back(from);
    }
    if (loop.latches.empty()) continue;
    std::vector<bool> inside(graph.blocks.size(), false);
    inside[header] = true;
    std::vector<BlockId> work = loop.latches;
    while (!work.empty()) {
      const BlockId id = work.back();
      work.pop_back();
      if (inside[id]) continue;
      inside[id] = true;
      work.insert(work.end(), before[id].begin(), before[id].end());
    }
    for (BlockId id = 0; id < graph.blocks.size(); ++id) {
      if (inside[id]) loop.blocks.push_back(id);
    }
    loops.push_back(std::move(loop));
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.blocks.size() < b.blocks.size(); });
  return loops;
}

std::vector<std::uint32_t> loop_depths(const FlowGraph& graph) {
  std::vector<std::uint32_t> depth(graph.blocks.size(), 0);
  for (const Loop& loop : natural_loops(graph)) {
    for (const BlockId id : loop.blocks) ++depth[id];
  }
  return depth;
}

}  // namespace gpumux::ptx
