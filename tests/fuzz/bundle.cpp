// A bundle. Its size and digests are corrected first, because readers would refuse any change otherwise.
#include "bundle/reader.hpp"
#include "fuzz.hpp"
#include "tests/bundle/forged.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  std::string bytes = bundle::test::repaired(std::string(fuzz::text_of(data, size)));
  fuzz::expect_value_or_error([&] {
    const auto opened = bundle::Bundle::from_bytes(std::move(bytes), "f.gmx");
    bundle::Reader reader(opened);
    constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;  // of contents: the rest costs time alone
    std::uint64_t unpacked = 0;
    const auto unpack = [&](const bundle::Content& content) {
      unpacked += content.bytes;
      if (unpacked <= kMostBytes) (void)opened->content(content);
    };
    for (bundle::Record record; reader.next(record);) {
      std::visit(
          [&](const auto& r) {
            if constexpr (requires { r.from.pieces; }) unpack(r.from);
            if constexpr (requires { r.ptx.pieces; }) unpack(r.ptx);
          },
          record);
    }
  });
  return 0;
}
