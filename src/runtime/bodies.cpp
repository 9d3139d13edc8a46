// Bodies (recorded work) and conditions, which decide how often a body runs.
#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/context.hpp"

namespace gpumux::runtime {
namespace {

/// Limit of iterations of a loop in one cycle. Without it, a loop whose body takes no time and never changes
/// its condition would not end.
constexpr std::uint64_t kMostInACycle = 1U << 20U;

}  // namespace

void Context::begin_body() {
  if (described_) throw UserError(fmt::format("app {}: a body begins within another", name_));
  described_.emplace();
  acting_ = static_cast<Owner>(bodies_.size());
}

BodyId Context::end_body() {
  if (!described_) throw UserError(fmt::format("app {}: a body ends that did not begin", name_));
  bodies_.push_back(std::move(*described_));
  described_.reset();
  acting_ = kHost;
  return static_cast<BodyId>(bodies_.size() - 1);
}

Context::Stream& Context::enter(StreamId id) {
  Stream& s = stream(id);
  if (described_ && !s.used && id != 0) s.owner = acting_;
  if (s.owner != acting_)
    throw UserError(fmt::format("app {}: stream {} is used inside and outside of a body", name_, id));
  s.used = true;
  return s;
}

void Context::enter_event(EventId id) {
  (void)event(id);
  Event& of = events_[id];
  if (described_ && !of.used) of.owner = acting_;
  if (of.owner != acting_)
    throw UserError(fmt::format("app {}: event {} is used inside and outside of a body", name_, id));
  of.used = true;
}

bool Context::keeps(StreamId id, std::function<void()> call) {
  if (!described_) return false;
  (void)enter(id);
  if (std::find(described_->streams.begin(), described_->streams.end(), id) == described_->streams.end())
    described_->streams.push_back(id);
  described_->calls.push_back(std::move(call));
  return true;
}

void Context::refuse_in_body(const char* what) const {
  if (described_) throw UserError(fmt::format("app {}: a body cannot have {}", name_, what));
}

void Context::enqueue_condition(const Condition& condition, StreamId on) {
  for (const BodyId id : condition.bodies) {
    if (id >= bodies_.size()) throw UserError(fmt::format("app {}: body {} does not exist", name_, id));
    const std::vector<StreamId>& its = bodies_[id].streams;
    if (std::find(its.begin(), its.end(), on) != its.end())
      throw UserError(fmt::format("app {}: a condition in stream {}, which is its body's", name_, on));
  }
  if (keeps(on, [=, this] { enqueue_condition(condition, on); })) return;
  Decision decision{condition, {}};
  decision.textures_time = textures_time();
  enter(on).queue.emplace_back(std::move(decision));
}

bool Context::is_idle(const Body& body) const {
  return std::all_of(body.streams.begin(), body.streams.end(),
                     [&](StreamId id) { return is_idle(WaitFor::What::Stream, id); });
}

std::optional<BodyId> Context::decided(const Condition& condition) const {
  std::uint32_t word = 0;
  memory_->read(condition.word, std::as_writable_bytes(std::span(&word, 1)));
  const std::size_t chosen = condition.kind == Condition::Kind::Switch ? word : word == 0 ? 1 : 0;
  if (chosen >= condition.bodies.size()) return std::nullopt;
  return condition.bodies[chosen];
}

bool Context::decide(Decision& decision, bool& began) {
  if (decision.under_way) {
    if (!is_idle(bodies_[*decision.under_way])) return false;
    decision.under_way.reset();
    if (decision.condition.kind != Condition::Kind::While) return true;
  }
  const std::optional<BodyId> id = decided(decision.condition);
  if (!id) return true;
  const Body& body = bodies_[*id];
  if (!is_idle(body)) return false;  // another condition is running this body
  decision.begun = decision.since == device_.now() ? decision.begun + 1 : 0;
  decision.since = device_.now();
  if (decision.begun > kMostInACycle)
    throw SimulationFault(fmt::format(
        "error: a graph's loop is endless: its body takes no time, and does not change the condition"));
  decision.under_way = id;
  acting_ = *id;
  body_textures_time_ = decision.textures_time;
  for (const std::function<void()>& call : body.calls) call();
  body_textures_time_.reset();
  acting_ = kHost;
  began = true;
  return false;
}

}  // namespace gpumux::runtime
