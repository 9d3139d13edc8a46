#include "reproduce/write_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sweep/run_hash.hpp"

namespace gpumux::reproduce {
namespace {

using nlohmann::ordered_json;

constexpr const char* kNotAnswered = "no experiment answers it yet";

std::string paper_of(const std::string& id) { return id.substr(0, id.find('.')); }

/// Adds the paper's claims that no experiment has answered.
void add_rest(WriteUp& all, const PaperClaims& paper) {
  std::set<std::string> there;
  for (const ClaimResult& claim : all.claims) there.insert(claim.claim.id);
  for (const TrendResult& trend : all.trends) there.insert(trend.trend.id);
  for (const Claim& claim : paper.claims) {
    if (there.contains(claim.id)) continue;
    all.claims.push_back({claim, "", std::nullopt, {std::nullopt, std::nullopt, kNotAnswered}});
  }
  for (const Trend& trend : paper.trends) {
    if (!there.contains(trend.id)) all.trends.push_back({trend, "", std::nullopt, "", kNotAnswered});
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
    if (claim.ours) ++tally.answered;
    if (claim.verdict.direction_agrees) ++tally.directions;
    if (claim.verdict.direction_agrees.value_or(false)) ++tally.directions_agree;
    if (claim.verdict.size_agrees) ++tally.sizes;
    if (claim.verdict.size_agrees.value_or(false)) ++tally.sizes_agree;
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
/// "~ 130", "1.13".
std::string paper_value(const Claim& claim) {
  const std::string_view bound = bound_text(claim.bound);
  return fmt::format("{}{}{:g}", bound, bound.empty() ? "" : " ", claim.value);
}
std::string quantity_value(const MeasuredQuantity& q) { return q.text ? *q.text : number(q.value.number); }

/// "3 of 4 directions and 2 of 4 sizes agree, 1 of 1 trends; 5 of 60 claims answered".
std::string tally_text(const Tally& t) {
  return fmt::format(
      "{} of {} directions and {} of {} sizes agree, and {} of {} trends; answered: {} of {} claims",
      t.directions_agree, t.directions, t.sizes_agree, t.sizes, t.trends_agree, t.trends_answered, t.answered,
      t.claims);
}

/// What would end a cell of a Markdown table, or be markup in it.
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
                                  {"direction_agrees", optional(c.verdict.direction_agrees)},
                                  {"size_agrees", optional(c.verdict.size_agrees)},
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
                            {"samples", q.samples},
                            {"note", q.value.why}});
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
                                  {"sizes", t.sizes},
                                  {"sizes_agree", t.sizes_agree},
                                  {"trends", t.trends},
                                  {"trends_answered", t.trends_answered},
                                  {"trends_agree", t.trends_agree}});
  }
  return document;
}

std::string write_up_markdown(const WriteUp& all) {
  std::string out =
      fmt::format("# Ours beside the papers'\n\nScale {}, gpumux {}.\n", all.scale, all.program);
  for (const Tally& tally : all.tallies) {
    out += fmt::format("\n## {}\n\n{}.\n", cell(tally.title), tally_text(tally));
    std::string claims;
    std::string trends;
    for (const ClaimResult& c : all.claims) {
      if (c.experiment.empty() || paper_of(c.claim.id) != tally.paper) continue;
      claims +=
          fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(c.claim.id), cell(c.claim.what),
                      cell(paper_value(c.claim)), number(c.ours), cell(c.claim.unit),
                      word(c.verdict.direction_agrees), word(c.verdict.size_agrees), cell(c.verdict.note));
    }
    for (const TrendResult& t : all.trends) {
      if (t.experiment.empty() || paper_of(t.trend.id) != tally.paper) continue;
      trends += fmt::format("| {} | {} | {} | {} | {} |\n", cell(t.trend.id), cell(t.trend.relation),
                            t.ours.empty() ? "-" : cell(t.ours), word(t.holds), cell(t.note));
    }
    if (!claims.empty()) {
      out +=
          "\n| claim | what | paper | ours | unit | direction | size | note "
          "|\n|---|---|---:|---:|---|---|---|---|\n" +
          claims;
    }
    if (!trends.empty()) out += "\n| trend | paper | ours | | note |\n|---|---|---|---|---|\n" + trends;
  }
  for (const ExperimentResult& e : all.experiments) {
    out += fmt::format("\n## Experiment {}: {}\n\n{} runs done, {} failed, {} not made.\n\n", cell(e.id),
                       cell(e.title), e.done, e.failed, e.pending);
    out += "| quantity | what | value | unit | samples | note |\n|---|---|---:|---|---:|---|\n";
    for (const MeasuredQuantity& q : e.quantities) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(q.name), cell(q.what),
                         cell(quantity_value(q)), cell(q.unit),
                         q.samples == 0 ? "" : fmt::format("{}", q.samples), cell(q.value.why));
    }
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
    for (const MeasuredQuantity& q : e.quantities) width = std::max(width, q.name.size());
    for (const MeasuredQuantity& q : e.quantities) {
      out += fmt::format("  {:<{}}  {:>10} {}\n", q.name, width, quantity_value(q), q.unit);
      note_line(q.value.why);
    }
    for (const ClaimResult& c : e.claims) {
      out += fmt::format("  {}\n      paper {} {}, ours {}: direction {}, size {}\n", c.claim.id,
                         paper_value(c.claim), c.claim.unit, number(c.ours), word(c.verdict.direction_agrees),
                         word(c.verdict.size_agrees));
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
