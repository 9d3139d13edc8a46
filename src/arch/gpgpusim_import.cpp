#include "arch/gpgpusim_import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/config_file_fields.hpp"
#include "base/text.hpp"

namespace gpumux::arch {
namespace {

/// The text with bounded length and printable characters only, for a comment in a TOML file.
std::string comment_text(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (const char c : text.substr(0, kMost)) out += c >= 0x20 && c < 0x7f ? c : '?';
  if (text.size() > kMost) out += "...";
  return out;
}

/// The parts of `whole` between colons. A part must be on one line.
std::vector<GpgpusimPart> between_colons(const GpgpusimPart& whole) {
  std::vector<GpgpusimPart> parts;
  for (std::size_t begin = 0; begin <= whole.text.size();) {
    const std::size_t end = std::min(whole.text.find(':', begin), whole.text.size());
    SourceLocation at = whole.at;
    if (at.line != 0) at.column += static_cast<std::uint32_t>(begin);
    parts.push_back({whole.text.substr(begin, end - begin), at});
    begin = end + 1;
  }
  return parts;
}

GpgpusimPart letter(std::string_view key, const GpgpusimPart& part, std::string_view letters) {
  if (part.text.size() == 1 && letters.find(part.text) != std::string_view::npos) return part;
  std::vector<std::string> known;
  for (const char c : letters) known.emplace_back(1, c);
  throw UserError(part.at, fmt::format("{}: '{}' is none of {}", key, part.text, fmt::join(known, ", ")));
}

}  // namespace

std::string ImportedMachine::Warning::line() const {
  return one_line(fmt::format("{}: warning: {}: {}", at.text(), key, why));
}

ImportedMachine import_gpgpusim(const std::vector<GpgpusimFile>& files) {
  if (files.empty()) throw UserError("no configuration file is given");
  return GpgpusimImport(files).run();
}

GpgpusimImport::GpgpusimImport(const std::vector<GpgpusimFile>& files) {
  for (const GpgpusimFile& file : files) {
    names_.push_back(file.name);
    std::vector<GpgpusimOption> more = parse_gpgpusim_options(file.text, file.name);
    if (more.empty())
      throw UserError({file.name, 1, 1}, "this configuration has no options, such as `-gpgpu_n_clusters 80`");
    std::move(more.begin(), more.end(), std::back_inserter(options_));
  }
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].known != nullptr) last_[options_[i].known->name] = i;
  }
  for (const auto& [name, index] : last_)
    traces_ = traces_ || name.starts_with("-trace_opcode_latency_initiation_");
}

ImportedMachine GpgpusimImport::run() {
  std::vector<std::string> files;
  for (const std::string& name : names_) files.push_back(comment_text(name));
  set("source", fmt::format("imported from {}", fmt::join(files, " and ")), {});
  gpu();
  sm();
  network();
  l2();
  dram();
  runtime();
  note_others();
  ImportedMachine imported;
  imported.machine = build();
  std::stable_sort(warnings_.begin(), warnings_.end(), [this](const auto& a, const auto& b) {
    const auto file = [this](const auto& warning) {
      return std::find(names_.begin(), names_.end(), warning.at.file) - names_.begin();
    };
    return std::make_pair(file(a), a.at.line) < std::make_pair(file(b), b.at.line);
  });
  imported.toml = written(imported.machine);
  imported.warnings = std::move(warnings_);
  imported.options = options_.size();
  return imported;
}

// --- options ---------------------------------------------------------------------------------------------

const GpgpusimOption* GpgpusimImport::find(std::string_view key) {
  const GpgpusimKey* known = find_gpgpusim_key(key);
  GPUMUX_CHECK(known != nullptr && known->name == key);
  used_.insert(known->name);
  const auto found = last_.find(key);
  return found == last_.end() ? nullptr : &options_[found->second];
}

GpgpusimOption GpgpusimImport::option(std::string_view key) {
  if (const GpgpusimOption* found = find(key)) return *found;
  GpgpusimOption missing;
  missing.key = key;
  missing.known = find_gpgpusim_key(key);
  missing.value = missing.known->value;
  missing.key_at = {names_.front()};
  return missing;
}

std::uint64_t GpgpusimImport::whole(std::string_view key, const GpgpusimPart& part) {
  const std::optional<std::uint64_t> value = parse_uint(part.text);
  constexpr std::uint64_t kMost = 0xffff'ffffU;  // the options are 32 bits wide
  if (!value || *value > kMost)
    throw UserError(part.at, fmt::format("{}: '{}' is no whole number up to {}", key, part.text, kMost));
  return *value;
}

std::uint64_t GpgpusimImport::whole(std::string_view key) {
  const GpgpusimOption found = option(key);
  return whole(key, {found.value, found.at()});
}

bool GpgpusimImport::flag(std::string_view key) {
  const GpgpusimOption found = option(key);
  if (found.value != "0" && found.value != "1")
    throw UserError(found.at(), fmt::format("{}: '{}' is neither 0 nor 1", key, found.value));
  return found.value == "1";
}

std::vector<std::uint64_t> GpgpusimImport::wholes(std::string_view key, std::string_view separators,
                                                  std::size_t least, std::size_t most) {
  const GpgpusimOption found = option(key);
  std::vector<std::uint64_t> values;
  for (const GpgpusimPart& part : found.parts(separators)) values.push_back(whole(key, part));
  if (values.size() >= least && values.size() <= most) return values;
  throw UserError(found.at(),
                  fmt::format("{}: '{}' is a list of {}; {} are expected, with '{}' between them", key,
                              found.value, values.size(),
                              least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most),
                              separators));
}

GpgpusimCache GpgpusimImport::cache(std::string_view key) {
  const GpgpusimOption found = option(key);
  GpgpusimCache cache;
  if (found.value == "none") {
    cache.none = true;
    return cache;
  }
  std::vector<std::vector<GpgpusimPart>> groups;
  for (const GpgpusimPart& group : found.parts(",")) groups.push_back(between_colons(group));
  const auto has = [&groups](std::size_t group, std::size_t least, std::size_t most) {
    return groups.size() > group && groups[group].size() >= least && groups[group].size() <= most;
  };
  if (groups.size() > 5 || !has(0, 3, 4) || !has(1, 4, 5) || !has(2, 3, 3) || !has(3, 1, 2)) {
    throw UserError(found.at(), fmt::format("{}: '{}' is no cache; expected none, or TYPE:SETS:LINE:WAYS,"
                                            "REPLACEMENT:WRITE:ALLOCATE:WRITE_ALLOCATE:INDEX,"
                                            "MSHR:ENTRIES:MERGES,MISS_QUEUE[:FIFO][,PORT]",
                                            key, found.value));
  }
  // Versions before 4.0 lack the letter for sectors in front, versions before 3.2 also the index function.
  if (groups[0].size() == 3) groups[0].insert(groups[0].begin(), {"N", groups[0][0].at});
  if (groups[1].size() == 4) groups[1].push_back({"L", groups[1][3].at});
  cache.type = letter(key, groups[0][0], "NS");
  cache.line_at = groups[0][2].at;
  for (const auto& [number, part] :
       {std::pair{&cache.sets, 1}, std::pair{&cache.line, 2}, std::pair{&cache.ways, 3}}) {
    const GpgpusimPart& text = groups[0][static_cast<std::size_t>(part)];
    *number = whole(key, text);
    if (*number == 0 || *number > 1U << 20U)
      throw UserError(text.at, fmt::format("{}: {} is not from 1 to {}", key, *number, 1U << 20U));
  }
  const GpgpusimPart replacement = letter(key, groups[1][0], "LF");
  cache.write = letter(key, groups[1][1], "RBTEL");
  cache.allocate = letter(key, groups[1][2], "mfs");
  cache.write_allocate = letter(key, groups[1][3], "NWFL");
  cache.index = letter(key, groups[1][4], "LXPHC");
  cache.mshr = letter(key, groups[2][0], "AFST");
  cache.entries_at = groups[2][1].at;
  cache.merges_at = groups[2][2].at;
  cache.entries = whole(key, groups[2][1]);
  cache.merges = whole(key, groups[2][2]);
  cache.miss_queue = whole(key, groups[3][0]);
  if (groups.size() == 5) cache.port = whole(key, groups[4][0]);
  if (replacement.text == "F")
    warn(key, "the least recently used line is evicted here, not the oldest", &replacement.at);
  return cache;
}

// --- settings --------------------------------------------------------------------------------------------

std::string GpgpusimImport::short_name(const std::string& file) const {
  const auto last = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  const auto same = [&](const std::string& other) { return last(other) == last(file); };
  return comment_text(std::count_if(names_.begin(), names_.end(), same) > 1 ? file : last(file));
}

std::string GpgpusimImport::origin(std::string_view key) {
  if (const GpgpusimOption* found = find(key))
    return fmt::format("{}:{} {}", short_name(found->key_at.file), found->key_at.line, found->key);
  return fmt::format("GPGPU-Sim's default of {}", key);
}

void GpgpusimImport::set(std::string_view ours, const std::string& value, Keys from, std::string_view note,
                         const SourceLocation* at) {
  Setting setting;
  setting.change.text = fmt::format("{}={}", ours, value);
  setting.change.where = {names_.front()};
  std::vector<std::string> origins;
  for (const std::string_view key : from) {
    origins.push_back(origin(key));
    if (setting.change.where.line == 0) setting.change.where = place(key);
  }
  if (at != nullptr) setting.change.where = *at;
  setting.comment =
      fmt::format("{}{}{}", fmt::join(origins, ", "), origins.empty() || note.empty() ? "" : ": ", note);
  const int field = find_field(ours);
  GPUMUX_CHECK(field >= 0);
  settings_[field] = std::move(setting);
}

void GpgpusimImport::warn(std::string_view key, std::string why, const SourceLocation* at) {
  const GpgpusimOption* found = find(key);
  warnings_.push_back({at != nullptr ? *at : place(key),
                       found == nullptr ? fmt::format("{} (GPGPU-Sim's default)", key) : found->key,
                       std::move(why)});
}

std::uint64_t GpgpusimImport::at_most(std::uint64_t value, std::uint64_t most, std::string_view key,
                                      std::string_view what, const SourceLocation* at) {
  if (value <= most) return value;
  warn(key, fmt::format("{} {}; here at most {}", value, what, most), at);
  return most;
}

// --- the end ---------------------------------------------------------------------------------------------

/// Warns of unknown options, and of options that the table marks as missing or as fixed to another value.
void GpgpusimImport::note_others() {
  std::vector<std::string> known;
  for (const GpgpusimKey& key : gpgpusim_keys()) known.emplace_back(key.name);
  for (std::size_t i = 0; i < options_.size(); ++i) {
    const GpgpusimOption& found = options_[i];
    if (found.known == nullptr) {
      const std::string nearest = nearest_choice(found.key, known);
      warnings_.push_back({found.key_at, found.key,
                           fmt::format("unknown, and left out{}",
                                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest))});
    } else if (last_.at(found.known->name) == i &&
               (found.known->use == GpgpusimUse::Missing ||
                (found.known->use == GpgpusimUse::Same && found.value != found.known->value))) {
      warnings_.push_back({found.at(), found.key, std::string(found.known->why)});
    }
  }
}

std::vector<Override> GpgpusimImport::changes() const {
  std::vector<Override> changes;
  for (const auto& [field, setting] : settings_) changes.push_back(setting.change);
  return changes;
}

MachineConfig GpgpusimImport::build() {
  // Instructions wait in their collectors, as far as the model can book units ahead.
  constexpr std::string_view kSpecialized = "-gpgpu_enable_specialized_operand_collector";
  const std::string_view units =
      flag(kSpecialized) ? "-gpgpu_operand_collector_num_units_sp" : "-gpgpu_operand_collector_num_units_gen";
  set_flag("sm.collectors_wait", false, {});
  MachineConfig machine = machine_of_settings(changes(), names_.front());
  const std::uint32_t most = most_waiting_collectors(machine);
  const std::uint32_t wanted = machine.sm.collectors_per_scheduler;
  if (most == 0) {
    warn(units,
         "with such long initiation intervals, instructions for a busy unit do not wait in collectors here");
  } else {
    if (wanted > most) {
      set_number("sm.collectors_per_scheduler", most, {units});
      warn(units,
           fmt::format("{} collectors of a scheduler; here at most {} with initiation intervals as long as "
                       "the longest of the configuration",
                       wanted, most));
    }
    set_flag("sm.collectors_wait", true, {}, "as GPGPU-Sim's");
  }
  machine = machine_of_settings(changes(), names_.front());
  for (const std::string& warning : machine_warnings(machine)) {
    const Setting& setting = settings_.at(find_field("dram.RC"));
    warn("-gpgpu_dram_timing_opt", warning, &setting.change.where);
  }
  return machine;
}

std::string GpgpusimImport::written(const MachineConfig& machine) {
  std::string out =
      "# Written by `gpumux import-config`. Behind each value: the line that it comes from.\n"
      "# What the options become, and what differs behind equal numbers: docs/accel-sim-keys.md.\n";
  std::string_view table;
  for (const auto& [index, setting] : settings_) {
    const Field& field = fields()[static_cast<std::size_t>(index)];
    if (field.table() != table) {
      table = field.table();
      out += fmt::format("\n[{}]\n", table);
    }
    const std::string line = fmt::format("{} = {}", field.name(), field_text(field, machine));
    out += setting.comment.empty() ? line + "\n" : fmt::format("{:<39} # {}\n", line, setting.comment);
  }
  return out + summary();
}

/// Comments for the machine file about the options that set no key.
std::string GpgpusimImport::summary() {
  std::string out;
  if (!warnings_.empty()) out += "\n# Not expressed, or not as there:\n";
  for (const ImportedMachine::Warning& warning : warnings_) {
    out += fmt::format("#   {}{} {}: {}\n", short_name(warning.at.file),
                       warning.at.line == 0 ? "" : fmt::format(":{}", warning.at.line),
                       comment_text(warning.key), comment_text(warning.why));
  }
  std::map<std::string_view, std::vector<std::string>> others;
  constexpr std::string_view kAlways = "the machine is always so";
  constexpr std::string_view kBeside = "without effect beside the other options";
  constexpr std::string_view kLater = "given again later";
  for (std::size_t i = 0; i < options_.size(); ++i) {
    const GpgpusimOption& found = options_[i];
    if (found.known == nullptr) continue;
    const std::string text =
        fmt::format("{}:{} {}", short_name(found.key_at.file), found.key_at.line, found.key);
    if (last_.at(found.known->name) != i) {
      others[kLater].push_back(text);
    } else if (found.known->use == GpgpusimUse::NoEffect) {
      others[found.known->why].push_back(text);
    } else if (found.known->use == GpgpusimUse::Same && found.value == found.known->value) {
      others[kAlways].push_back(text);
    } else if (found.known->use == GpgpusimUse::Taken && !used_.contains(found.known->name)) {
      others[kBeside].push_back(text);
    }
  }
  if (!others.empty()) out += "\n# Without effect on the machine:\n";
  for (const auto& [why, options] : others) {
    out += fmt::format("#   {}:\n", why);
    for (const std::string& text : options) out += fmt::format("#     {}\n", text);
  }
  return out;
}

}  // namespace gpumux::arch
