#include "experiment/cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"

namespace gpumux::experiment {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

/// True for a file whose name is a hash in hexadecimal digits with ".json".
bool is_entry(const fs::directory_entry& file) {
  std::error_code error;
  const std::string stem = file.path().stem().string();
  return file.path().extension() == ".json" && file.is_regular_file(error) && !file.is_symlink(error) &&
         stem.size() >= 16 && stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The entries of a kind. Other processes may remove entries meanwhile.
std::vector<Entry> entries(const std::string& folder, const std::string& kind) {
  std::vector<Entry> list;
  std::error_code error;
  for (fs::directory_iterator at(fs::path(folder) / kind, error), end; !error && at != end;
       at.increment(error)) {
    if (!is_entry(*at)) continue;
    std::error_code gone;
    const std::uint64_t bytes = at->file_size(gone);
    const fs::file_time_type used = at->last_write_time(gone);
    if (!gone) list.push_back({at->path(), bytes, used});
  }
  return list;
}

}  // namespace

std::string default_cache_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (std::string folder = variable("GPUMUX_CACHE"); !folder.empty()) return folder;
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/gpumux";
  if (const std::string folder = variable("HOME"); !folder.empty()) return folder + "/.cache/gpumux";
  return "";
}

std::string cache_path(const std::string& folder, const std::string& kind, const std::string& key) {
  return (fs::path(folder) / kind / (key + ".json")).string();
}

void mark_used(const std::string& path) {
  constexpr auto kOften = std::chrono::minutes(10);
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  const fs::file_time_type used = fs::last_write_time(path, error);
  if (!error && now - used > kOften) fs::last_write_time(path, now, error);
}

std::vector<CacheUse> cache_use(const std::string& folder) {
  std::vector<CacheUse> all;
  for (const char* kind : {kIsolatedKind, kProfileKind}) {
    all.push_back({kind, 0, 0});
    for (const Entry& entry : entries(folder, kind)) {
      ++all.back().entries;
      all.back().bytes += entry.bytes;
    }
  }
  return all;
}

CacheUse limit_cache(const std::string& folder, std::uint64_t bytes) {
  std::vector<Entry> all = entries(folder, kIsolatedKind);
  for (Entry& entry : entries(folder, kProfileKind)) all.push_back(std::move(entry));
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.used != b.used ? a.used > b.used : a.path < b.path;
  });
  CacheUse removed;
  std::uint64_t so_far = 0;
  for (const Entry& entry : all) {
    so_far += entry.bytes;
    if (so_far <= bytes) continue;
    std::error_code error;
    fs::remove(entry.path, error);
    if (error) throw UserError({entry.path.string()}, "cannot be removed (" + error.message() + ")");
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  return removed;
}

}  // namespace gpumux::experiment
