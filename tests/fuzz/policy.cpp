// The text of a policy. Its canonical form must name the same policy. Also applications with settings.
#include "policy/policy.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  fuzz::expect_value_or_error([&] {
    const policy::PolicyChoice choice = policy::parse_choice(fuzz::text_of(data, size));
    (void)policy::create(choice);
    const std::string canonical = policy::canonical_text(choice);
    if (policy::canonical_text(policy::parse_choice(canonical)) != canonical) ::abort();
  });
  return 0;
}
