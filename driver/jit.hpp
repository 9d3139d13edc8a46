// Options of CUDA's compiler of PTX, of which those of its logs act.
#pragma once

#include <cstddef>
#include <string>

#include "cudart/session.hpp"
#include "driver/abi.hpp"

namespace gpumux::driver {

class JitOptions {
 public:
  /// CUjit_option and their values, of which some are where something is written to.
  JitOptions(unsigned count, const int* options, void** values);
  /// To be called once, with what is wrong with the PTX; empty: nothing. Where the program has no log for it,
  /// it goes to standard error.
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
