// The common part of the fuzz targets. Each target reads its input with one of the readers. A correct outcome
// is a value, a UserError or a SimulationFault. Anything else, such as an InternalError, ends the target, and
// so do the sanitizers.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace gpumux::fuzz {

template <class Work>
void expect_value_or_error(const Work& work) {
  try {
    work();
  } catch (const UserError&) {
  } catch (const SimulationFault&) {
  } catch (
      const std::bad_alloc&) {  // exit code 2 as well; the limit on memory ends inputs that ask for too much
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A folder for readers of files, in memory if /dev/shm exists.
inline const std::string& folder() {
  static const std::string path = [] {
    std::string name =
        (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/gpumux_fuzz_XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) ::abort();
    return name;
  }();
  return path;
}

inline void write(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) ::abort();
  std::fclose(file);
}

}  // namespace gpumux::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
