// Every kernel in the tree leaves the same memory with and without optimisation, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <fmt/core.h>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "emulator/program.hpp"
#include "ptx/parse.hpp"

namespace gpumux {
namespace {

class NullSink : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view) override {}
};

struct Outcome {
  std::string fault;              // empty: ran to its end
  std::vector<std::byte> memory;  // of all buffers
};

/// Kernels whose code fixes the block: with another one their threads race for shared memory, or with another
/// grid their blocks for the same elements.
std::optional<Dim3> fixed_shape(const std::string& kernel) {
  static const std::map<std::string, Dim3> shapes = {{"lud_diagonal", {16, 1, 1}},
                                                     {"lud_perimeter", {32, 1, 1}},
                                                     {"lud_internal", {16, 16, 1}},
                                                     {"sgemm_nt", {16, 8, 1}},
                                                     {"align_tiles", {16, 1, 1}},
                                                     {"layerforward", {16, 16, 1}},
                                                     {"adjust_weights", {16, 16, 1}},
                                                     {"_Z5callsPii6MatrixP6float2", {32, 1, 1}},
                                                     {"dynproc", {256, 1, 1}},
                                                     {"calculate_temp", {16, 16, 1}},
                                                     {"track_points", {512, 1, 1}},
                                                     {"gradient_flow", {320, 1, 1}},
                                                     {"sort_block", {128, 1, 1}},
                                                     {"sort_tile", {256, 1, 1}},
                                                     {"scan_parts", {512, 1, 1}},
                                                     {"pair_histograms", {256, 1, 1}},
                                                     {"sort_tiles", {256, 1, 1}},
                                                     {"move_tiles", {256, 1, 1}},
                                                     {"find_range", {512, 1, 1}},
                                                     {"pack_samples", {64, 1, 1}},
                                                     {"count_range", {768, 1, 1}},
                                                     {"gather", {8, 4, 2}},
                                                     {"extract", {256, 1, 1}},
                                                     {"prepare", {256, 1, 1}},
                                                     {"reduce", {256, 1, 1}},
                                                     {"srad1", {256, 1, 1}},
                                                     {"srad2", {256, 1, 1}},
                                                     {"compress", {256, 1, 1}},
                                                     {"convsep_rows", {16, 4, 1}},
                                                     {"convsep_columns", {16, 8, 1}},
                                                     {"convtex_rows", {16, 12, 1}},
                                                     {"convtex_columns", {16, 12, 1}},
                                                     {"dcttex_8x8", {8, 8, 1}},
                                                     {"transpose_tiles", {16, 16, 1}},
                                                     {"transpose_coarse", {16, 16, 1}},
                                                     {"count_bytes", {192, 1, 1}},
                                                     {"merge_counts", {256, 1, 1}},
                                                     {"haar_levels", {128, 1, 1}},
                                                     {"price_options", {256, 1, 1}},
                                                     {"dct_8x8", {8, 4, 2}},
                                                     {"merge_sort_tile", {512, 1, 1}},
                                                     {"sample_ranks", {256, 1, 1}},
                                                     {"merge_ranks", {256, 1, 1}},
                                                     {"merge_intervals", {128, 1, 1}},
                                                     {"gemm_wmma", {128, 1, 1}},
                                                     {"gemm_mma", {128, 1, 1}},
                                                     {"gemm_tf32", {32, 1, 1}}};
  const auto found = shapes.find(kernel);
  return found == shapes.end() ? std::nullopt : std::optional(found->second);
}

/// Which of its pointers are textures, the first one 1, where a kernel fetches.
std::set<std::size_t> textures_of(const isa::Function& kernel) {
  static const std::map<std::string, std::set<std::size_t>> known = {
      {"gicov", {1, 2}}, {"dilate", {1}}, {"match_queries", {2, 3}}, {"print_matches", {1}}};
  const bool fetches = std::any_of(kernel.code.begin(), kernel.code.end(),
                                   [](const isa::Instruction& inst) { return inst.op == isa::Opcode::Tex; });
  if (!fetches) return {};
  const auto found = known.find(kernel.name);
  return found == known.end() ? std::set<std::size_t>{2} : found->second;
}

constexpr std::size_t kBufferBytes = 160 * 1024;

/// Buffers for pointers (small integers or moderate floats, by seed), small numbers for scalars.
Outcome run_kernel(const std::string& text, const std::string& file, const isa::Function& kernel,
                   const ptx::CompileOptions& options, std::uint64_t seed) {
  Random random(seed);
  workload::DeviceMemory memory(0);
  NullSink sink;
  const auto compiled = emulator::compile_module(text, file, options);
  emulator::LoadedModule module(compiled, memory, 0, &sink);
  const emulator::KernelInfo* info = module.find(kernel.name);
  std::string parameters(kernel.param_bytes, '\0');
  std::vector<Address> buffers;
  unsigned numbers = 0;
  const std::set<std::size_t> textures = textures_of(kernel);
  for (const isa::Param& param : kernel.params) {
    const unsigned bytes = param.bytes;
    if (bytes == 8 && !param.is_array && param.type != isa::Type::F64) {
      const Address buffer = memory.allocate(kBufferBytes);
      const bool floats = random.below(2) != 0;
      std::vector<std::uint32_t> words(kBufferBytes / 4);
      for (std::uint32_t& word : words) {
        const float value = random.uniform(0.25F, 4.0F);
        word = floats ? std::bit_cast<std::uint32_t>(value) : random.below(24);
      }
      memory.write(buffer, std::as_bytes(std::span(words)));
      buffers.push_back(buffer);
      Address inside = buffer + 16384;  // small negative indices stay inside too
      if (textures.contains(buffers.size())) {
        inside = memory.textures().create(workload::TextureResource::pitch2d(buffer, {}, 61, 100, 256), {});
      }
      std::memcpy(parameters.data() + param.offset, &inside, 8);
    } else if (param.type == isa::Type::F32) {
      const float value = random.uniform(0.25F, 2.0F);
      std::memcpy(parameters.data() + param.offset, &value, 4);
    } else if (bytes == 4) {
      constexpr std::array<std::uint32_t, 6> kSizes = {1, 2, 7, 16, 32, 37};
      std::uint32_t value = kSizes[random.below(kSizes.size())];
      // Matrices large enough that threads do not write the same elements; lud's offset is its second number.
      if (fixed_shape(kernel.name)) value = numbers == 1 && kernel.name.starts_with("lud") ? 16 : 128;
      ++numbers;
      std::memcpy(parameters.data() + param.offset, &value, 4);
    }
  }
  emulator::LaunchConfig config;
  config.block = random.below(2) != 0 ? Dim3{32, 2, 1} : Dim3{16, 16, 1};
  if (kernel.max_threads != 0 && config.block.count() > kernel.max_threads)
    config.block = {kernel.max_threads, 1, 1};
  config.grid = {2, 1 + random.below(2), 1};
  if (const auto shape = fixed_shape(kernel.name)) {
    config.block = *shape;
    config.grid = {1, 1, 1};
  }
  config.dynamic_shared_bytes = kernel.uses_dynamic_shared ? 4096 : 0;
  config.parameters = parameters;
  config.max_warp_instructions = 50'000;
  Outcome outcome;
  try {
    const auto launch = module.launch(*info, config);
    (void)emulator::run_functionally(*launch, 4);
  } catch (const SimulationFault& fault) {
    outcome.fault = fault.what();
  }
  for (const Address buffer : buffers) {
    std::vector<std::byte> bytes(kBufferBytes);
    memory.read(buffer, bytes);
    outcome.memory.insert(outcome.memory.end(), bytes.begin(), bytes.end());
  }
  return outcome;
}

std::vector<std::string> ptx_files() {
  std::vector<std::string> files;
  for (const char* folder : {"/benchmarks", "/tests"}) {
    const std::string root = std::string(GPUMUX_SOURCE_DIR) + folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".ptx") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Reads a clock or allocates: results may differ between compilations.
bool depends_on_time(const isa::Function& compiled) {
  return std::any_of(compiled.code.begin(), compiled.code.end(), [](const isa::Instruction& inst) {
    if (inst.op == isa::Opcode::Syscall) return inst.service == isa::Service::Malloc;
    return std::any_of(inst.src.begin(), inst.src.end(), [](const isa::Operand& operand) {
      return operand.kind == isa::Operand::Kind::Special &&
             operand.reg >= static_cast<std::uint32_t>(isa::Special::Clock) &&
             operand.reg <= static_cast<std::uint32_t>(isa::Special::GlobalTimerHi);
    });
  });
}

constexpr std::array kFault = {"/btree.ptx", "/mummer.ptx", "/lbm.ptx"};

class Differential : public testing::TestWithParam<std::string> {};

TEST_P(Differential, OptimisedCodeComputesTheSameMemory) {
  const std::string text = read_file(GetParam());
  isa::Module module;
  try {
    module = ptx::parse(text, GetParam());
  } catch (const UserError& error) {
    GTEST_SKIP() << "not meant to parse: " << error.what();
  }
  unsigned compared = 0;
  for (const isa::Function& kernel : module.functions) {
    if (!kernel.is_kernel) continue;
    if (depends_on_time(ptx::compile(module, kernel, {.optimize = 0}))) continue;
    const unsigned before = compared;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const Outcome fused = run_kernel(text, GetParam(), kernel, {.optimize = 0}, seed);
      const Outcome unfused = run_kernel(text, GetParam(), kernel, {.optimize = 0, .contract = false}, seed);
      const ptx::CompileOptions others[] = {
          {}, {.max_registers = 24}, {.level = isa::CodeLevel::Ptx, .max_registers = 255}};
      for (const ptx::CompileOptions& other : others) {
        const Outcome& plain = other.level == isa::CodeLevel::Ptx ? unfused : fused;
        const Outcome physical = run_kernel(text, GetParam(), kernel, other, seed);
        const std::string what =
            fmt::format("{} seed {} registers {}{}", kernel.name, seed, other.max_registers,
                        other.level == isa::CodeLevel::Ptx ? " as written" : "");
        EXPECT_EQ(plain.fault.empty(), physical.fault.empty())
            << what << ": '" << plain.fault << "' against '" << physical.fault << "'";
        if (!plain.fault.empty() || !physical.fault.empty()) continue;
        EXPECT_TRUE(plain.memory == physical.memory) << what;
        ++compared;
      }
    }
    if (compared == before) std::printf("%s faults on all random inputs\n", kernel.name.c_str());
  }
  RecordProperty("compared", static_cast<int>(compared));
  // Two follow what they read, so that anything but a tree faults; lbm's fields lie megabytes apart.
  const bool faults = std::any_of(std::begin(kFault), std::end(kFault),
                                  [](const char* file) { return GetParam().ends_with(file); });
  if (GetParam().find("/benchmarks/") != std::string::npos && !faults) {
    EXPECT_GT(compared, 0U);
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Tree, Differential, testing::ValuesIn(ptx_files()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Differential);

}  // namespace
}  // namespace gpumux
