// A bundle as an application of a run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "experiment/run.hpp"

namespace gpumux::bundle {
class Bundle;
}

namespace gpumux::experiment {

/// The file name in "app.gmx" or "app.gmx:host_time=1", the form in which `run` and `inspect` take a bundle;
/// empty for any other text.
[[nodiscard]] std::string bundle_path(std::string_view text);

/// Opens a bundle. Relative paths are relative to `folder`, empty: the current folder. Throws UserError for a
/// file that is not a bundle, for unknown settings, and, with `verify`, for a bundle without results.
[[nodiscard]] AppSpec bundle_app(const std::string& text, const std::string& folder, bool verify);
/// An application for an open bundle. `text`: its name.
[[nodiscard]] AppSpec bundle_app(const std::string& text, const std::shared_ptr<const bundle::Bundle>& opened,
                                 double host_time = 0);

}  // namespace gpumux::experiment
