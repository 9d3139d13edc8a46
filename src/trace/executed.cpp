#include "trace/executed.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "trace/record_source.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

std::vector<std::uint64_t> executed_counts(const Trace& trace, const Launch& launch) {
  const Code& code = trace.code(launch);
  std::vector<std::uint64_t> counts(code.table.size(), 0);
  try {
    const LaunchTables tables = read_tables(launch);
    std::vector<workload::ExecRecord> records(4096);
    for (const Path& path : tables.paths) {
      RunReader reader(path, code);
      while (reader.left() > 0) {
        const std::uint32_t part = std::min(reader.left(), static_cast<std::uint32_t>(records.size()));
        reader.read(records.data(), part);
        for (std::uint32_t i = 0; i < part; ++i) counts[records[i].pc] += path.uses;
      }
    }
  } catch (const CorruptTrace& corrupt) {
    trace.fail(corrupt);
  }
  return counts;
}

std::vector<UntimedCount> untimed_counts(const Trace& trace) {
  std::array<std::map<std::string, std::uint64_t>, kUntimed> by_opcode;
  for (const Launch& launch : trace.launches()) {
    const std::vector<Code::Entry>& entries = trace.code(launch).entries;
    const bool some = std::any_of(entries.begin(), entries.end(),
                                  [](const Code::Entry& e) { return untimed(e.inst) != Untimed::No; });
    if (!some) continue;
    const std::vector<std::uint64_t> counts = executed_counts(trace, launch);
    for (const Code::Entry& entry : entries) {
      const Untimed why = untimed(entry.inst);
      if (why == Untimed::No) continue;
      const std::string& opcode = entry.inst.opcode;
      by_opcode[static_cast<std::size_t>(why)][opcode.substr(0, opcode.find('.'))] += counts[entry.index];
    }
  }
  std::vector<UntimedCount> found;
  for (unsigned why = 1; why < kUntimed; ++why) {
    UntimedCount count{static_cast<Untimed>(why), 0, ""};
    std::uint64_t most = 0;
    for (const auto& [opcode, times] : by_opcode[why]) {
      count.warp_instructions += times;
      if (times > most) count.opcode = opcode;
      most = std::max(most, times);
    }
    if (count.warp_instructions > 0) found.push_back(count);
  }
  return found;
}

}  // namespace gpumux::trace
