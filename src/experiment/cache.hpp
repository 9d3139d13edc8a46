// The folder in which runs of applications alone are kept: small files, named after the content of all that
// determines them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpumux::experiment {

/// $GPUMUX_CACHE, else $XDG_CACHE_HOME/gpumux, else ~/.cache/gpumux; empty where there is none of them.
[[nodiscard]] std::string default_cache_folder();

/// What entries are: baselines, and points of profiles.
inline constexpr const char* kIsolatedKind = "isolated";
inline constexpr const char* kProfileKind = "profiles";
[[nodiscard]] std::string cache_path(const std::string& folder, const std::string& kind,
                                     const std::string& key);
/// An entry that was read stays longer when the cache is limited.
void mark_used(const std::string& path);

struct CacheUse {
  std::string kind;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of the files
};
/// By kind. A folder that does not exist holds nothing.
[[nodiscard]] std::vector<CacheUse> cache_use(const std::string& folder);
/// Removes entries, those first that were not used for longest, until the others have at most so many bytes
/// together; 0: all. Returns what was removed. Files that are no entries stay. Throws UserError where an
/// entry cannot be removed.
CacheUse limit_cache(const std::string& folder, std::uint64_t bytes);

}  // namespace gpumux::experiment
