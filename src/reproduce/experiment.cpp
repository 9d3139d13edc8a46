#include "reproduce/experiment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/located.hpp"
#include "base/text.hpp"
#include "reproduce/experiment_sweep.hpp"
#include "reproduce/quantity_reader.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {
namespace {

using experiment::TomlReader;

class ExperimentReader {
 public:
  ExperimentReader(const TomlReader& toml, Experiment& out, const Sources& sources)
      : toml_(toml), reader_(toml), out_(out), sources_(sources) {}

  void read(const toml::table& root, std::string_view text) {
    static const std::vector<std::string> kKeys = {"title",    "paper", "sweep", "classes",
                                                   "quantity", "claim", "trend"};
    for (const auto& [key, node] : root) toml_.check_key(key, kKeys, "key");
    out_.title = reader_.required(root, "title", "");
    if (const toml::node* node = root.get("paper")) {
      const std::string paper = reader_.text(*node, "paper");
      out_.paper = located(reader_.place(*node), [&] { return sources_.claims(paper); });
    }
    names_ = read_sweep(reader_, *root.get("sweep"), text, sources_, out_);
    if (const toml::node* node = root.get("classes")) classes(*node);
    each(root, "quantity", [this](const toml::table& t) { quantities_.read(t); });
    if (out_.quantities.empty()) throw UserError({toml_.file()}, "has no [[quantity]]");
    each(root, "claim", [this](const toml::table& t) { out_.claims.push_back(answer(t, "claim")); });
    each(root, "trend", [this](const toml::table& t) { out_.trends.push_back(answer(t, "trend")); });
  }

 private:
  template <typename Take>
  void each(const toml::table& root, const char* key, const Take& take) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) toml_.fail(*node, fmt::format("'{}' must be a list of tables: [[{}]]", key, key));
    for (const toml::node& part : *node->as_array()) {
      if (!part.is_table()) toml_.fail(part, fmt::format("each '{}' must be a table: [[{}]]", key, key));
      take(*part.as_table());
    }
  }

  void classes(const toml::node& node) {
    if (!node.is_table()) toml_.fail(node, "'classes' must be a table: [classes] with hotspot = \"C\"");
    for (const auto& [key, value] : *node.as_table()) {
      check_known(toml_.place(key.source()), "application", std::string(key.str()), names_.apps);
      const std::string text = toml_.text(value, "classes");
      if (text != "C" && text != "M") toml_.fail(value, "a class is \"C\" or \"M\"");
      out_.classes[std::string(key.str())] = text[0];
    }
  }

  [[nodiscard]] Answer answer(const toml::table& table, const char* kind) {
    const bool is_claim = std::string_view(kind) == "claim";
    const std::string within = fmt::format("[[{}]]", kind);
    const char* const how = is_claim ? "ours" : "holds";
    for (const auto& [key, node] : table) {
      std::vector<std::string> known = {"id", how, "scales", "note"};
      if (is_claim) known.emplace_back("beside");
      toml_.check_key(key, known, fmt::format("key in {}", within).c_str());
    }
    Answer answer;
    answer.where = reader_.place(table);
    answer.id = reader_.required(table, "id", within);
    const toml::node& id = *table.get("id");
    if (!out_.paper) toml_.fail(id, "speaks to a paper, but the file names none: paper = \"dai18\"");
    const bool exists = is_claim ? out_.paper->find_claim(answer.id) != nullptr
                                 : out_.paper->find_trend(answer.id) != nullptr;
    if (!exists) {
      std::vector<std::string> known;
      for (const Claim& claim : out_.paper->claims) {
        if (is_claim) known.push_back(claim.id);
      }
      for (const Trend& trend : out_.paper->trends) {
        if (!is_claim) known.push_back(trend.id);
      }
      const std::string near = nearest_choice(answer.id, known);
      toml_.fail(id, fmt::format("{} has no {} '{}'{}", out_.paper->paper, kind, answer.id,
                                 near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (out_.paper->unanswered.contains(answer.id)) {
      toml_.fail(id, fmt::format("the paper's claims list '{}' under [[unanswered]]", answer.id));
    }
    if (!answered_.insert(answer.id).second) toml_.fail(id, fmt::format("'{}' is answered twice", answer.id));
    (void)reader_.required(table, how, within);
    answer.ours = quantities_.of_quantities(*table.get(how), how);
    if (!is_claim && !answer.ours.is_condition()) {
      toml_.fail(*table.get(how), "'holds' must compare: \"a > b\", \"a ~ b and b < c\"");
    }
    if (const toml::node* node = table.get("beside")) {
      answer.beside = reader_.text(*node, "beside");
      std::vector<std::string> known;
      for (const Quantity& quantity : out_.quantities) known.push_back(quantity.name);
      if (std::find(known.begin(), known.end(), answer.beside) == known.end())
        toml_.fail(*node, unknown_choice("quantity", answer.beside, known));
    }
    if (const toml::node* node = table.get("scales")) {
      answer.scales = reader_.texts(*node, "scales");
      std::vector<std::string> known;
      for (const auto& [scale, file] : out_.scales) known.push_back(scale);
      for (const std::string& scale : answer.scales) check_known(reader_.place(*node), "scale", scale, known);
    }
    if (const toml::node* node = table.get("note")) answer.note = reader_.text(*node, "note");
    return answer;
  }

  const TomlReader& toml_;
  TemplateReader reader_;
  Experiment& out_;
  const Sources& sources_;
  SweepNames names_;
  QuantityReader quantities_{reader_, names_, out_};
  std::set<std::string> answered_;
};

}  // namespace

const sweep::SweepFile* Experiment::find_scale(std::string_view scale) const {
  for (const auto& [name, file] : scales) {
    if (name == scale) return &file;
  }
  return nullptr;
}

bool is_experiment(std::string_view text, const std::string& path) {
  return TomlReader(path).parse(text).contains("sweep");
}

Experiment parse_experiment(std::string_view text, const std::string& path, const std::string& id,
                            const Sources& sources) {
  const TomlReader toml(path);
  const toml::table root = toml.parse(text);
  if (!root.contains("sweep")) {
    throw UserError({path}, "is no experiment: it needs 'sweep', a table or the name of a sweep file");
  }
  Experiment out;
  out.id = id;
  out.path = path;
  ExperimentReader(toml, out, sources).read(root, text);
  return out;
}

}  // namespace gpumux::reproduce
