#include "reproduce/claims.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "experiment/toml_reader.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {
namespace {

using experiment::TomlReader;

constexpr std::array<std::string_view, 6> kBounds = {"", "~", "<", "<=", ">", ">="};

/// The value that means "no difference" in a unit that compares; nothing for other units.
std::optional<double> no_effect_of(const std::string& unit) {
  if (unit == "ratio" || unit == "x") return 1.0;
  if (unit == "percent of baseline") return 100.0;
  for (const char* change : {"percent improvement", "percent increase", "percent reduction", "percent loss",
                             "percent higher", "percent more cases"}) {
    if (unit == change) return 0.0;
  }
  return std::nullopt;
}

/// The whole in a unit that is a share of something; nothing for other units.
std::optional<double> most_of(const std::string& unit) {
  for (const char* share :
       {"percent", "percent of preemptions", "percent of run time", "percent reduction", "percent loss"}) {
    if (unit == share) return 100.0;
  }
  return std::nullopt;
}

class ClaimsReader {
 public:
  ClaimsReader(const TomlReader& toml, PaperClaims& paper) : toml_(toml), paper_(paper) {}

  void read(const toml::table& root) {
    paper_.paper = required(root, "paper", nullptr);
    paper_.title = required(root, "title", nullptr);
    for (const auto& [key, node] : root) {
      toml_.check_key(key, {"paper", "title", "claim", "trend", "benchmark", "unanswered"}, "key");
      if (key == "claim") each(node, "claim", [this](const toml::table& t) { claim(t); });
      if (key == "trend") each(node, "trend", [this](const toml::table& t) { trend(t); });
      if (key == "unanswered") each(node, "unanswered", [this](const toml::table& t) { unanswered(t); });
      if (key == "benchmark") each(node, "benchmark", [this](const toml::table& t) { benchmark(t); });
    }
    check_unanswered();
  }

 private:
  template <typename Take>
  void each(const toml::node& node, const char* key, const Take& take) {
    if (!node.is_array()) toml_.fail(node, fmt::format("'{}' must be a list of tables: [[{}]]", key, key));
    for (const toml::node& part : *node.as_array()) {
      if (!part.is_table()) toml_.fail(part, fmt::format("each '{}' must be a table: [[{}]]", key, key));
      take(*part.as_table());
    }
  }
  /// A text that the table must have. `within`: the table's name for errors; null: the file.
  [[nodiscard]] std::string required(const toml::table& table, const char* key, const char* within) const {
    const toml::node* node = table.get(key);
    if (node == nullptr && within == nullptr) throw UserError({toml_.file()}, fmt::format("needs '{}'", key));
    if (node == nullptr) toml_.fail(table, fmt::format("[[{}]] needs '{}'", within, key));
    std::string text = toml_.text(*node, key);
    if (text.empty()) toml_.fail(*node, fmt::format("'{}' is empty", key));
    return text;
  }
  [[nodiscard]] double number(const toml::node& node, const char* key) const {
    const std::optional<double> value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value)) {
      toml_.fail(node, fmt::format("'{}' must be a number", key));
    }
    return *value;
  }
  [[nodiscard]] std::string id(const toml::table& table, const char* within) {
    std::string id = required(table, "id", within);
    if (!id.starts_with(paper_.paper + ".")) {
      toml_.fail(*table.get("id"), fmt::format("'{}' must begin with the paper: '{}.'", id, paper_.paper));
    }
    if (!ids_.insert(id).second) toml_.fail(*table.get("id"), fmt::format("there are two '{}'", id));
    return id;
  }

  void setup(const toml::node& node, Claim& claim) const {
    if (!node.is_table()) toml_.fail(node, "'setup' must be a table: {machine = \"...\", kernels = 2}");
    for (const auto& [key, value] : *node.as_table()) {
      toml_.check_key(key, {"machine", "baseline", "workloads", "kernels"}, "key of 'setup'");
      if (key == "machine") claim.machine = toml_.text(value, "machine");
      if (key == "baseline") claim.baseline = toml_.text(value, "baseline");
      if (key == "workloads") claim.workloads = toml_.text(value, "workloads");
      if (key == "kernels") claim.kernels = toml_.whole(value, "kernels", 1);
    }
  }

  void claim(const toml::table& table) {
    static const std::vector<std::string> kKinds = {"result",        "motivation", "characterization",
                                                    "estimate",      "cost",       "derived",
                                                    "derived bound", "bound",      "cited"};
    Claim claim;
    claim.id = id(table, "claim");
    claim.source = required(table, "source", "claim");
    claim.metric = required(table, "metric", "claim");
    claim.what = required(table, "what", "claim");
    claim.unit = required(table, "unit", "claim");
    claim.kind = required(table, "kind", "claim");
    if (std::find(kKinds.begin(), kKinds.end(), claim.kind) == kKinds.end()) {
      toml_.fail(*table.get("kind"), unknown_choice("kind", claim.kind, kKinds));
    }
    if (table.get("value") == nullptr) toml_.fail(table, "[[claim]] needs 'value'");
    claim.no_effect = no_effect_of(claim.unit);
    claim.most = most_of(claim.unit);
    for (const auto& [key, node] : table) {
      toml_.check_key(key,
                      {"id", "source", "metric", "what", "setup", "value", "bound", "unit", "better",
                       "no_effect", "most", "kind", "headline", "note"},
                      "key in [[claim]]");
      if (key == "setup") setup(node, claim);
      if (key == "value") claim.value = number(node, "value");
      if (key == "no_effect") claim.no_effect = number(node, "no_effect");
      if (key == "most") claim.most = number(node, "most");
      if (key == "bound") {
        const auto* const found = std::find(kBounds.begin() + 1, kBounds.end(), toml_.text(node, "bound"));
        if (found == kBounds.end()) toml_.fail(node, "'bound' must be ~, <, <=, > or >=");
        claim.bound = static_cast<Bound>(found - kBounds.begin());
      }
      if (key == "better") {
        const std::string text = toml_.text(node, "better");
        if (text != "higher" && text != "lower") {
          toml_.fail(node, "'better' must be \"higher\" or \"lower\"; leave it out where neither is");
        }
        claim.better = text == "higher" ? Better::Higher : Better::Lower;
      }
      if (key == "headline") {
        if (!node.is_boolean()) toml_.fail(node, "'headline' must be true or false");
        claim.headline = node.as_boolean()->get();
      }
      if (key == "note") claim.note = toml_.text(node, "note");
    }
    paper_.claims.push_back(std::move(claim));
  }

  void trend(const toml::table& table) {
    for (const auto& [key, node] : table) {
      toml_.check_key(key, {"id", "source", "relation", "what"}, "key in [[trend]]");
    }
    paper_.trends.push_back({id(table, "trend"), required(table, "source", "trend"),
                             required(table, "relation", "trend"), required(table, "what", "trend")});
  }

  void unanswered(const toml::table& table) {
    for (const auto& [key, node] : table) {
      toml_.check_key(key, {"id", "why"}, "key in [[unanswered]]");
    }
    const std::string id = required(table, "id", "unanswered");
    if (!paper_.unanswered.emplace(id, required(table, "why", "unanswered")).second) {
      toml_.fail(*table.get("id"), fmt::format("'{}' is listed twice", id));
    }
    places_.emplace_back(id, table.get("id"));
  }
  /// Checks that ids of [[unanswered]] exist, after everything is read, because keys may have any order.
  void check_unanswered() const {
    for (const auto& [id, node] : places_) {
      if (paper_.find_claim(id) == nullptr && paper_.find_trend(id) == nullptr) {
        toml_.fail(*node, fmt::format("{} has no claim and no trend '{}'", paper_.paper, id));
      }
    }
  }

  /// Reads a row of a table, with any columns. Expressions can use the numbers.
  void benchmark(const toml::table& table) {
    const std::string of = required(table, "table", "benchmark");
    const std::string name = required(table, "name", "benchmark");
    const std::string row = fmt::format("benchmark.{}.{}.", identifier(of), identifier(name));
    if (!ids_.insert(row).second) toml_.fail(table, "there are two rows of this 'table' and 'name'");
    TableRow& cells = paper_.rows[{of, name}];
    for (const auto& [key, node] : table) {
      if (node.is_table())
        toml_.fail(node, "a column must be a number, a text, true or false, or a list of texts");
      const std::string column(key.str());
      if (node.is_number())
        cells[column] = paper_.benchmarks[row + identifier(column)] = number(node, "column");
      if (node.is_boolean()) cells[column] = node.as_boolean()->get();
      if (node.is_string()) cells[column] = node.as_string()->get();
      if (node.is_array()) (void)toml_.texts(node, column.c_str());
    }
  }

  const TomlReader& toml_;
  PaperClaims& paper_;
  std::set<std::string> ids_;
  std::vector<std::pair<std::string, const toml::node*>> places_;  // of [[unanswered]]
};

template <typename T>
const T* find_id(const std::vector<T>& list, std::string_view id) {
  for (const T& entry : list) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string_view bound_text(Bound bound) { return kBounds.at(static_cast<std::size_t>(bound)); }

const Claim* PaperClaims::find_claim(std::string_view id) const { return find_id(claims, id); }
const Trend* PaperClaims::find_trend(std::string_view id) const { return find_id(trends, id); }

PaperClaims parse_claims(std::string_view text, const std::string& path) {
  const TomlReader toml(path);
  PaperClaims paper;
  ClaimsReader(toml, paper).read(toml.parse(text));
  return paper;
}

}  // namespace gpumux::reproduce
