// gpumux validate --hardware: compares microbenchmark figures of hardware with ours.
#pragma once

#include <string>
#include <vector>

namespace gpumux::cli {

struct HardwareOptions {
  std::string only;              // figures or machine titles that contain this text
  std::vector<std::string> set;  // settings for all machines
  std::string json;              // file, or empty
  unsigned threads = 1;
};

/// Throws UserError if no figure is selected.
void validate_hardware(const HardwareOptions& options);

}  // namespace gpumux::cli
