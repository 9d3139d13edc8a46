#include "driver/jit.hpp"

#include <cstdio>
#include <cstring>

namespace gpumux::driver {

JitOptions::JitOptions(unsigned count, const int* options, void** values) {
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
    switch (options[i]) {
      case 2: {  // time in milliseconds: always 0
        const float none = 0;
        std::memcpy(static_cast<void*>(&values[i]), &none, sizeof(none));
        break;
      }
      case 3: info_.buffer = static_cast<char*>(values[i]); break;
      case 4: info_.bytes_value = &values[i]; break;
      case 5: error_.buffer = static_cast<char*>(values[i]); break;
      case 6: error_.bytes_value = &values[i]; break;
      default: break;  // options of compilation, which only the machine determines
    }
  }
  for (Log* const log : {&info_, &error_}) {
    // The value is an unsigned int. The other half of the pointer is undefined.
    std::uint32_t bytes = 0;
    if (log->bytes_value != nullptr)
      std::memcpy(&bytes, static_cast<const void*>(log->bytes_value), sizeof(bytes));
    log->bytes = bytes;
  }
}

void JitOptions::write(const Log& log, const std::string& text) {
  std::uintptr_t written = 0;
  if (log.buffer != nullptr && log.bytes > 0) {
    written = text.copy(log.buffer, log.bytes - 1);
    log.buffer[written] = '\0';
  }
  if (log.bytes_value != nullptr) *log.bytes_value = reinterpret_cast<void*>(written);
}

void JitOptions::finish(const std::string& message) const {
  write(info_, {});
  write(error_, message);
  const bool has_log = error_.buffer != nullptr && error_.bytes > 0;
  if (!message.empty() && !has_log) std::fprintf(stderr, "gpumux: %s\n", message.c_str());
}

}  // namespace gpumux::driver
