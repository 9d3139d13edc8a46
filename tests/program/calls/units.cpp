// Relocatable code of several translation units.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel total_kernel("total");

/// nvcc -rdc=true: a kernel whose function and variable another unit has, which the host sets.
void units() {
  int* const out = device<int>(1);
  const int seven = 7;
  CHECK(cudaMemcpyToSymbol(&offset, &seven, sizeof(seven), 0, kHostToDevice));
  CHECK(launch(total_kernel, {1}, {1}, 0, nullptr, out));
  int total = 0;
  CHECK(cudaMemcpy(&total, out, sizeof(total), kDeviceToHost));
  int calls = 0;
  CHECK(cudaMemcpyFromSymbol(&calls, &seen, sizeof(calls), 0, kDeviceToHost));
  std::printf("%d %d\n", total, calls);
}

const Case units_case("units", units, Case::Units::All);
const Case units_without_case("units-without", units, Case::Units::WithoutOffset);

}  // namespace
