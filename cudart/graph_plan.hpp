// What instantiation makes of a graph: steps in an order in which they can be done.
#pragma once

#include <memory>
#include <vector>

#include "graph.hpp"
#include "graph_memory.hpp"

namespace gpumux::cudart {

/// Nodes of which one follows the other share a lane, a stream; others have lanes of their own, and events
/// between them. Child graphs are part of it; bodies of conditions have plans of their own, whose lanes
/// nobody else uses.
class Plan {
 public:
  struct Step {
    const Node* node = nullptr;  // of the graph that it was made of
    NodeWork of;
    std::size_t lane = kMain;
    std::vector<std::size_t> events;  // steps in other lanes that it waits for
    bool others_wait = false;         // steps in other lanes, or the end of the launch
    std::vector<std::size_t> after;   // all that it depends on
    bool enabled = true;
    std::vector<std::unique_ptr<Plan>> bodies;
  };
  static constexpr std::size_t kMain = 0;  // the stream of the launch
  static constexpr unsigned long long kAutoFree = 1;
  static constexpr unsigned long long kNodePriority = 8;

  explicit Plan(unsigned long long flags, bool of_body = false) : flags_(flags), of_body_(of_body) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// InvalidValue: nodes depend on each other in a circle.
  Error make(const Graph& graph);
  Error launch(StreamHandle stream, bool per_thread);
  /// Lets the bodies of conditions be known to gpumux, if they have changed.
  Error define_bodies(int priority);

  [[nodiscard]] Step* step_of(const void* node);
  /// Gives the step of a node what was described instead.
  Error set(const void* node, NodeWork of);
  /// Makes it as one of another graph, whose nodes say the same but for their parameters.
  struct Update {
    int result = 0;  // cudaGraphExecUpdateResult
    const Node* node = nullptr;
    const Node* from = nullptr;
  };
  Update update(const Graph& graph);
  /// A graph that does the same, for a node of another.
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
  std::vector<StreamHandle> streams_;  // of lanes behind kMain; of a body, kMain's at the end
  std::vector<EventHandle> events_;    // of steps; the last one is the launch's begin
  std::vector<ConditionWord> words_;
  std::unique_ptr<UserObjects> objects_;
  GraphMemoryUse memory_;
  GraphEvent end_;  // of the last launch
  std::uint32_t last_stream_ = ~0U;
  // Of a body.
  StreamHandle own_stream_ = nullptr;
  std::uint32_t body_ = 0;
  int defined_priority_ = 1;  // none that there is: it is to be defined
};

}  // namespace gpumux::cudart
