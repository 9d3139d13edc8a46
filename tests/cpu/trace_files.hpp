// Trace files for tests, plain and compressed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "cpu/trace/record.hpp"
#include "tests/compressed.hpp"

namespace gpumux::cpu::test {

/// Random records that a reader accepts like those of a real program.
inline std::vector<Record> random_records(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Record> records(count);
  for (Record& record : records) {
    record.ip = random.next();
    record.is_branch = static_cast<std::uint8_t>(random.below(2));
    record.branch_taken = static_cast<std::uint8_t>(random.below(2));
    for (std::uint8_t& reg : record.destination_registers) reg = static_cast<std::uint8_t>(random.below(256));
    for (std::uint8_t& reg : record.source_registers) reg = static_cast<std::uint8_t>(random.below(256));
    if (random.below(4) == 0) record.source_memory[0] = random.next() >> 20U;
    if (random.below(8) == 0) record.destination_memory[0] = random.next() >> 20U;
  }
  return records;
}

inline std::string bytes_of(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

/// what() of the UserError that `action` throws; empty if `action` throws none.
template <typename F>
std::string error_of(F action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace gpumux::cpu::test
