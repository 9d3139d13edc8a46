// PTX text, which is parsed by function and as a whole. Every kernel is compiled.
#include "ptx/compile.hpp"
#include "ptx/parse.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::expect_value_or_error([&] { (void)ptx::parse(text, "f.ptx"); });
  fuzz::expect_value_or_error([&] {
    const isa::Module module = ptx::parse_by_function(text, "f.ptx");
    for (const isa::Function& function : module.functions) {
      if (!function.is_kernel) continue;
      fuzz::expect_value_or_error([&] {
        const isa::Function code = ptx::compile(module, function, {});
        for (const isa::Instruction& inst : code.code) (void)isa::to_text(module, code, inst);
      });
    }
  });
  return 0;
}
