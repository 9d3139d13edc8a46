#ifdef __clang__
#include <fmt/format.h>

// clang 14 mangles the name of this function, which fmt/core.h calls, differently from the gcc that built
// Debian's library.
template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::string_view,
    fmt::basic_format_args<FMT_BUFFER_CONTEXT(fmt::type_identity_t<char>)>, fmt::detail::locale_ref);
#endif
