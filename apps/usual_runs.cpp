#include "usual_runs.hpp"

#include <map>

#include "base/text.hpp"
#include "embedded/usual_runs.txt.hpp"

namespace gpumux::cli {

std::optional<UsualRun> usual_run(const std::string& app) {
  static const std::map<std::string, UsualRun> runs = [] {
    std::map<std::string, UsualRun> all;
    for (const std::string& line : split(embedded::usual_runs, '\n')) {
      const std::vector<std::string> words = split(line, ' ');
      if (words.size() < 6 || words[0] == "#") continue;
      all[words[0]] = {words[1],
                       std::stoull(words[2]),
                       std::stoull(words[3]),
                       std::stod(words[4]),
                       std::stod(words[5]),
                       words.size() == 6};
    }
    return all;
  }();
  const auto found = runs.find(app);
  return found == runs.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace gpumux::cli
