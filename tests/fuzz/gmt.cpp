// A compact trace. Its size and checksum are corrected first, because readers would refuse any change
// otherwise.
#include "trace/format.hpp"
#include "walk_trace.hpp"

namespace {

void put(std::string& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  std::string bytes(fuzz::text_of(data, size));
  if (bytes.size() >= trace::kHeaderBytes) {
    trace::Checksum sum;
    sum.add(std::string_view(bytes).substr(trace::kHeaderBytes));
    put(bytes, 8, bytes.size());
    put(bytes, 16, sum.value());
  }
  fuzz::expect_value_or_error([&] { fuzz::walk(trace::Trace::from_bytes(std::move(bytes), "f.gmt")); });
  return 0;
}
