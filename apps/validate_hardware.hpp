// gpumux validate --hardware: what microbenchmarks measure of hardware, beside ours.
#pragma once

#include <string>
#include <vector>

namespace gpumux::cli {

struct HardwareOptions {
  std::string only;              // figures whose text, or machine's title, contains this
  std::vector<std::string> set;  // settings of all machines
  std::string json;              // file, or empty
  unsigned threads = 1;
};

/// Throws UserError where nothing is left of the figures.
void validate_hardware(const HardwareOptions& options);

}  // namespace gpumux::cli
