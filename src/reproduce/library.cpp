#include "reproduce/library.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/files.hpp"
#include "base/text.hpp"
#include "embedded/experiments.hpp"

namespace gpumux::reproduce {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kClaims = "claims/";
constexpr std::string_view kToml = ".toml";

/// The path without the ending.
std::string stem(std::string_view path) { return std::string(path.substr(0, path.size() - kToml.size())); }

const std::string_view* find_embedded(std::string_view path) {
  for (const auto& [name, text] : embedded::experiments) {
    if (name == path) return &text;
  }
  return nullptr;
}

std::string folder_of(const std::string& id) { return id.substr(0, id.find('/')); }

}  // namespace

const std::vector<std::string>& experiment_ids() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> list;
    for (const auto& [name, text] : embedded::experiments) {
      if (!name.ends_with(kToml) || name.starts_with(kClaims)) continue;
      if (is_experiment(text, "experiments/" + std::string(name))) list.push_back(stem(name));
    }
    std::sort(list.begin(), list.end());
    return list;
  }();
  return ids;
}

Experiment builtin_experiment(const std::string& id) {
  const std::string_view* text = find_embedded(id + std::string(kToml));
  if (text == nullptr) throw UserError(unknown_choice("experiment", id, experiment_ids()));
  Sources sources;
  sources.claims = paper_claims;
  sources.file = [&](const std::string& path) {
    const std::string_view* file = find_embedded(fmt::format("{}/{}", folder_of(id), path));
    if (file == nullptr) throw UserError(fmt::format("there is no experiments/{}/{}", folder_of(id), path));
    return std::string(*file);
  };
  return parse_experiment(*text, fmt::format("experiments/{}{}", id, kToml), id, sources);
}

const std::vector<std::string>& paper_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, text] : embedded::experiments) {
      if (name.starts_with(kClaims)) list.push_back(stem(name.substr(kClaims.size())));
    }
    std::sort(list.begin(), list.end());
    return list;
  }();
  return names;
}

PaperClaims paper_claims(const std::string& paper) {
  const std::string path = fmt::format("{}{}{}", kClaims, paper, kToml);
  const std::string_view* text = find_embedded(path);
  if (text == nullptr) throw UserError(unknown_choice("paper", paper, paper_names()));
  return parse_claims(*text, "experiments/" + path);
}

Experiment read_experiment(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const auto relative = [folder](const std::string& name) { return (folder / name).string(); };
  Sources sources;
  sources.file = [&](const std::string& name) { return read_file(relative(name)); };
  sources.claims = [&](const std::string& paper) {
    return paper.ends_with(kToml) ? parse_claims(read_file(relative(paper)), relative(paper))
                                  : paper_claims(paper);
  };
  return parse_experiment(read_file(path), path, fs::path(path).stem().string(), sources);
}

Chosen choose(const std::string& what) {
  Chosen chosen;
  if (what.ends_with(kToml)) {
    chosen.experiments.push_back(read_experiment(what));
    return chosen;
  }
  const bool all = what == "all";
  const std::vector<std::string>& papers = paper_names();
  const bool is_paper = std::find(papers.begin(), papers.end(), what) != papers.end();
  if (all) {
    for (const std::string& paper : papers) chosen.papers.push_back(paper_claims(paper));
  } else if (is_paper) {
    chosen.papers.push_back(paper_claims(what));
  }
  std::vector<std::string> known = {"all"};
  known.insert(known.end(), papers.begin(), papers.end());
  std::vector<std::string> named;  // ids with this name, in any folder
  for (const std::string& id : experiment_ids()) {
    Experiment experiment = builtin_experiment(id);
    const std::string name = id.substr(id.find('/') + 1);
    const bool speaks = is_paper && experiment.paper && experiment.paper->paper == what;
    if (name == what) named.push_back(id);
    if (all || speaks || id == what || folder_of(id) == what)
      chosen.experiments.push_back(std::move(experiment));
    if (std::find(known.begin(), known.end(), folder_of(id)) == known.end()) known.push_back(folder_of(id));
    known.push_back(id);
  }
  if (!chosen.experiments.empty() || is_paper) return chosen;
  if (named.size() > 1) {
    throw UserError(
        fmt::format("'{}' is the name of several experiments: {} and {}", what, named[0], named[1]));
  }
  if (named.empty()) throw UserError(unknown_choice("experiment or paper", what, known));
  chosen.experiments.push_back(builtin_experiment(named.front()));
  return chosen;
}

std::optional<UsualTime> usual_time(const std::string& id, const std::string& scale) {
  const std::string_view* text = find_embedded("usual_runs.txt");
  if (text == nullptr) return std::nullopt;
  for (const std::string& line : split(*text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() != 4 || words[0] != id || words[1] != scale) continue;
    return UsualTime{std::stoul(words[2]), std::stod(words[3])};
  }
  return std::nullopt;
}

}  // namespace gpumux::reproduce
