#include "machine/mechanisms.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace gpumux::machine {

using policy::RunningKernel;

Mechanisms::Mechanisms(policy::Control& machine, std::unique_ptr<policy::Policy> policy,
                       std::unique_ptr<policy::CoreControl> cores,
                       std::unique_ptr<policy::ConcurrencyControl> concurrency,
                       std::unique_ptr<policy::BlockScheduler> blocks, const arch::MemoryScheme& memory,
                       std::vector<std::shared_ptr<policy::Observer>> observers, Cycle window,
                       std::string choice)
    : machine_(machine),
      choice_(std::move(choice)),
      policy_(std::move(policy)),
      cores_(std::move(cores)),
      concurrency_(std::move(concurrency)),
      blocks_(std::move(blocks)),
      observers_(std::move(observers)),
      memory_scheme_(memory),
      memory_(memory) {
  const policy::Needs of_cores = cores_ ? cores_->needs(machine) : policy::Needs{};
  for (const policy::Needs& needs : {policy_->needs(machine), of_cores, blocks_->needs(machine)}) {
    memory_scheme_.on_demand = memory_scheme_.on_demand || needs.memory_limits;
    memory_scheme_.ways_on_demand = memory_scheme_.ways_on_demand || needs.l1_ways;
  }
  seats_.reserve(5);
  if (memory_scheme_.on()) seats_.emplace_back(machine, memory_);
  seats_.emplace_back(machine, *policy_);
  if (cores_) seats_.emplace_back(machine, *cores_);
  if (concurrency_) seats_.emplace_back(machine, *concurrency_);
  seats_.emplace_back(machine, *blocks_);
  for (const Seat& seat : seats_) {
    if (seat.needs_.epoch != 0 && seat.needs_.epoch < window)
      throw UserError(fmt::format(
          "an epoch of {} cycles is shorter than a window: parts of {} meet every {} cycles (noc.latency)",
          seat.needs_.epoch, machine.config().name, window));
  }
  ask_needs();
}

void Mechanisms::Seat::ask_needs() {
  const policy::Needs needs = mechanism_.needs(*this);
  GPUMUX_CHECK(needs.epoch == needs_.epoch);  // the epoch must not change during a run
  needs_ = needs;
}

void Mechanisms::ask_needs() {
  needs_ = {.kernel_ends = false};
  for (Seat& seat : seats_) {
    seat.ask_needs();
    needs_.windows = needs_.windows || seat.needs_.windows;
    needs_.triggers = needs_.triggers || seat.needs_.triggers;
    needs_.block_ends = needs_.block_ends || seat.needs_.block_ends;
    needs_.block_stops = needs_.block_stops || seat.needs_.block_stops;
    needs_.block_drops = needs_.block_drops || seat.needs_.block_drops;
    needs_.notices = needs_.notices || seat.needs_.notices;
    needs_.idempotence = needs_.idempotence || seat.needs_.idempotence;
    needs_.dispatch_ends = needs_.dispatch_ends || seat.needs_.dispatch_ends;
    needs_.kernel_ends = needs_.kernel_ends || seat.needs_.kernel_ends;
  }
}

std::uint32_t Mechanisms::most_sms(AppId app) const {
  const arch::MachineConfig& config = machine_.config();
  const std::uint32_t sms = policy_->most_sms(config, app);
  return cores_ ? std::min(sms, cores_->most_sms(config)) : sms;
}

Cycle Mechanisms::patience() const {
  constexpr Cycle kLeast = 500'000;
  Cycle patience = std::max(kLeast, policy_->longest_wait(machine_));
  for (const Seat& seat : seats_) patience = std::max(patience, 2 * seat.needs_.epoch);
  return patience;
}

Cycle Mechanisms::next_moment(Cycle now) const {
  Cycle next = kNever;
  for (const Seat& seat : seats_) next = std::min({next, seat.next_epoch_, std::max(seat.alarm_, now + 1)});
  return next;
}

bool Mechanisms::none_to_come() const {
  return std::all_of(seats_.begin(), seats_.end(),
                     [](const Seat& seat) { return std::min(seat.next_epoch_, seat.alarm_) == kNever; });
}

bool Mechanisms::is_due(Cycle now) const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [now](const Seat& seat) { return now >= std::min(seat.next_epoch_, seat.alarm_); });
}

bool Mechanisms::run_due(Cycle now) {
  bool epoch = false;
  const Seat* last = nullptr;
  for (Seat& seat : seats_) {
    for (; now >= seat.next_epoch_; seat.next_epoch_ += seat.needs_.epoch) {
      seat.mechanism_.epoch_ended(seat);
      epoch = true;
      last = &seat;
    }
  }
  if (epoch) ask_needs();
  bool alarm = false;
  for (Seat& seat : seats_) {
    while (now >= seat.alarm_) {
      seat.alarm_ = kNever;
      seat.mechanism_.alarm(seat);
      alarm = true;
      last = std::max(last, static_cast<const Seat*>(&seat));
    }
  }
  if (alarm) ask_needs();
  return last == &seats_.back();
}

bool Mechanisms::window_ended() {
  if (!needs_.windows) return false;
  for (Seat& seat : seats_)
    if (seat.needs_.windows) seat.mechanism_.window_ended(seat);
  return seats_.back().needs_.windows;
}

bool Mechanisms::triggered(SmId sm, const arch::Fired& fired) {
  for (Seat& seat : seats_)
    if (seat.needs_.triggers) seat.mechanism_.triggered(seat, sm, fired);
  return seats_.back().needs_.triggers;
}

Cycle Mechanisms::next_sample() const {
  Cycle next = kNever;
  for (const auto& observer : observers_) next = std::min(next, observer->next_sample());
  return next;
}

void Mechanisms::sample(Cycle now) {
  for (const auto& observer : observers_)
    if (observer->next_sample() <= now) observer->sample(machine_);
}

void Mechanisms::kernel_arrived(const RunningKernel& kernel, const policy::Launch& launch) {
  for (const auto& observer : observers_) observer->kernel_arrived(machine_, kernel, launch);
  for (Seat& seat : seats_) seat.mechanism_.kernel_arrived(seat, kernel);
  ask_needs();
}

void Mechanisms::kernel_fully_dispatched(const RunningKernel& kernel) {
  for (Seat& seat : seats_)
    if (seat.needs_.dispatch_ends) seat.mechanism_.kernel_fully_dispatched(seat, kernel);
}

void Mechanisms::kernel_ended(const RunningKernel& kernel) {
  for (const auto& observer : observers_) observer->kernel_ended(machine_, kernel);
  for (Seat& seat : seats_)
    if (seat.needs_.kernel_ends) seat.mechanism_.kernel_ended(seat, kernel);
  ask_needs();
}

void Mechanisms::block_began(const RunningKernel& kernel, std::uint64_t index,
                             const policy::BlockPlace& place, Cycle begin) {
  for (const auto& observer : observers_) observer->block_began(machine_, kernel, index, place, begin);
}

void Mechanisms::block_ended(const RunningKernel& kernel, const policy::BlockPlace& place, Cycle end) {
  for (const auto& observer : observers_) observer->block_ended(machine_, kernel, place, end);
  for (Seat& seat : seats_)
    if (seat.needs_.block_ends) seat.mechanism_.block_ended(seat, kernel, place.sm);
}

void Mechanisms::block_left(const RunningKernel& kernel, const policy::BlockPlace& place, Cycle end) {
  for (const auto& observer : observers_) observer->block_left(machine_, kernel, place, end);
  for (Seat& seat : seats_)
    if (seat.needs_.block_stops) seat.mechanism_.block_left(seat, kernel, place.sm);
}

void Mechanisms::run_ended() {
  for (const auto& observer : observers_) observer->run_ended(machine_);
}

policy::Report Mechanisms::report() const {
  policy::Report report = policy_->report(machine_);
  const auto add = [&](const policy::Report& more) {
    report.numbers.insert(report.numbers.end(), more.numbers.begin(), more.numbers.end());
    report.curves.insert(report.curves.end(), more.curves.begin(), more.curves.end());
  };
  if (cores_) add(cores_->report(machine_));
  if (concurrency_) add(concurrency_->report(machine_));
  add(blocks_->report(machine_));
  return report;
}

}  // namespace gpumux::machine
