// Calls of Server for bodies and conditions (runtime::Condition).
#include <algorithm>
#include <cstring>

#include "program/server.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint32_t kWordBytes = 4;

/// The arguments of a request. All zero if their size is wrong.
template <class Arguments>
Arguments said(const Request& request) {
  Arguments value{};
  if (request.arguments.size() == sizeof(value)) std::memcpy(&value, request.arguments.data(), sizeof(value));
  return value;
}

}  // namespace

/// True if the call can be part of a body: work in a stream of the body for which the host does not wait.
bool Server::is_possible_in_body() const {
  const auto is_of_body = [&](std::uint32_t stream) {
    return stream < streams_.size() && streams_[stream].of_body && !streams_[stream].blocking;
  };
  const auto concerns_event = [&] {
    const auto of = said<EventInStream>(request_);
    return is_of_body(of.stream) && of.event < events_.size() && events_[of.event].of_body;
  };
  switch (request_.call) {
    case Call::Launch: return is_of_body(said<LaunchArguments>(request_).stream);
    case Call::Fill: return is_of_body(said<FillArguments>(request_).stream);
    case Call::Transfer: {
      const auto of = said<TransferArguments>(request_);
      return is_of_body(of.stream) && of.blocking == 0 && of.staged == 0;
    }
    case Call::CopyBox: {
      const auto of = said<CopyBoxArguments>(request_);
      const bool staged = of.side == BoxSide::Sent || of.side == BoxSide::Answered;
      return is_of_body(of.stream) && of.blocking == 0 && !staged;
    }
    case Call::RecordEvent:
    case Call::StreamWaitsForEvent: return concerns_event();
    case Call::EnqueueCondition: return is_of_body(said<EnqueueConditionArguments>(request_).stream);
    case Call::EndBody: return true;
    default: return false;
  }
}

void Server::begin_body() {
  host_.begin_body();
  in_body_ = true;
}

void Server::end_body() {
  if (!in_body_) return fail(Error::InvalidValue);
  in_body_ = false;
  result(BodyNumber{host_.end_body()});
  ++bodies_;
}

void Server::enqueue_condition() {
  const auto of = arguments<EnqueueConditionArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  runtime::Condition condition;
  switch (of.kind) {
    case ConditionKind::If: condition.kind = runtime::Condition::Kind::If; break;
    case ConditionKind::While: condition.kind = runtime::Condition::Kind::While; break;
    case ConditionKind::Switch: condition.kind = runtime::Condition::Kind::Switch; break;
    default: return fail(Error::InvalidValue);
  }
  condition.word = of.word;
  if (request_.tail.size() < sizeof(runtime::BodyId)) return fail(Error::InvalidValue);
  condition.bodies.resize(request_.tail.size() / sizeof(runtime::BodyId));
  std::memcpy(condition.bodies.data(), request_.tail.data(),
              condition.bodies.size() * sizeof(runtime::BodyId));
  const bool exist =
      std::ranges::all_of(condition.bodies, [&](runtime::BodyId body) { return body < bodies_; });
  if (!exist || of.word % kWordBytes != 0 || !host_.memory().valid(of.word, kWordBytes))
    return fail(Error::InvalidValue);
  host_.enqueue_condition(condition, enter(*on));
}

}  // namespace gpumux::program
