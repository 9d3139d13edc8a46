#include "graph_conditions.hpp"

namespace gpumux::cudart {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr std::size_t kWordsAtOnce = 1024;

/// Allocates a word of device memory for a condition. Words are never freed, because a destroyed graph may
/// still run.
Error make_word(std::uint64_t& address) {
  static std::uint64_t next = 0;
  static std::size_t left = 0;
  if (left == 0) {
    program::AllocateResult made{};
    const program::AllocateArguments arguments{kWordsAtOnce * kWordBytes, program::MemoryKind::Device};
    const Error error = Session::get().call(Call::Allocate, arguments, &made);
    if (error != Error::Success) return error;
    next = made.address;
    left = kWordsAtOnce;
  }
  address = next;
  next += kWordBytes;
  --left;
  return Error::Success;
}

}  // namespace

Error describe_condition(void* handle, ConditionNode& of, NodeWork& out) {
  constexpr int kIf = 0;
  constexpr int kWhile = 1;
  constexpr int kSwitch = 2;
  constexpr unsigned kMostBodies = 1U << 16U;
  const std::scoped_lock lock(Session::get().lock());
  if (graph_of(handle) == nullptr || of.handle == 0 || of.kind < kIf || of.kind > kSwitch)
    return Error::InvalidValue;
  const unsigned most = of.kind == kIf ? 2 : of.kind == kWhile ? 1 : kMostBodies;
  if (of.bodies == 0 || of.bodies > most) return Error::InvalidValue;
  out = {NodeType::Conditional, ConditionContent{}, {}};
  auto& made = std::get<ConditionContent>(out.content);
  made.handle = of.handle;
  made.kind = static_cast<program::ConditionKind>(of.kind);
  for (unsigned i = 0; i < of.bodies; ++i) {
    made.bodies.push_back(std::make_shared<Graph>());
    made.handles.push_back(made.bodies.back().get());
  }
  // The array of handles belongs to the node. The node is moved from `out`, which keeps the elements in
  // place.
  of.graphs = made.handles.data();
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGraphConditionalHandleCreate(std::uint64_t* made, void* handle, unsigned first,
                                                         unsigned flags) {
  constexpr unsigned kAssignDefault = 1;
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  if (graph == nullptr || made == nullptr || flags > kAssignDefault) return returned(Error::InvalidValue);
  if (const Error error = Session::get().connect(); error != Error::Success) return returned(error);
  ConditionWord word{0, first, flags == kAssignDefault};
  if (const Error error = make_word(word.handle); error != Error::Success) return returned(error);
  graph->words.push_back(word);
  *made = word.handle;
  return Error::Success;
}

}  // namespace gpumux::cudart
