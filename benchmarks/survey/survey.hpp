// survey: formulas and the CPU reference, apart from the host program so that tests can call them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::survey {

/// A 3-SAT formula as a factor graph: places 3 c to 3 c + 2 are the literals of clause c, twice a variable,
/// plus one if it is negated; places[first[v]] to places[first[v + 1] - 1] are those of variable v.
struct Formula {
  std::vector<std::uint32_t> literals;
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> places;
  [[nodiscard]] std::uint32_t clauses() const { return static_cast<std::uint32_t>(literals.size() / 3); }
  [[nodiscard]] std::uint32_t variables() const { return static_cast<std::uint32_t>(first.size() - 1); }
};

/// The formula of these literals.
[[nodiscard]] Formula formula_of(std::vector<std::uint32_t> literals, std::uint32_t variables);

/// Each clause has three different variables, drawn at random, half of them negated; `variables` is at
/// least 3.
[[nodiscard]] Formula random_formula(std::uint32_t variables, std::uint32_t clauses, Random& random);

/// How far a search goes.
struct Limits {
  std::uint32_t decimations;  // how often variables are assigned
  std::uint32_t iterations;   // of surveys before each, if they do not settle
  float epsilon;              // surveys have settled when none changes by more
  float share;                // of the largest bias: variables with as much are assigned
};

/// Below this bias no variable is assigned: surveys say nothing any more.
inline constexpr float kIndifferent = 0.01F;

struct State {
  std::vector<float> eta;              // surveys by place
  std::vector<float> bias;             // by variable: how much more often it is forced to be true than false
  std::vector<std::int32_t> assigned;  // by variable: 0 is free
};

/// New surveys of all clauses from those in state.eta (`next`); whether none changes by more than epsilon.
[[nodiscard]] bool update(const Formula& formula, const State& state, float epsilon,
                          std::vector<float>& next);

/// state.bias from the surveys; the largest magnitude.
float weigh(const Formula& formula, State& state);

/// The search from the surveys `eta`: float operations in the order of the kernels, so that the result is
/// theirs bit by bit.
[[nodiscard]] State reference(const Formula& formula, const std::vector<float>& eta, const Limits& limits);

}  // namespace gpumux::benchmarks::survey
