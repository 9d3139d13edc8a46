#include "emulator/race_log.hpp"

#include <fmt/core.h>

#include "base/text.hpp"

namespace gpumux::emulator {
namespace {

std::string access_text(const RaceAccess& access) {
  return fmt::format("{} at {} by thread {} of block {}", access.what, access.place, triple(access.thread),
                     triple(access.block));
}

std::string counted(std::uint64_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string address_text(const Race& race) {
  const std::string bytes = counted(race.bytes, "byte", "bytes");
  if (race.space == isa::Space::Shared) return fmt::format("{} at offset {}", bytes, race.address);
  return fmt::format("{} at 0x{:x}, {}", bytes, race.address, race.where);
}

}  // namespace

RaceLog::Entry RaceLog::enter(const Key& key) {
  const auto [found, is_new] = index_.try_emplace(key, races_.size());
  if (is_new) races_.emplace_back();
  return {found->second, is_new};
}

std::vector<Race> RaceLog::sorted() const {
  std::vector<Race> all;
  for (const auto& entry : index_) all.push_back(races_[entry.second]);
  return all;
}

std::string kinds_text(const Race& race) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* kind) {
    if (count != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", kind);
  };
  add(race.read_after_write, "read-after-write");
  add(race.write_after_read, "write-after-read");
  add(race.write_after_write, "write-after-write");
  if (race.same_value != 0 && race.same_value == race.write_after_write)
    text += " (the same value each time)";
  return text;
}

std::string races_text(const RaceLog& log, std::size_t most) {
  if (log.launches() == 0) return "note: races: no kernel was executed that could have some\n";
  const std::vector<Race> all = log.sorted();
  std::string text;
  std::uint64_t times = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Race& race = all[i];
    times += race.count();
    if (i >= most) continue;
    text +=
        fmt::format("note: race: {}: kernel {}, {} memory, {}, {}: {}; {}; {}\n", race.app_name, race.kernel,
                    isa::name(race.space), kinds_text(race), counted(race.count(), "time", "times"),
                    access_text(race.first), access_text(race.second), address_text(race));
  }
  const std::string launches = counted(log.launches(), "launch", "launches");
  if (all.empty()) return fmt::format("note: races: none in {}\n", launches);
  return text + fmt::format("note: races: {} of instructions, {}, in {}{}\n",
                            counted(all.size(), "pair", "pairs"), counted(times, "time", "times"), launches,
                            all.size() > most ? fmt::format("; {} of the pairs are shown", most) : "");
}

}  // namespace gpumux::emulator
