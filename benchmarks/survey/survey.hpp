// survey: formulas and the CPU reference. Tests call them, too.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::survey {

/// A 3-SAT formula as a factor graph. Places 3 c to 3 c + 2 are the literals of clause c: twice a variable,
/// plus 1 if it is negated. places[first[v]] to places[first[v + 1] - 1] are the places of variable v.
struct Formula {
  std::vector<std::uint32_t> literals;
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> places;
  [[nodiscard]] std::uint32_t clauses() const { return static_cast<std::uint32_t>(literals.size() / 3); }
  [[nodiscard]] std::uint32_t variables() const { return static_cast<std::uint32_t>(first.size() - 1); }
};

/// Makes the formula with these literals.
[[nodiscard]] Formula formula_of(std::vector<std::uint32_t> literals, std::uint32_t variables);

/// Makes a random formula. Each clause has three different variables, half of them negated. `variables` must
/// be at least 3.
[[nodiscard]] Formula random_formula(std::uint32_t variables, std::uint32_t clauses, Random& random);

/// Limits of a search.
struct Limits {
  std::uint32_t decimations;  // number of times that variables are assigned
  std::uint32_t iterations;   // most iterations before each decimation
  float epsilon;              // surveys have settled if none changes by more than this
  float share;                // variables with this part of the largest bias are assigned
};

/// Bias below which no variable is assigned, because the surveys carry no information any more.
inline constexpr float kIndifferent = 0.01F;

struct State {
  std::vector<float> eta;              // survey by place
  std::vector<float> bias;             // by variable: chance to be forced to be true minus to be false
  std::vector<std::int32_t> assigned;  // by variable: 0 if free, otherwise 1 or -1
};

/// Computes new surveys (`next`) of all clauses from state.eta. Returns true if no survey changes by more
/// than `epsilon`.
[[nodiscard]] bool update(const Formula& formula, const State& state, float epsilon,
                          std::vector<float>& next);

/// Computes state.bias from the surveys. Returns the largest magnitude of a bias.
float weigh(const Formula& formula, State& state);

/// A search that starts from the surveys `eta`. Its float operations have the kernels' order, so the results
/// are equal bit by bit.
[[nodiscard]] State reference(const Formula& formula, const std::vector<float>& eta, const Limits& limits);

}  // namespace gpumux::benchmarks::survey
