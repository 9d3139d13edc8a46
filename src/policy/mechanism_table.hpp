// The table of all mechanisms of one kind. Each mechanism's file registers itself.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace gpumux::policy {

/// A table of mechanisms, sorted by name. `Info` has a unique `name`, and a `file`.
template <typename Info>
class MechanismTable {
 public:
  /// Adds an entry. `path`: the source that registers it.
  bool add(Info info, std::string_view path) {
    info.file = path.substr(path.rfind('/') + 1);
    const auto at = place(info.name);
    GPUMUX_CHECK(at == infos_.end() || at->name != info.name);
    infos_.insert(at, std::move(info));
    return true;
  }
  [[nodiscard]] const std::vector<Info>& all() const { return infos_; }
  /// The entry with this name; nullptr if there is none.
  [[nodiscard]] const Info* find(std::string_view name) const {
    const auto at = place(name);
    return at != infos_.end() && at->name == name ? &*at : nullptr;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Info& info : infos_) names.push_back(info.name);
    return names;
  }

 private:
  [[nodiscard]] auto place(std::string_view name) const {
    return std::lower_bound(infos_.begin(), infos_.end(), name,
                            [](const Info& info, std::string_view wanted) { return info.name < wanted; });
  }
  std::vector<Info> infos_;
};

}  // namespace gpumux::policy
