// Configurations of GPGPU-Sim. Each becomes an error, or a machine file that describes the same machine when
// read back.
#include <cstdlib>

#include "arch/config_file.hpp"
#include "arch/gpgpusim_config.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::expect_value_or_error([&] {
    const arch::ImportedMachine imported =
        arch::import_gpgpusim({{fuzz::folder() + "/c.config", std::string(text)}});
    const std::string read = arch::acting_toml(arch::parse_machine(imported.toml, "m.toml"));
    if (read != arch::acting_toml(imported.machine)) std::abort();
  });
  return 0;
}
