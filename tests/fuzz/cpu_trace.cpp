// A ChampSim trace. The first byte selects the compression, and the rest is the file.
#include <fstream>
#include <string>

#include "cpu/trace/file_trace.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  if (size == 0) return 0;
  const char* const suffixes[] = {"", ".xz", ".gz", ".zst"};
  const std::string path = fuzz::folder() + "/t" + suffixes[data[0] % 4];
  std::ofstream(path, std::ios::binary) << fuzz::text_of(data + 1, size - 1);
  fuzz::expect_value_or_error([&] { (void)cpu::check_trace(path); });
  return 0;
}
