// Table 2 of dai18 (HPCA 2018): its 13 applications, what their blocks take of an SM, and what it measured of
// each alone. The applications dai18/NAME take their metadata from it,
// `inspect` and `run` print it beside ours.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpumux::benchmarks {

/// One row. Registers and shared memory are the whole numbers that give the printed occupancies on an SM of
/// 65536 registers, 96 KB, 3072 threads and 16 blocks (dai18-maxwell).
struct Table2Row {
  std::string_view app;     // "cp" of dai18/cp
  std::string_view kernel;  // ours
  std::uint32_t threads;    // of a block
  std::uint32_t registers;  // per thread
  std::uint32_t shared_bytes;
  // As printed: percent of the SM that the blocks that fit take.
  double registers_percent;
  double shared_percent;
  double threads_percent;
  double blocks_percent;
  // As printed: of a run alone.
  double compute_per_memory;    // Cinst/Minst
  double requests_per_memory;   // Req/Minst
  double miss_rate;             // l1d_miss_rate
  double reservation_failures;  // l1d_rsfail_rate, per L1 access
  char type;                    // C, or M: more than 20% of the cycles are LSU stalls
};

inline constexpr std::array<Table2Row, 13> kDai18Table2 = {{
    {"cp", "cutcp_words", 128, 28, 4116, 87.5, 67.0, 66.7, 100.0, 4, 2, 0.45, 0.04, 'C'},
    {"hs", "calculate_temp", 256, 36, 3076, 98.4, 21.9, 58.3, 43.8, 7, 3, 0.97, 1.53, 'C'},
    {"dc", "dxtc_compress", 64, 36, 2046, 56.2, 33.3, 33.3, 100.0, 5, 1, 0.09, 0.17, 'C'},
    {"pf", "dynproc", 256, 16, 2048, 75.0, 25.0, 100.0, 75.0, 6, 2, 0.99, 0.00, 'C'},
    {"bp", "layerforward_over", 256, 12, 1090, 56.2, 13.3, 100.0, 75.0, 6, 2, 0.80, 0.33, 'C'},
    {"bs", "bfs_expand", 512, 16, 0, 75.0, 0.0, 100.0, 37.5, 4, 1, 1.00, 0.00, 'C'},
    {"st", "stencil_rows", 512, 16, 0, 75.0, 0.0, 100.0, 37.5, 4, 1, 0.67, 1.15, 'C'},
    {"3m", "mm3_first", 256, 12, 0, 56.2, 0.0, 100.0, 75.0, 2, 1, 0.63, 5.45, 'M'},
    {"sv", "spmv_jds", 192, 16, 0, 75.0, 0.0, 100.0, 100.0, 3, 3, 0.78, 5.23, 'M'},
    {"cd", "cfd_flux", 64, 64, 0, 100.0, 0.0, 33.3, 100.0, 9, 6, 0.96, 7.23, 'M'},
    {"s2", "sad_larger", 128, 16, 0, 50.0, 0.0, 66.7, 100.0, 2, 2, 0.92, 6.80, 'M'},
    {"ks", "invert_mapping", 256, 12, 0, 56.2, 0.0, 100.0, 75.0, 3, 17, 1.00, 7.96, 'M'},
    {"ax", "atax_product", 256, 12, 0, 56.2, 0.0, 100.0, 75.0, 2, 11, 0.97, 79.70, 'M'},
}};

/// The row of application `name` ("dai18/cp"); nullptr when it is none of these.
[[nodiscard]] constexpr const Table2Row* dai18_row(std::string_view name) {
  constexpr std::string_view kPrefix = "dai18/";
  if (!name.starts_with(kPrefix)) return nullptr;
  for (const Table2Row& row : kDai18Table2) {
    if (row.app == name.substr(kPrefix.size())) return &row;
  }
  return nullptr;
}

}  // namespace gpumux::benchmarks
