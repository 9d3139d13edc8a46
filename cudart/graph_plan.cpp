#include "graph_plan.hpp"

#include <algorithm>

#include "launch.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr int kUndefined = 1;  // no valid priority

int priority_of(StreamHandle stream) {
  const auto found = streams().find(stream);
  return found == streams().end() ? 0 : found->second.priority;
}

}  // namespace

Error Plan::make(const Graph& graph) {
  steps_.clear();
  words_.clear();
  std::vector<std::size_t> ends;
  if (!append(graph, {}, ends)) return Error::InvalidValue;
  objects_ = std::make_unique<UserObjects>(graph.objects);
  choose_lanes();
  find_memory();
  for (Step& step : steps_) {
    const auto* const condition = std::get_if<ConditionContent>(&step.of.content);
    if (condition == nullptr) continue;
    for (const auto& body : condition->bodies) {
      if (body->has_memory_nodes()) return not_supported("memory nodes in a conditional node");
      step.bodies.push_back(std::make_unique<Plan>(flags_, true));
      if (const Error error = step.bodies.back()->make(*body); error != Error::Success) return error;
      const std::vector<ConditionWord>& inner = step.bodies.back()->words_;
      words_.insert(words_.end(), inner.begin(), inner.end());
    }
  }
  return Error::Success;
}

void Plan::find_memory() {
  memory_ = {};
  std::map<std::shared_ptr<GraphRange>, int> open;  // allocations minus frees
  for (const Step& step : steps_) {
    if (const auto* const made = std::get_if<AllocationContent>(&step.of.content)) {
      const auto same = [&](const GraphMemoryUse::Allocated& of) { return of.range == made->range; };
      if (std::ranges::none_of(memory_.allocated, same)) memory_.allocated.push_back({made->range});
      ++open[made->range];
    } else if (const auto* const freed = std::get_if<FreeContent>(&step.of.content)) {
      --open[range_at(freed->pointer)];
    }
  }
  for (GraphMemoryUse::Allocated& of : memory_.allocated) of.left = open[of.range] > 0;
  for (const Step& step : steps_) {
    const auto* const freed = std::get_if<FreeContent>(&step.of.content);
    if (freed != nullptr && open[range_at(freed->pointer)] < 0) memory_.freed.push_back(freed->pointer);
  }
}

/// Appends the graph's steps after the steps `behind`. `ends` receives the last steps of the graph. Returns
/// false for a graph with cycles.
bool Plan::append(const Graph& graph, const std::vector<std::size_t>& behind,
                  std::vector<std::size_t>& ends) {
  words_.insert(words_.end(), graph.words.begin(), graph.words.end());
  std::map<const Node*, std::vector<std::size_t>> done;  // by node: the steps on which its successors depend
  const auto join = [](std::vector<std::size_t>& to, const std::vector<std::size_t>& more) {
    for (const std::size_t step : more)
      if (std::ranges::find(to, step) == to.end()) to.push_back(step);
  };
  while (done.size() < graph.nodes.size()) {
    const std::size_t before = done.size();
    for (const auto& node : graph.nodes) {
      const bool ready = std::ranges::all_of(node->after, [&](Node* d) { return done.contains(d); });
      if (!ready || done.contains(node.get())) continue;
      std::vector<std::size_t> after = node->after.empty() ? behind : std::vector<std::size_t>();
      for (Node* const d : node->after) join(after, done.at(d));
      if (const auto* const child = std::get_if<ChildContent>(&node->of.content)) {
        std::vector<std::size_t> of_child;
        if (!append(*child->graph, after, of_child)) return false;
        done.emplace(node.get(), std::move(of_child));
        continue;
      }
      done.emplace(node.get(), std::vector{steps_.size()});
      Step step;
      step.node = node.get();
      step.of = node->of;
      step.after = std::move(after);
      steps_.push_back(std::move(step));
    }
    if (done.size() == before) return false;
  }
  std::set<const Node*> followed;
  for (const auto& node : graph.nodes) followed.insert(node->after.begin(), node->after.end());
  for (const auto& node : graph.nodes)
    if (!followed.contains(node.get())) join(ends, done.at(node.get()));
  if (graph.nodes.empty()) ends = behind;
  return true;
}

/// A step continues the lane of a predecessor, if no other step does. Otherwise it gets a new lane.
void Plan::choose_lanes() {
  lanes_ = 1;
  constexpr std::size_t kNobody = ~std::size_t{0};
  std::vector<std::size_t> last = {kNobody};  // last step by lane
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const auto open = std::ranges::find_if(
        step.after, [&](std::size_t before) { return last[steps_[before].lane] == before; });
    if (open != step.after.end()) {
      step.lane = steps_[*open].lane;
    } else if (last[kMain] == kNobody) {
      step.lane = kMain;
    } else {
      step.lane = lanes_++;
      last.push_back(kNobody);
    }
    for (const std::size_t before : step.after) {
      if (steps_[before].lane == step.lane) continue;
      step.events.push_back(before);
      steps_[before].others_wait = true;
    }
    last[step.lane] = i;
  }
  for (std::size_t lane = 1; lane < lanes_; ++lane) steps_[last[lane]].others_wait = true;
}

Plan::~Plan() { give_up_streams(); }

void Plan::give_up_streams() {
  for (StreamHandle stream : streams_) destroy_stream(stream);
  if (own_stream_ != nullptr) destroy_stream(own_stream_);
  for (EventHandle event : events_) destroy_event(event);
  streams_.clear();
  events_.clear();
  own_stream_ = nullptr;
}

std::uint32_t Plan::stream_of(std::size_t lane, std::uint32_t main) const {
  return lane == kMain ? main : stream_number(streams_[lane - 1]);
}

Error Plan::ensure_streams(int priority) {
  Error error = Error::Success;
  if (of_body_ && own_stream_ == nullptr) error = create_stream(&own_stream_, kNonBlocking, priority, true);
  while (error == Error::Success && streams_.size() + 1 < lanes_) {
    streams_.push_back(nullptr);
    error = create_stream(&streams_.back(), kNonBlocking, priority, of_body_);
    if (error != Error::Success) streams_.pop_back();
  }
  while (error == Error::Success && events_.size() < steps_.size() + 1) {
    events_.push_back(nullptr);
    error = create_event(&events_.back(), 0, of_body_);
    if (error != Error::Success) events_.pop_back();
  }
  for (StreamHandle stream : streams_)
    if (error == Error::Success) error = set_priority(stream, priority);
  if (error == Error::Success && own_stream_ != nullptr) error = set_priority(own_stream_, priority);
  return error;
}

Error Plan::assign_words(std::uint32_t stream) const {
  constexpr std::uint64_t kBytes = 4;
  for (const ConditionWord& word : words_) {
    if (!word.assigned) continue;
    const program::FillArguments fill{word.handle, kBytes, 1, kBytes, word.first, kBytes, stream};
    if (const Error error = Session::get().call(Call::Fill, fill); error != Error::Success) return error;
  }
  return Error::Success;
}

Error Plan::enqueue_condition(const Step& step, std::uint32_t stream) const {
  const auto& of = std::get<ConditionContent>(step.of.content);
  std::vector<std::uint32_t> numbers;
  for (const auto& body : step.bodies) numbers.push_back(body->body_);
  return Session::get().call(Call::EnqueueCondition,
                             program::EnqueueConditionArguments{of.handle, of.kind, stream},
                             std::as_bytes(std::span(numbers)));
}

Error Plan::enqueue(const Step& step, std::uint32_t stream) {
  if (!step.enabled) return Error::Success;
  if (const auto* const kernel = std::get_if<KernelContent>(&step.of.content)) {
    const bool own = (flags_ & kNodePriority) != 0;
    return cudart::enqueue(*kernel, stream, own ? kernel->priority : program::kStreamsPriority);
  }
  if (step.of.type == NodeType::Conditional) return enqueue_condition(step, stream);
  return step.of.work ? step.of.work(stream) : Error::Success;
}

Error Plan::enqueue_steps(std::uint32_t main) {
  Error error = Error::Success;
  EventHandle const begin = events_[steps_.size()];
  if (lanes_ > 1) {
    error = record_event(begin, main);
    for (std::size_t lane = 1; lane < lanes_ && error == Error::Success; ++lane)
      error = wait_for_event(stream_of(lane, main), begin);
  }
  for (std::size_t i = 0; i < steps_.size() && error == Error::Success; ++i) {
    const Step& step = steps_[i];
    const std::uint32_t stream = stream_of(step.lane, main);
    for (const std::size_t before : step.events)
      if (error == Error::Success) error = wait_for_event(stream, events_[before]);
    if (error == Error::Success) error = enqueue(step, stream);
    if (error == Error::Success && step.others_wait) error = record_event(events_[i], stream);
  }
  for (std::size_t i = 0; i < steps_.size() && error == Error::Success; ++i)
    if (steps_[i].others_wait && steps_[i].lane != kMain) error = wait_for_event(main, events_[i]);
  return error;
}

Error Plan::define(int priority) {
  give_up_streams();  // streams of the body's previous definition
  if (const Error error = ensure_streams(priority); error != Error::Success) return error;
  if (const Error error = define_bodies(priority); error != Error::Success) return error;
  Error error = Session::get().call(Call::BeginBody, program::Nothing{});
  if (error != Error::Success) return error;
  error = enqueue_steps(stream_number(own_stream_));
  program::BodyNumber made{};
  const Error ended = Session::get().call(Call::EndBody, program::Nothing{}, &made);
  body_ = made.body;
  return error == Error::Success ? ended : error;
}

Error Plan::define_bodies(int priority) {
  for (Step& step : steps_) {
    for (const auto& body : step.bodies) {
      if (body->defined_priority_ == priority) continue;
      if (const Error error = body->define(priority); error != Error::Success) return error;
      body->defined_priority_ = priority;
    }
  }
  return Error::Success;
}

Error Plan::launch(StreamHandle stream, bool per_thread) {
  const std::uint32_t main = stream_number(stream, per_thread);
  const int priority = priority_of(stream);
  Error error = ensure_streams(priority);
  if (error == Error::Success) error = define_bodies(priority);
  if (error == Error::Success && end_ == nullptr) end_ = make_graph_event(error);
  if (error != Error::Success) return error;
  // Launches of one plan do not overlap.
  if (last_stream_ != ~0U && last_stream_ != main) error = wait_for_event(main, end_.get());
  if (error == Error::Success) error = take_memory(memory_, main, (flags_ & kAutoFree) != 0, end_);
  if (error == Error::Success) error = assign_words(main);
  if (error == Error::Success) error = enqueue_steps(main);
  if (error == Error::Success) error = record_event(end_.get(), main);
  last_stream_ = main;
  return error;
}

std::shared_ptr<Graph> Plan::as_graph() const {
  auto graph = std::make_shared<Graph>();
  std::vector<Node*> nodes;
  for (const Step& step : steps_) {
    std::vector<Node*> after;
    for (const std::size_t before : step.after) after.push_back(nodes[before]);
    nodes.push_back(graph->add(step.enabled ? step.of : NodeWork{}, std::move(after)));
    auto* const condition = std::get_if<ConditionContent>(&nodes.back()->of.content);
    for (std::size_t i = 0; condition != nullptr && i < step.bodies.size(); ++i) {
      condition->bodies[i] = step.bodies[i]->as_graph();
      condition->handles[i] = condition->bodies[i].get();
    }
  }
  // words_ includes the words of the bodies' graphs.
  graph->words = words_;
  return graph;
}

Plan::Step* Plan::step_of(const void* node) {
  for (Step& step : steps_)
    if (step.node == node) return &step;
  return nullptr;
}

Error Plan::set(const void* node, NodeWork of) {
  Step* const step = step_of(node);
  if (step != nullptr) {
    if (step->of.type != of.type) return Error::InvalidValue;
    if (auto* const kernel = std::get_if<KernelContent>(&of.content)) {
      const auto& before = std::get<KernelContent>(step->of.content);
      kernel->priority = before.priority;
      kernel->launch.cooperative = before.launch.cooperative;
    }
    step->of = std::move(of);
    return Error::Success;
  }
  for (Step& each : steps_) {
    for (const auto& body : each.bodies) {
      const Error error = body->set(node, of);
      if (error != Error::Success) continue;
      for (const auto& all : each.bodies) all->defined_priority_ = kUndefined;
      return error;
    }
  }
  return Error::InvalidValue;
}

Plan::Update Plan::compare(const Plan& before, const Plan& now) {
  constexpr int kTopologyChanged = 2;
  constexpr int kTypeChanged = 3;
  constexpr int kParametersChanged = 5;
  for (std::size_t i = 0; i < std::min(before.steps_.size(), now.steps_.size()); ++i) {
    const Step& was = before.steps_[i];
    const Step& is = now.steps_[i];
    if (was.of.type != is.of.type) return {kTypeChanged, is.node, nullptr};
    if (was.after != is.after)
      return {kTopologyChanged, is.node, is.after.empty() ? nullptr : now.steps_[is.after.front()].node};
    if (const auto* const old = std::get_if<AllocationContent>(&was.of.content)) {
      if (old->node.bytes != std::get<AllocationContent>(is.of.content).node.bytes)
        return {kParametersChanged, is.node, nullptr};
    } else if (const auto* const condition = std::get_if<ConditionContent>(&was.of.content)) {
      const auto& other = std::get<ConditionContent>(is.of.content);
      if (condition->kind != other.kind || was.bodies.size() != is.bodies.size())
        return {kParametersChanged, is.node, nullptr};
      for (std::size_t body = 0; body < was.bodies.size(); ++body)
        if (const Update inner = compare(*was.bodies[body], *is.bodies[body]); inner.result != 0)
          return inner;
    }
  }
  if (before.steps_.size() != now.steps_.size()) return {kTopologyChanged, nullptr, nullptr};
  return {};
}

Plan::Update Plan::update(const Graph& graph) {
  constexpr int kError = 1;
  Plan now(flags_, of_body_);
  if (now.make(graph) != Error::Success) return {kError, nullptr, nullptr};
  const Update result = compare(*this, now);
  if (result.result != 0) return result;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    now.steps_[i].node = steps_[i].node;  // the program knows the step by this node
    now.steps_[i].enabled = steps_[i].enabled;
  }
  steps_ = std::move(now.steps_);
  words_ = std::move(now.words_);
  std::swap(objects_, now.objects_);
  memory_ = std::move(now.memory_);
  return result;
}

}  // namespace gpumux::cudart
