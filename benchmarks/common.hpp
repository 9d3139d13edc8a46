// Parameters that are checked against the application's table, and random inputs. All host programs of the
// built-in applications use them. tolerance.hpp has the comparison of results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "benchmarks/tolerance.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {

/// Parameters of one application, checked against its table. create() and shapes() read them through this.
class Params {
 public:
  Params(std::string_view app, const std::vector<runtime::AppParamInfo>& table,
         const runtime::AppParams& values)
      : app_(app), table_(table), values_(values) {}

  /// The value of `name`, or its default if it is not set. Throws UserError if the value is out of range.
  [[nodiscard]] std::uint32_t get(const std::string& name) const {
    for (const runtime::AppParamInfo& param : table_) {
      if (param.name != name) continue;
      const auto at = values_.find(name);
      const std::int64_t value = at == values_.end() ? param.default_value : at->second;
      require(value >= param.minimum && value <= param.maximum,
              fmt::format("{}={} must be from {} to {}", name, value, param.minimum, param.maximum));
      return static_cast<std::uint32_t>(value);
    }
    throw InternalError(fmt::format("app {} has no parameter '{}'", app_, name));
  }
  /// Like get(), for a parameter that must be a multiple of `factor`.
  [[nodiscard]] std::uint32_t get_multiple(const std::string& name, std::uint32_t factor) const {
    const std::uint32_t value = get(name);
    require(value % factor == 0, fmt::format("{}={} must be a multiple of {}", name, value, factor));
    return value;
  }
  /// Throws UserError if the application's arrays take more memory than check_memory() allows.
  void require_memory(std::uint64_t bytes, std::uint64_t limit = kMostMemory) const {
    check_memory(app_, bytes, limit);
  }
  /// Throws UserError "app NAME: TEXT" if `condition` is false.
  void require(bool condition, const std::string& text) const {
    if (!condition) throw UserError(fmt::format("app {}: {}", app_, text));
  }

 private:
  std::string_view app_;
  const std::vector<runtime::AppParamInfo>& table_;
  const runtime::AppParams& values_;
};

/// Inputs that an application makes when it first runs, because planning a sweep creates applications that
/// never run.
class InputsOfFirstRun {
 public:
  explicit InputsOfFirstRun(std::function<void()> make) : make_(std::move(make)) {}
  void make() {
    if (make_) std::exchange(make_, nullptr)();
  }

 private:
  std::function<void()> make_;
};

/// `count` random floats, uniform in [low, high).
[[nodiscard]] inline std::vector<float> random_floats(Random& random, std::size_t count, float low,
                                                      float high) {
  std::vector<float> values(count);
  for (float& value : values) value = random.uniform(low, high);
  return values;
}

}  // namespace gpumux::benchmarks
