// The sweep of an experiment: its own table, another file, or both; and the names that quantities may use of
// it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {

/// What the sweep has in any of its scales: what filters may name.
struct SweepNames {
  std::vector<std::string> policies;  // canonical texts
  std::vector<std::string> machines, apps, goals;
  std::vector<std::string> cpus;                              // as the sweep says them
  std::vector<std::string> programs;                          // of CPU cores in them
  std::map<std::string, std::vector<std::string>> set;        // values by canonical_key()
  std::map<std::string, std::vector<std::string>> variables;  // of templates of policies: values by name
  bool series = false;                                        // kept in some scale
};

/// sm.l1.size is l1.size.
[[nodiscard]] std::string canonical_key(const std::string& key);
/// Throws UserError for what is no policy.
[[nodiscard]] std::string canonical_policy(const std::string& text);
/// Throws UserError at `where` unless `known` has `text`; `what` is the kind of name: "policy".
void check_known(const SourceLocation& where, const char* what, const std::string& text,
                 const std::vector<std::string>& known);

/// Reads the key 'sweep', whose value is `node`, of the file `text` into scales and variables of `out`, which
/// has its id. Throws UserError with file:line:column.
[[nodiscard]] SweepNames read_sweep(const TemplateReader& reader, const toml::node& node,
                                    std::string_view text, const Sources& sources, Experiment& out);

}  // namespace gpumux::reproduce
