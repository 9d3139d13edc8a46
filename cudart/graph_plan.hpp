// An instantiated graph: its steps in an executable order.
#pragma once

#include <memory>
#include <vector>

#include "graph.hpp"
#include "graph_memory.hpp"

namespace gpumux::cudart {

/// An instantiated graph. A chain of nodes shares a lane, which is a stream. Other nodes have lanes of their
/// own, with events between them. Child graphs are part of the plan. Bodies of conditions have plans of their
/// own, whose lanes are not shared.
class Plan {
 public:
  struct Step {
    const Node* node = nullptr;  // node of the instantiated graph
    NodeWork of;
    std::size_t lane = kMain;
    std::vector<std::size_t> events;  // steps in other lanes that this one waits for
    bool others_wait = false;         // steps in other lanes, or the launch's end, wait for it
    std::vector<std::size_t> after;   // all steps that it depends on
    bool enabled = true;
    std::vector<std::unique_ptr<Plan>> bodies;
  };
  static constexpr std::size_t kMain = 0;  // stream of the launch
  static constexpr unsigned long long kAutoFree = 1;
  static constexpr unsigned long long kNodePriority = 8;

  explicit Plan(unsigned long long flags, bool of_body = false) : flags_(flags), of_body_(of_body) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Instantiates a graph. Returns InvalidValue if its dependencies have a cycle.
  Error make(const Graph& graph);
  Error launch(StreamHandle stream, bool per_thread);
  /// Sends new or changed bodies of conditions to gpumux.
  Error define_bodies(int priority);

  [[nodiscard]] Step* step_of(const void* node);
  /// Replaces the content of a node's step.
  Error set(const void* node, NodeWork of);
  /// Adopts the parameters of another graph, which must have equal nodes and dependencies otherwise.
  struct Update {
    int result = 0;  // cudaGraphExecUpdateResult
    const Node* node = nullptr;
    const Node* from = nullptr;
  };
  Update update(const Graph& graph);
  /// An equivalent graph, to be the child graph of a node.
  [[nodiscard]] std::shared_ptr<Graph> as_graph() const;
  [[nodiscard]] bool has_memory() const { return !memory_.allocated.empty() || !memory_.freed.empty(); }
  [[nodiscard]] unsigned long long flags() const { return flags_; }

 private:
  bool append(const Graph& graph, const std::vector<std::size_t>& behind, std::vector<std::size_t>& ends);
  void choose_lanes();
  void find_memory();
  Error ensure_streams(int priority);
  void give_up_streams();
  Error enqueue_steps(std::uint32_t main);
  Error enqueue(const Step& step, std::uint32_t stream);
  Error enqueue_condition(const Step& step, std::uint32_t stream) const;
  Error assign_words(std::uint32_t stream) const;
  [[nodiscard]] std::uint32_t stream_of(std::size_t lane, std::uint32_t main) const;
  Error define(int priority);
  static Update compare(const Plan& before, const Plan& now);

  unsigned long long flags_;
  bool of_body_;
  std::vector<Step> steps_;
  std::size_t lanes_ = 1;
  std::vector<StreamHandle> streams_;  // lanes after kMain; for a body, the last one is kMain's
  std::vector<EventHandle> events_;    // by step; the last one is the start of the launch
  std::vector<ConditionWord> words_;
  std::unique_ptr<UserObjects> objects_;
  GraphMemoryUse memory_;
  GraphEvent end_;  // end of the last launch
  std::uint32_t last_stream_ = ~0U;
  // Only for the plan of a body.
  StreamHandle own_stream_ = nullptr;
  std::uint32_t body_ = 0;
  int defined_priority_ = 1;  // no valid priority: not defined yet
};

}  // namespace gpumux::cudart
