#include "reproduce/write_up.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sweep/run_hash.hpp"

namespace gpumux::reproduce {
namespace {

using nlohmann::ordered_json;

const std::string kNotAnswered = "no experiment answers it yet";

std::string paper_of(const std::string& id) { return id.substr(0, id.find('.')); }

/// Adds the paper's claims that no experiment has answered.
void add_rest(WriteUp& all, const PaperClaims& paper) {
  const auto why = [&paper](const std::string& id) {
    const auto found = paper.unanswered.find(id);
    return found == paper.unanswered.end() ? kNotAnswered : found->second;
  };
  std::set<std::string> there;
  for (const ClaimResult& claim : all.claims) there.insert(claim.claim.id);
  for (const TrendResult& trend : all.trends) there.insert(trend.trend.id);
  for (const Claim& claim : paper.claims) {
    if (there.contains(claim.id)) continue;
    all.claims.push_back({claim, "", std::nullopt, {}, {Standing::None, Standing::None, why(claim.id)}});
  }
  for (const Trend& trend : paper.trends) {
    if (!there.contains(trend.id)) all.trends.push_back({trend, "", std::nullopt, "", 0, why(trend.id)});
  }
}

Tally& tally_of(WriteUp& all, const std::string& id) {
  const std::string paper = paper_of(id);
  for (Tally& tally : all.tallies) {
    if (tally.paper == paper) return tally;
  }
  Tally& tally = all.tallies.emplace_back();
  tally.paper = paper;
  return tally;
}

void count(WriteUp& all) {
  for (const ClaimResult& claim : all.claims) {
    Tally& tally = tally_of(all, claim.claim.id);
    ++tally.claims;
    // An undefined value is an answer, though not a number.
    const auto& [direction, size, note] = claim.verdict;
    if (claim.ours || direction != Standing::None || size != Standing::None) ++tally.answered;
    if (agrees(direction)) ++tally.directions;
    if (direction == Standing::Agrees) ++tally.directions_agree;
    if (direction == Standing::Leans) ++tally.directions_lean;
    if (direction == Standing::LeansAway) ++tally.directions_lean_away;
    if (agrees(size)) ++tally.sizes;
    if (size == Standing::Agrees) ++tally.sizes_agree;
    if (size == Standing::Undecided) ++tally.sizes_undecided;
  }
  for (const TrendResult& trend : all.trends) {
    Tally& tally = tally_of(all, trend.trend.id);
    ++tally.trends;
    if (trend.holds) ++tally.trends_answered;
    if (trend.holds.value_or(false)) ++tally.trends_agree;
  }
}

ordered_json optional(const std::optional<bool>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}
ordered_json optional(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}
ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

std::string word(const std::optional<bool>& value) { return !value ? "-" : *value ? "agrees" : "differs"; }
std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }
/// The interval as text: " [1.1, 1.3]".
std::string interval_text(const Evidence& evidence) {
  if (!evidence.interval || evidence.interval->low == evidence.interval->high) return "";
  return fmt::format(" [{:.4g}, {:.4g}]", evidence.interval->low, evidence.interval->high);
}
ordered_json interval_json(const Evidence& evidence) {
  return evidence.interval ? ordered_json({evidence.interval->low, evidence.interval->high})
                           : ordered_json(nullptr);
}
ordered_json standing_json(Standing standing) {
  return standing == Standing::None ? ordered_json(nullptr) : ordered_json(standing_text(standing));
}
/// The paper's value as text: "~ 130", "1.13".
std::string paper_value(const Claim& claim) {
  const std::string_view bound = bound_text(claim.bound);
  return fmt::format("{}{}{:g}", bound, bound.empty() ? "" : " ", claim.value);
}
std::string quantity_value(const MeasuredQuantity& q) { return q.text ? *q.text : number(q.value.number); }

/// A tally as text: "3 of 4 directions agree, 2 lean, 1 away; 2 of 4 sizes agree, 1 undecided; 1 of 1 trends
/// hold; answered: 5 of 60 claims".
std::string tally_text(const Tally& t) {
  return fmt::format(
      "{} of {} directions agree, {} lean, {} away; {} of {} sizes agree, {} undecided; {} of {} trends "
      "hold; answered: {} of {} claims",
      t.directions_agree, t.directions, t.directions_lean, t.directions_lean_away, t.sizes_agree, t.sizes,
      t.sizes_undecided, t.trends_agree, t.trends_answered, t.answered, t.claims);
}

/// A table of consecutive quantities.
struct Table {
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, std::string> cells;
  std::string why;   // of the first missing value
  std::string note;  // the first note on samples

  [[nodiscard]] std::string text(const std::string& row, const std::string& column) const {
    const auto found = cells.find({row, column});
    return found == cells.end() ? "-" : found->second;
  }
};

Table table_at(const std::vector<MeasuredQuantity>& quantities, std::size_t first) {
  Table table;
  const std::string family = quantities[first].cell->family;
  const auto add = [](std::vector<std::string>& list, const std::string& label) {
    if (std::find(list.begin(), list.end(), label) == list.end()) list.push_back(label);
  };
  for (std::size_t i = first; i < quantities.size(); ++i) {
    const MeasuredQuantity& q = quantities[i];
    if (!q.cell || q.cell->family != family) break;
    if (!table.cells.emplace(std::pair(q.cell->row, q.cell->column), quantity_value(q)).second) break;
    add(table.rows, q.cell->row);
    add(table.columns, q.cell->column);
    if (table.why.empty()) table.why = q.value.why;
    if (table.note.empty()) table.note = q.note;
  }
  return table;
}

std::string table_text(const Table& table, const MeasuredQuantity& first) {
  std::string out = fmt::format("  {}{}\n", first.what.empty() ? first.cell->family : first.what,
                                first.unit.empty() ? "" : ", " + first.unit);
  std::size_t head = 0;
  for (const std::string& row : table.rows) head = std::max(head, row.size());
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) {
    std::size_t width = column.size();
    for (const std::string& row : table.rows) width = std::max(width, table.text(row, column).size());
    widths.push_back(width);
  }
  const auto line = [&](const std::string& row, bool names) {
    out += fmt::format("    {:<{}}", names ? "" : row, head);
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      out += fmt::format("  {:>{}}", names ? table.columns[k] : table.text(row, table.columns[k]), widths[k]);
    }
    out += '\n';
  };
  if (table.columns.size() > 1 || !table.columns[0].empty()) line("", true);
  for (const std::string& row : table.rows) line(row, false);
  return out;
}

/// Escapes characters that would end a cell of a Markdown table, or be markup in it.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += ' ';
      continue;
    }
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '<' || c == '`' || c == '~') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

WriteUp write_up(std::string scale, std::vector<ExperimentResult> experiments,
                 const std::vector<PaperClaims>& papers) {
  WriteUp all;
  all.scale = std::move(scale);
  all.program = sweep::program_text();
  for (const ExperimentResult& experiment : experiments) {
    all.claims.insert(all.claims.end(), experiment.claims.begin(), experiment.claims.end());
    all.trends.insert(all.trends.end(), experiment.trends.begin(), experiment.trends.end());
  }
  all.experiments = std::move(experiments);
  for (const PaperClaims& paper : papers) add_rest(all, paper);
  count(all);
  for (Tally& tally : all.tallies) {
    for (const PaperClaims& paper : papers) {
      if (tally.paper == paper.paper) tally.title = paper.title;
    }
    for (const ExperimentResult& experiment : all.experiments) {
      if (tally.paper == experiment.paper) tally.title = experiment.paper_title;
    }
  }
  return all;
}

ordered_json write_up_json(const WriteUp& all) {
  ordered_json document = {{"schema", "gpumux.reproduce/1"}, {"scale", all.scale}, {"program", all.program}};
  document["claims"] = ordered_json::array();
  for (const ClaimResult& c : all.claims) {
    document["claims"].push_back({{"id", c.claim.id},
                                  {"paper", c.claim.value},
                                  {"ours", optional(c.ours)},
                                  {"unit", c.claim.unit},
                                  {"interval", interval_json(c.evidence)},
                                  {"workloads", c.evidence.workloads},
                                  {"direction", standing_json(c.verdict.direction)},
                                  {"direction_agrees", optional(agrees(c.verdict.direction))},
                                  {"size", standing_json(c.verdict.size)},
                                  {"size_agrees", optional(agrees(c.verdict.size))},
                                  {"note", c.verdict.note},
                                  {"bound", text_or_null(std::string(bound_text(c.claim.bound)))},
                                  {"headline", c.claim.headline},
                                  {"metric", c.claim.metric},
                                  {"what", c.claim.what},
                                  {"source", c.claim.source},
                                  {"experiment", text_or_null(c.experiment)}});
  }
  document["trends"] = ordered_json::array();
  for (const TrendResult& t : all.trends) {
    document["trends"].push_back({{"id", t.trend.id},
                                  {"paper", t.trend.relation},
                                  {"ours", text_or_null(t.ours)},
                                  {"unit", nullptr},
                                  {"workloads", t.workloads},
                                  {"direction_agrees", optional(t.holds)},
                                  {"size_agrees", nullptr},
                                  {"note", t.note},
                                  {"what", t.trend.what},
                                  {"source", t.trend.source},
                                  {"experiment", text_or_null(t.experiment)}});
  }
  document["experiments"] = ordered_json::array();
  for (const ExperimentResult& e : all.experiments) {
    ordered_json quantities = ordered_json::array();
    for (const MeasuredQuantity& q : e.quantities) {
      quantities.push_back({{"name", q.name},
                            {"what", q.what},
                            {"value", q.text ? ordered_json(*q.text) : optional(q.value.number)},
                            {"unit", text_or_null(q.unit)},
                            {"row", q.cell ? text_or_null(q.cell->row) : nullptr},
                            {"column", q.cell ? text_or_null(q.cell->column) : nullptr},
                            {"samples", q.samples},
                            {"interval", interval_json(q.evidence)},
                            {"workloads", q.evidence.workloads},
                            {"note", q.notes()}});
    }
    document["experiments"].push_back(
        {{"id", e.id},
         {"title", e.title},
         {"sweep", e.sweep},
         {"scale", text_or_null(e.scale)},
         {"runs", {{"done", e.done}, {"failed", e.failed}, {"pending", e.pending}}},
         {"quantities", std::move(quantities)}});
  }
  document["papers"] = ordered_json::array();
  for (const Tally& t : all.tallies) {
    document["papers"].push_back({{"paper", t.paper},
                                  {"title", t.title},
                                  {"claims", t.claims},
                                  {"answered", t.answered},
                                  {"directions", t.directions},
                                  {"directions_agree", t.directions_agree},
                                  {"directions_lean", t.directions_lean},
                                  {"directions_lean_away", t.directions_lean_away},
                                  {"sizes", t.sizes},
                                  {"sizes_agree", t.sizes_agree},
                                  {"sizes_undecided", t.sizes_undecided},
                                  {"trends", t.trends},
                                  {"trends_answered", t.trends_answered},
                                  {"trends_agree", t.trends_agree}});
  }
  return document;
}

namespace {

std::string claims_markdown(const std::vector<ClaimResult>& claims) {
  std::string out =
      "\n| claim | what | paper | ours | unit | workloads | direction | size | note |\n"
      "|---|---|---:|---:|---|---:|---|---|---|\n";
  for (const ClaimResult& c : claims) {
    const std::string id = cell(c.claim.id);
    out += fmt::format(
        "| {} | {} | {} | {}{} | {} | {} | {} | {} | {} |\n", c.claim.headline ? "**" + id + "**" : id,
        cell(c.claim.what), cell(paper_value(c.claim)), number(c.ours), interval_text(c.evidence),
        cell(c.claim.unit), c.evidence.workloads == 0 ? "" : fmt::format("{}", c.evidence.workloads),
        standing_text(c.verdict.direction), standing_text(c.verdict.size), cell(c.verdict.note));
  }
  return claims.empty() ? "" : out;
}

std::string trends_markdown(const std::vector<TrendResult>& trends) {
  std::string out = "\n| trend | paper | ours | | note |\n|---|---|---|---|---|\n";
  for (const TrendResult& t : trends) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", cell(t.trend.id), cell(t.trend.relation),
                       t.ours.empty() ? "-" : cell(t.ours), word(t.holds), cell(t.note));
  }
  return trends.empty() ? "" : out;
}

std::string quantities_markdown(const std::vector<MeasuredQuantity>& quantities) {
  std::string out;
  bool in_list = false;
  for (std::size_t i = 0; i < quantities.size();) {
    const MeasuredQuantity& q = quantities[i];
    if (q.cell) {
      const Table table = table_at(quantities, i);
      out += fmt::format("\n{}{}:\n\n|", cell(q.what.empty() ? q.cell->family : q.what),
                         q.unit.empty() ? "" : " (" + cell(q.unit) + ")");
      for (const std::string& column : table.columns) out += fmt::format(" | {}", cell(column));
      out += " |\n|---";
      for (std::size_t k = 0; k < table.columns.size(); ++k) out += "|---:";
      out += "|\n";
      for (const std::string& row : table.rows) {
        out += fmt::format("| {}", cell(row));
        for (const std::string& column : table.columns) out += " | " + cell(table.text(row, column));
        out += " |\n";
      }
      if (!table.why.empty()) out += fmt::format("\n-: {}\n", cell(table.why));
      if (!table.note.empty()) out += fmt::format("\n{}\n", cell(table.note));
      i += table.cells.size();
      in_list = false;
      continue;
    }
    if (!in_list)
      out += "\n| quantity | what | value | unit | samples | note |\n|---|---|---:|---|---:|---|\n";
    in_list = true;
    out += fmt::format("| {} | {} | {}{} | {} | {} | {} |\n", cell(q.name), cell(q.what),
                       cell(quantity_value(q)), interval_text(q.evidence), cell(q.unit),
                       q.samples == 0 ? "" : fmt::format("{}", q.samples), cell(q.notes()));
    ++i;
  }
  return out;
}

}  // namespace

std::string write_up_markdown(const WriteUp& all) {
  std::string out =
      fmt::format("# Ours beside the papers'\n\nScale {}, gpumux {}.\n", all.scale, all.program);
  const auto experiment = [&out](const ExperimentResult& e, const char* level) {
    out += fmt::format("\n{} {}: {}\n\n{} runs done, {} failed, {} not made.\n", level, cell(e.id),
                       cell(e.title), e.done, e.failed, e.pending);
    out += claims_markdown(e.claims) + trends_markdown(e.trends) + quantities_markdown(e.quantities);
  };
  for (const Tally& tally : all.tallies) {
    out += fmt::format("\n## {}\n\n{}.\n", cell(tally.title), tally_text(tally));
    for (const ExperimentResult& e : all.experiments) {
      if (e.paper == tally.paper) experiment(e, "###");
    }
    std::string rest;
    for (const ClaimResult& c : all.claims) {
      if (c.experiment.empty() && paper_of(c.claim.id) == tally.paper) {
        rest += fmt::format("| {} | {} | {} {} | {} |\n", cell(c.claim.id), cell(c.claim.what),
                            cell(paper_value(c.claim)), cell(c.claim.unit), cell(c.verdict.note));
      }
    }
    for (const TrendResult& t : all.trends) {
      if (t.experiment.empty() && paper_of(t.trend.id) == tally.paper) {
        rest += fmt::format("| {} | {} | {} | {} |\n", cell(t.trend.id), cell(t.trend.what),
                            cell(t.trend.relation), cell(t.note));
      }
    }
    if (!rest.empty()) {
      out += "\n### Not answered\n\n| claim or trend | what | paper | why |\n|---|---|---|---|\n" + rest;
    }
  }
  for (const ExperimentResult& e : all.experiments) {
    const bool told = std::any_of(all.tallies.begin(), all.tallies.end(),
                                  [&](const Tally& tally) { return tally.paper == e.paper; });
    if (!told) experiment(e, "##");
  }
  return out;
}

std::string write_up_text(const WriteUp& all) {
  std::string out;
  const auto note_line = [&out](const std::string& note) {
    if (!note.empty()) out += fmt::format("      {}\n", note);
  };
  for (const ExperimentResult& e : all.experiments) {
    out += fmt::format("{} ({}): {} runs\n", e.id, e.scale.empty() ? "no such scale" : e.scale,
                       e.done + e.failed + e.pending);
    std::size_t width = 0;
    for (const MeasuredQuantity& q : e.quantities) {
      if (!q.cell) width = std::max(width, q.name.size());
    }
    for (std::size_t i = 0; i < e.quantities.size();) {
      const MeasuredQuantity& q = e.quantities[i];
      if (q.cell) {
        const Table table = table_at(e.quantities, i);
        out += table_text(table, q);
        note_line(table.why);
        note_line(table.note);
        i += table.cells.size();
        continue;
      }
      out += fmt::format("  {:<{}}  {:>10}{} {}\n", q.name, width, quantity_value(q),
                         interval_text(q.evidence), q.unit);
      note_line(q.notes());
      ++i;
    }
    for (const ClaimResult& c : e.claims) {
      out += fmt::format(
          "  {}\n      paper {} {}, ours {}{} of {}: direction {}, size {}\n", c.claim.id,
          paper_value(c.claim), c.claim.unit, number(c.ours), interval_text(c.evidence),
          c.evidence.workloads == 1 ? "1 workload" : fmt::format("{} workloads", c.evidence.workloads),
          standing_text(c.verdict.direction), standing_text(c.verdict.size));
      note_line(c.verdict.note);
    }
    for (const TrendResult& t : e.trends) {
      out += fmt::format("  {}\n      paper {}; ours {}: {}\n", t.trend.id, t.trend.relation,
                         t.ours.empty() ? "-" : t.ours, word(t.holds));
      note_line(t.note);
    }
    out += '\n';
  }
  for (const Tally& t : all.tallies) out += fmt::format("{}: {}\n", t.paper, tally_text(t));
  return out;
}

}  // namespace gpumux::reproduce
