// Options of CUDA's PTX compiler. Only the options for its logs have an effect.
#pragma once

#include <cstddef>
#include <string>

#include "cudart/session.hpp"
#include "driver/abi.hpp"

namespace gpumux::driver {

class JitOptions {
 public:
  /// CUjit_option numbers and their values. Some values are addresses for output.
  JitOptions(unsigned count, const int* options, void** values);
  /// Writes the logs. Must be called once. `message`: the error in the PTX, or empty. Without a log of the
  /// program, the message goes to standard error.
  void finish(const std::string& message) const;

 private:
  struct Log {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    void** bytes_value = nullptr;
  };
  static void write(const Log& log, const std::string& text);

  Log info_;
  Log error_;
};

}  // namespace gpumux::driver
