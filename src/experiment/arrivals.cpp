#include "experiment/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {

namespace {

constexpr std::uint32_t kHighestPriority = 1000;
constexpr double kMostPerSecond = 1e9;

[[noreturn]] void fail(std::string_view key, std::string_view value, std::string_view what) {
  throw UserError(fmt::format("{}={} must be {}", key, value, what));
}

arch::Duration duration(std::string_view key, std::string_view value) {
  const auto parsed = arch::parse_duration(value);
  if (!parsed) fail(key, value, arch::kDurationHelp);
  return *parsed;
}

std::vector<arch::Duration> read_times(const std::string& file, const std::string& folder) {
  const bool relative = !folder.empty() && !file.starts_with('/');
  const std::string path = relative ? (std::filesystem::path(folder) / file).string() : file;
  std::vector<arch::Duration> times;
  std::uint32_t number = 0;
  double last = 0;
  for (const std::string& line : split(read_file(path), '\n')) {
    ++number;
    const std::string_view text = trim(line);
    if (text.empty()) continue;
    const auto value = parse_double(text);
    if (!value || !(*value >= last) || *value > 1e9)
      throw UserError(SourceLocation{path, number, 1},
                      fmt::format("'{}' must be a time in us, not before the last", text));
    last = *value;
    times.push_back({*value, "us"});
  }
  if (times.empty()) throw UserError({path}, "has no times; write one a line, in us");
  return times;
}

void read_arrivals(ArrivalSpec& spec, std::string_view value, const std::string& folder) {
  constexpr std::string_view kPoisson = "poisson:";
  constexpr std::string_view kPerSecond = "/s";
  if (value.ends_with(".csv")) {
    spec.times = read_times(std::string(value), folder);
    return;
  }
  std::optional<double> rate;
  if (value.starts_with(kPoisson) && value.ends_with(kPerSecond))
    rate = parse_double(value.substr(kPoisson.size(), value.size() - kPoisson.size() - kPerSecond.size()));
  if (!rate || !(*rate > 0) || *rate > kMostPerSecond)
    fail("arrivals", value, "poisson:RATE/s, such as poisson:500/s, up to 10^9, or a FILE.csv of times");
  spec.poisson = *rate;
}

void read(ArrivalSpec& spec, std::string_view key, std::string_view value, const std::string& folder) {
  if (key == "at") spec.at = duration(key, value);
  if (key == "every") spec.every = duration(key, value);
  if (key == "deadline") spec.deadline = duration(key, value);
  if (key == "late") {
    if (value != "run" && value != "kill") fail(key, value, "run or kill");
    spec.kills_late = value == "kill";
  }
  if (key == "arrivals") read_arrivals(spec, value, folder);
  if (key == "goal") {
    spec.goal = parse_goal(value);
    if (!spec.goal) fail(key, value, kGoalHelp);
  }
  if (key == "priority") {
    const auto number = parse_uint(value);
    if (!number || *number < 1 || *number > kHighestPriority)
      fail(key, value, fmt::format("a whole number from 1 to {}, greater first", kHighestPriority));
    spec.priority = static_cast<std::uint32_t>(*number);
  }
}

/// The key of these settings that stands at `at`, followed by '='; empty: none.
std::string_view key_at(std::string_view text, std::size_t at) {
  for (const std::string_view key : kArrivalKeys)
    if (text.substr(at).starts_with(key) && text.substr(at + key.size()).starts_with('=')) return key;
  return {};
}

}  // namespace

std::pair<std::string, ArrivalSpec> split_arrivals(std::string_view text, const std::string& folder) {
  std::map<std::string, std::string> found;
  std::string rest(text.substr(0, text.find(':')));
  bool first = true;  // of the settings that remain
  for (std::size_t at = rest.size(); at < text.size();) {
    const std::string_view key = key_at(text, at + 1);
    // A setting ends at the next comma, or at a colon that starts the settings behind a file's name.
    std::size_t end = std::min(text.find(',', at + 1), text.size());
    if (key.empty()) {
      for (std::size_t colon = text.find(':', at + 1); colon < end; colon = text.find(':', colon + 1))
        if (!key_at(text, colon + 1).empty()) end = colon;
      if (text[at] == ':' || !first) {
        rest += text.substr(at, end - at);
      } else {  // it was behind a setting that was removed
        rest += ':';
        rest += text.substr(at + 1, end - at - 1);
      }
      first = false;
    } else {
      const std::string_view value = text.substr(at + 1 + key.size() + 1, end - at - 1 - key.size() - 1);
      if (!found.emplace(key, value).second) throw UserError(fmt::format("{}: {} is given twice", text, key));
    }
    at = end;
  }
  ArrivalSpec spec;
  if (const auto late = found.find("late"); late != found.end())
    read(spec, late->first, late->second, folder);
  for (const auto& [key, value] : found) {
    read(spec, key, value, folder);
    const bool changes_runs =
        key != "priority" && key != "goal" && ((key != "deadline" && key != "late") || spec.kills_late);
    std::string& to = changes_runs ? spec.times_text : spec.beside_text;
    to += fmt::format("{}{}={}", to.empty() ? "" : ",", key, value);
  }
  if (spec.kills_late && !spec.deadline)
    throw UserError(fmt::format("{}: late=kill needs a deadline, such as deadline=200us", text));
  if (spec.every && found.contains("arrivals"))
    throw UserError(fmt::format("{}: every= and arrivals= both say when requests arrive; give one", text));
  if (spec.at && !spec.times.empty())
    throw UserError(
        fmt::format("{}: at= and a file of times both say when the first request arrives; give one", text));
  for (const arch::Duration& time : spec.times)
    spec.times_text += fmt::format(";{}", time.amount);  // the content of the file
  return {rest, spec};
}

Requests::Requests(const ArrivalSpec& spec, const arch::MachineConfig& config, std::uint64_t seed)
    : continuous_(!spec.requests()), kills_late_(spec.kills_late), random_(seed) {
  if (spec.at) next_ = spec.at->cycles(config);
  if (spec.every) every_ = spec.every->cycles(config);
  if (spec.poisson) {
    mean_ = config.clocks.core * 1e6 / *spec.poisson;
    random_time_ = static_cast<double>(next_);
    next_ = after(next_);
  }
  for (const arch::Duration& time : spec.times) times_.push_back(time.amount == 0 ? 0 : time.cycles(config));
  if (!times_.empty()) next_ = after(0);
  if (spec.deadline) result_.deadline = spec.deadline->cycles(config);
  if (kills_late_) result_.killed = 0;
}

Cycle Requests::after(Cycle arrival) {
  if (every_ != 0) return arrival + every_;
  if (mean_ != 0) {
    // Exponential distribution; 1 - unit() is above 0.
    random_time_ += -std::log(1.0 - static_cast<double>(random_.unit())) * mean_;
    return static_cast<Cycle>(random_time_);
  }
  if (times_.empty()) return kNever;
  const Cycle next = times_.front();
  times_.pop_front();
  return next;
}

void Requests::take_arrivals(Cycle now) {
  while (next_ <= now) {
    waiting_.push_back(next_);
    ++result_.arrived;
    next_ = continuous_ ? kNever : after(next_);
  }
}

bool Requests::begin(Cycle now) {
  take_arrivals(now);
  while (kills_late_ && !continuous_ && !waiting_.empty() && now >= waiting_.front() + *result_.deadline) {
    waiting_.pop_front();
    ++result_.missed;
    ++*result_.killed;
  }
  if (running_ || waiting_.empty()) return false;
  running_ = waiting_.front();
  waiting_.pop_front();
  return true;
}

void Requests::end(Cycle now) {
  const Cycle turnaround = now - *running_;
  result_.turnaround.push_back(turnaround);
  if (result_.deadline && turnaround > *result_.deadline) ++result_.missed;
  running_.reset();
  if (continuous_) next_ = now;
}

void Requests::killed() {
  ++result_.missed;
  ++*result_.killed;
  const Cycle end = kill_at();
  running_.reset();
  if (continuous_) next_ = end;
}

RequestResult Requests::result(Cycle now) const {
  RequestResult result = result_;
  const auto late = [&](Cycle arrival) { return result.deadline && now - arrival > *result.deadline; };
  if (running_ && late(*running_)) ++result.missed;
  result.missed += static_cast<std::uint64_t>(std::count_if(waiting_.begin(), waiting_.end(), late));
  return result;
}

}  // namespace gpumux::experiment
