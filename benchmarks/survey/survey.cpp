// kayiran14/sp: host program of survey propagation with decimation.
#include "benchmarks/survey/survey.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "benchmarks/common.hpp"
#include "benchmarks/host_flags.hpp"
#include "embedded/survey.ptx.hpp"

namespace gpumux::benchmarks::survey {

Formula formula_of(std::vector<std::uint32_t> literals, std::uint32_t variables) {
  Formula formula{std::move(literals), {}, {}};
  formula.first.assign(variables + std::size_t{1}, 0);
  for (const std::uint32_t literal : formula.literals) ++formula.first[literal / 2 + 1];
  std::partial_sum(formula.first.begin(), formula.first.end(), formula.first.begin());
  std::vector<std::uint32_t> next(formula.first.begin(), formula.first.end() - 1);
  formula.places.resize(formula.literals.size());
  for (std::uint32_t place = 0; place < formula.literals.size(); ++place)
    formula.places[next[formula.literals[place] / 2]++] = place;
  return formula;
}

Formula random_formula(std::uint32_t variables, std::uint32_t clauses, Random& random) {
  std::vector<std::uint32_t> literals;
  for (std::uint32_t clause = 0; clause < clauses; ++clause) {
    std::array<std::uint32_t, 3> chosen{};
    for (std::size_t p = 0; p < 3; ++p) {
      do chosen[p] = random.below(variables);
      while (std::find(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(p), chosen[p]) !=
             chosen.begin() + static_cast<std::ptrdiff_t>(p));
      literals.push_back(2 * chosen[p] + random.below(2));
    }
  }
  return formula_of(std::move(literals), variables);
}

namespace {

/// The chances that no clause forces `variable` to be true, and that no clause forces it to be false. Place
/// `except` is not counted.
std::pair<float, float> quiet(const Formula& formula, const std::vector<float>& eta, std::uint32_t variable,
                              std::uint32_t except) {
  float to_true = 1, to_false = 1;
  for (std::uint32_t i = formula.first[variable]; i < formula.first[variable + 1]; ++i) {
    const std::uint32_t place = formula.places[i];
    if (place == except) continue;
    float& chance = formula.literals[place] % 2 == 0 ? to_true : to_false;
    chance *= 1.0F - eta[place];
  }
  return {to_true, to_false};
}

}  // namespace

bool update(const Formula& formula, const State& state, float epsilon, std::vector<float>& next) {
  bool settled = true;
  next.resize(formula.literals.size());
  for (std::uint32_t clause = 0; clause < formula.clauses(); ++clause) {
    std::array<float, 3> unwilling{1, 1, 1};
    std::array<bool, 3> free{};
    bool satisfied = false;
    for (std::uint32_t p = 0; p < 3; ++p) {
      const std::uint32_t place = 3 * clause + p, literal = formula.literals[place];
      const bool positive = literal % 2 == 0;
      free[p] = state.assigned[literal / 2] == 0;
      if (!free[p]) {
        satisfied = satisfied || (state.assigned[literal / 2] > 0) == positive;
        continue;
      }
      const auto [to_true, to_false] = quiet(formula, state.eta, literal / 2, place);
      const float same = positive ? to_true : to_false, opposite = positive ? to_false : to_true;
      const float forced_against = (1.0F - opposite) * same;
      const float forced_for = (1.0F - same) * opposite;
      const float sum = forced_against + forced_for + same * opposite;
      unwilling[p] = sum > 0 ? forced_against / sum : 0.0F;
    }
    for (std::uint32_t p = 0; p < 3; ++p) {
      float survey = unwilling[(p + 1) % 3] * unwilling[(p + 2) % 3];
      if (satisfied || !free[p]) survey = 0;
      settled = settled && !(std::abs(survey - state.eta[3 * clause + p]) > epsilon);
      next[3 * clause + p] = survey;
    }
  }
  return settled;
}

float weigh(const Formula& formula, State& state) {
  constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
  state.bias.assign(formula.variables(), 0.0F);
  float largest = 0;
  for (std::uint32_t v = 0; v < formula.variables(); ++v) {
    if (state.assigned[v] != 0) continue;
    const auto [no_true, no_false] = quiet(formula, state.eta, v, kNoPlace);
    const float to_true = (1.0F - no_true) * no_false, to_false = (1.0F - no_false) * no_true;
    const float sum = to_true + to_false + no_true * no_false;
    if (sum > 0) state.bias[v] = (to_true - to_false) / sum;
    largest = std::max(largest, std::abs(state.bias[v]));
  }
  return largest;
}

State reference(const Formula& formula, const std::vector<float>& eta, const Limits& limits) {
  State state{eta, {}, std::vector<std::int32_t>(formula.variables())};
  std::vector<float> next;
  for (std::uint32_t round = 0; round < limits.decimations; ++round) {
    bool settled = false;
    for (std::uint32_t i = 0; i < limits.iterations && !settled; ++i) {
      settled = update(formula, state, limits.epsilon, next);
      state.eta.swap(next);
    }
    const float largest = weigh(formula, state);
    if (largest < kIndifferent) break;
    for (std::uint32_t v = 0; v < formula.variables(); ++v)
      if (state.assigned[v] == 0 && std::abs(state.bias[v]) >= limits.share * largest)
        state.assigned[v] = state.bias[v] > 0 ? 1 : -1;
  }
  return state;
}

namespace {

constexpr const char* kName = "kayiran14/sp";
constexpr const char* kFile = "benchmarks/survey/survey.ptx";
constexpr std::uint32_t kThreads = 256;
constexpr float kShare = 0.9F;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"variables", 10000, 3, 200'000, "variables of the formula"},
      {"clauses", 42000, 1, 1'000'000, "clauses of three literals; at most 1000 for each variable"},
      {"decimations", 100, 1, 1000, "how often variables are assigned, at most"},
      {"iterations", 1000, 1, 10000, "updates of the surveys before each, at most"},
      {"epsilon", 10, 0, 1000, "thousandths; surveys have settled when none changes by more"},
  };
  return table;
}

struct Sizes {
  std::uint32_t variables;
  std::uint32_t clauses;
  Limits limits;
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("variables"),
                    params.get("clauses"),
                    {params.get("decimations"), params.get("iterations"),
                     static_cast<float>(params.get("epsilon")) / 1000.0F, kShare}};
  params.require(
      sizes.clauses / 1000 <= sizes.variables,
      fmt::format("clauses={} must be at most 1000 times variables={}", sizes.clauses, sizes.variables));
  return sizes;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

class SurveyPropagation final : public runtime::Application {
 public:
  SurveyPropagation(const Sizes& sizes, std::uint64_t seed)
      : limits_(sizes.limits), inputs_([this, sizes, seed] {
          Random random(seed);
          formula_ = random_formula(sizes.variables, sizes.clauses, random);
          eta_ = random_floats(random, formula_.literals.size(), 0.0F, 1.0F);
        }) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    inputs_.make();
    const std::uint32_t module = host.load_module(embedded::survey_ptx, kFile);
    const std::uint32_t variables = formula_.variables(), clauses = formula_.clauses();
    const auto literals = upload(host, formula_.literals), first = upload(host, formula_.first);
    const auto places = upload(host, formula_.places);
    auto eta = upload(host, eta_);
    auto next = host.malloc<float>(eta_.size());
    const auto bias = host.malloc<float>(variables);
    const auto assigned = host.malloc<std::int32_t>(variables);
    const auto unsettled = host.malloc<std::uint32_t>(1), most = host.malloc<std::uint32_t>(1);
    host.fill(assigned.address, 0, variables * sizeof(std::int32_t), 0);
    const runtime::LaunchSpec by_clause{.grid = {blocks_for(clauses, kThreads)}, .block = {kThreads}};
    const runtime::LaunchSpec by_variable{.grid = {blocks_for(variables, kThreads)}, .block = {kThreads}};
    std::vector<std::uint32_t> word(1);
    for (std::uint32_t round = 0; round < limits_.decimations; ++round) {
      word[0] = 1;
      for (std::uint32_t i = 0; i < limits_.iterations && word[0] != 0; ++i) {
        host.fill(unsettled.address, 0, sizeof(std::uint32_t), 0);
        host.launch(module, "sp_survey", by_clause, literals, first, places, assigned, eta, next, unsettled,
                    limits_.epsilon, clauses);
        host.from_device(word, unsettled);
        co_await host.synchronize();
        check_at_most("sp: unsettled", word[0], 1U);
        std::swap(eta, next);
      }
      host.fill(most.address, 0, sizeof(std::uint32_t), 0);
      host.launch(module, "sp_bias", by_variable, literals, first, places, assigned, eta, bias, most,
                  variables);
      host.from_device(word, most);
      co_await host.synchronize();
      const auto largest = std::bit_cast<float>(word[0]);
      check_at_most("sp: largest bias", largest, 1.0F);
      if (largest < kIndifferent) break;
      host.launch(module, "sp_decimate", by_variable, bias, assigned, limits_.share * largest, variables);
    }
    State result{std::vector<float>(eta_.size()), std::vector<float>(variables),
                 std::vector<std::int32_t>(variables)};
    host.from_device(result.assigned, assigned);
    if (verify) {
      host.from_device(result.eta, eta);
      host.from_device(result.bias, bias);
    }
    co_await host.synchronize();
    if (verify) {
      if (expected_.eta.empty()) expected_ = reference(formula_, eta_, limits_);
      check_equal("sp: eta", bits_of(result.eta), bits_of(expected_.eta));
      check_equal("sp: bias", bits_of(result.bias), bits_of(expected_.bias));
      check_equal("sp: assigned", result.assigned, expected_.assigned);
    }
    for (const auto array : {literals, first, places, unsettled, most}) host.free(array);
    for (const auto array : {eta, next, bias}) host.free(array);
    host.free(assigned);
  }

 private:
  template <typename T>
  static runtime::DevicePtr<T> upload(runtime::Host& host, const std::vector<T>& values) {
    const auto array = host.malloc<T>(values.size());
    host.to_device(array, values);
    return array;
  }

  Limits limits_;
  InputsOfFirstRun inputs_;
  Formula formula_;
  std::vector<float> eta_;
  State expected_;  // computed by the first verified run
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "survey propagation with decimation on a random 3-SAT formula (LonestarGPU SP)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::survey_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Sizes sizes = read_sizes(values);
      const Dim3 by_variable{blocks_for(sizes.variables, kThreads)};
      return {{"sp_survey", {blocks_for(sizes.clauses, kThreads)}, {kThreads}},
              {"sp_bias", by_variable, {kThreads}},
              {"sp_decimate", by_variable, {kThreads}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<SurveyPropagation>(read_sizes(values), seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::survey
