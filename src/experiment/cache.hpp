// The cache: a folder of small files with runs of applications alone, named after a hash of all that
// determines them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpumux::experiment {

/// $GPUMUX_CACHE, else $XDG_CACHE_HOME/gpumux, else ~/.cache/gpumux; empty if none of these variables is set.
[[nodiscard]] std::string default_cache_folder();

/// Kinds of entries: isolated baselines, and points of profiles.
inline constexpr const char* kIsolatedKind = "isolated";
inline constexpr const char* kProfileKind = "profiles";
[[nodiscard]] std::string cache_path(const std::string& folder, const std::string& kind,
                                     const std::string& key);
/// Updates the time of last use of an entry, by which limit_cache() selects entries.
void mark_used(const std::string& path);

struct CacheUse {
  std::string kind;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of the files
};
/// The entries of the cache, by kind. A folder that does not exist has none.
[[nodiscard]] std::vector<CacheUse> cache_use(const std::string& folder);
/// Removes the least recently used entries until the rest has at most `bytes` bytes; 0: removes all. Returns
/// what was removed. Files that are not entries stay. Throws UserError if an entry cannot be removed.
CacheUse limit_cache(const std::string& folder, std::uint64_t bytes);

}  // namespace gpumux::experiment
