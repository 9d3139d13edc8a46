// awatramani17/srad-1 to srad-6: one kernel of srad each, on its input in the first iteration. Numbers and
// registers as in Table 4.2.
#include <algorithm>

#include "benchmarks/kernel_program.hpp"
#include "benchmarks/srad/srad.hpp"
#include "embedded/srad.ptx.hpp"

namespace gpumux::benchmarks::srad {
namespace {

std::vector<float> to_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }
std::vector<double> to_doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

float spread_of_image(const std::vector<float>& image) {
  double sum = 0, squares = 0;
  for (const float value : image) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return spread_of(sum, squares, image.size());
}

/// Base of all six applications: an image, and one thread per cell.
class OneKernel : public KernelProgram {
 public:
  OneKernel(const Params& params, const char* kernel, std::uint32_t arrays)
      : kernel_(kernel), columns_(params.get("width")), rows_(params.get("height")) {
    params.require_memory(std::uint64_t{arrays} * sizeof(float) * cells());
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const final {
    return {kernel_, {blocks_for(cells(), kThreads)}, {kThreads}};
  }

 protected:
  [[nodiscard]] std::uint32_t cells() const { return columns_ * rows_; }
  /// The image after extract, which is the input of the next kernels.
  [[nodiscard]] std::vector<float> extracted_image(std::uint64_t seed) const {
    return to_floats(extracted(speckled(columns_, rows_, seed)));
  }

  const char* kernel_;
  std::uint32_t columns_, rows_;
};

class Extract final : public OneKernel {
 public:
  explicit Extract(const Params& params) : OneKernel(params, "extract", 1) {}
  void make_inputs(std::uint64_t seed) override { image_ = speckled(columns_, rows_, seed); }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    run.launch(image, cells());
    run.download(result_, image);
  }
  void check() override { check_close("srad: extracted", result_, extracted(image_), kOfFunction); }

 private:
  std::vector<float> image_, result_;
};

class Prepare final : public OneKernel {
 public:
  explicit Prepare(const Params& params) : OneKernel(params, "prepare", 3) {}
  void make_inputs(std::uint64_t seed) override { image_ = extracted_image(seed); }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    const auto sums = run.allocate<float>(cells());
    const auto squares = run.allocate<float>(cells());
    run.launch(image, sums, squares, cells());
    run.download(sums_, sums);
    run.download(squares_, squares);
  }
  void check() override {
    std::vector<float> expected;
    for (const float value : image_) expected.push_back(value * value);
    check_close("srad: sum", sums_, image_, Tolerance{});
    check_close("srad: square", squares_, expected, Tolerance{});
  }

 private:
  std::vector<float> image_, sums_, squares_;
};

/// The first of the launches that sum all cells, which does most of the work.
class Reduce final : public OneKernel {
 public:
  explicit Reduce(const Params& params) : OneKernel(params, "reduce", 2) {}
  void make_inputs(std::uint64_t seed) override {
    values_ = extracted_image(seed);
    for (const float value : values_) value_squares_.push_back(value * value);
  }
  void start(KernelRun& run) override {
    const auto sums = run.upload(values_);
    const auto squares = run.upload(value_squares_);
    run.launch(sums, squares, cells(), 1U);
    run.download(sums_, sums);
    run.download(squares_, squares);
  }
  void check() override {
    check_sums("srad: sum", sums_, values_);
    check_sums("srad: sum of squares", squares_, value_squares_);
  }

 private:
  /// Checks that the first number of each block is the block's sum, after eight additions, and that the other
  /// numbers are unchanged.
  static void check_sums(const char* what, const std::vector<float>& result,
                         const std::vector<float>& values) {
    std::vector<double> expected = to_doubles(values);
    std::vector<double> allowed(values.size());
    for (std::size_t first = 0; first < values.size(); first += kThreads) {
      for (std::size_t i = first + 1; i < std::min(first + kThreads, values.size()); ++i)
        expected[first] += expected[i];
      allowed[first] = sum_tolerance(8).relative * expected[first];
    }
    check_within(what, result, expected, allowed);
  }

  std::vector<float> values_, value_squares_;
  std::vector<float> sums_, squares_;
};

class Gradients final : public OneKernel {
 public:
  explicit Gradients(const Params& params) : OneKernel(params, "srad1", 6) {}
  void make_inputs(std::uint64_t seed) override {
    image_ = extracted_image(seed);
    spread_ = spread_of_image(image_);
  }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    const auto north = run.upload(neighbours(rows_, -1)), south = run.upload(neighbours(rows_, 1));
    const auto west = run.upload(neighbours(columns_, -1)), east = run.upload(neighbours(columns_, 1));
    const auto to_north = run.allocate<float>(cells()), to_south = run.allocate<float>(cells());
    const auto to_west = run.allocate<float>(cells()), to_east = run.allocate<float>(cells());
    const auto coefficient = run.allocate<float>(cells());
    run.launch(image, north, south, west, east, to_north, to_south, to_west, to_east, coefficient, rows_,
               cells(), spread_);
    run.download(north_, to_north);
    run.download(south_, to_south);
    run.download(west_, to_west);
    run.download(east_, to_east);
    run.download(coefficient_, coefficient);
  }
  void check() override {
    const Differences expected = differences(image_, rows_, spread_);
    // Each difference is rounded once.
    check_close("srad: to north", north_, to_floats(expected.north), Tolerance{});
    check_close("srad: to south", south_, to_floats(expected.south), Tolerance{});
    check_close("srad: to west", west_, to_floats(expected.west), Tolerance{});
    check_close("srad: to east", east_, to_floats(expected.east), Tolerance{});
    check_close("srad: coefficient", coefficient_, expected.coefficient,
                Tolerance{.absolute = kCoefficientRoundings * kFloatRounding});
  }

 private:
  std::vector<float> image_;
  float spread_ = 0;
  std::vector<float> north_, south_, west_, east_, coefficient_;
};

class Diffuse final : public OneKernel {
 public:
  explicit Diffuse(const Params& params) : OneKernel(params, "srad2", 6) {}
  void make_inputs(std::uint64_t seed) override {
    image_ = extracted_image(seed);
    to_ = differences(image_, rows_, spread_of_image(image_));
    for (std::vector<double>* values : {&to_.north, &to_.south, &to_.west, &to_.east, &to_.coefficient})
      *values = to_doubles(to_floats(*values));
  }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    const auto south = run.upload(neighbours(rows_, 1)), east = run.upload(neighbours(columns_, 1));
    const auto to_north = run.upload(to_floats(to_.north)), to_south = run.upload(to_floats(to_.south));
    const auto to_west = run.upload(to_floats(to_.west)), to_east = run.upload(to_floats(to_.east));
    const auto coefficient = run.upload(to_floats(to_.coefficient));
    run.launch(image, south, east, to_north, to_south, to_west, to_east, coefficient, rows_, cells(), kRate);
    run.download(result_, image);
  }
  void check() override {
    const Stepped expected = diffuse(image_, rows_, to_, kRate, 0);
    check_within("srad: image", result_, expected.image, expected.allowed);
  }

 private:
  std::vector<float> image_;
  Differences to_;  // rounded to float
  std::vector<float> result_;
};

class Compress final : public OneKernel {
 public:
  explicit Compress(const Params& params) : OneKernel(params, "compress", 1) {}
  void make_inputs(std::uint64_t seed) override { image_ = extracted_image(seed); }
  void start(KernelRun& run) override {
    const auto image = run.upload(image_);
    run.launch(image, cells());
    run.download(result_, image);
  }
  void check() override { check_close("srad: compressed", result_, compressed(image_), kOfFunction); }

 private:
  std::vector<float> image_, result_;
};

const KernelApp kExtract{
    .name = "awatramani17/srad-1",
    .description = "extraction of an image, SRAD - 1 of awatramani17",
    .params = {{"width", 1024, 2, 4096, "columns of the image"},
               {"height", 1024, 2, 4096, "rows of the image"}},
    .ptx_file = "benchmarks/srad/srad.ptx",
    .ptx_text = embedded::srad_ptx,
    .metadata = {.registers_per_thread = 12},
};
[[maybe_unused]] const bool registered_kernels =
    register_kernel_app<Extract>(kExtract) &&
    register_kernel_app<Prepare>(kExtract.with(
        "awatramani17/srad-2", "an image and its squares before they are summed, SRAD - 2 of awatramani17",
        {}, {.registers_per_thread = 12})) &&
    register_kernel_app<Reduce>(kExtract.with("awatramani17/srad-3",
                                              "sums of 256 numbers each, SRAD - 3 of awatramani17", {},
                                              {.registers_per_thread = 16})) &&
    register_kernel_app<Gradients>(
        kExtract.with("awatramani17/srad-4",
                      "differences and coefficients of diffusion of an image, SRAD - 4 of awatramani17", {},
                      {.registers_per_thread = 20})) &&
    register_kernel_app<Diffuse>(kExtract.with("awatramani17/srad-5",
                                               "diffusion of an image, SRAD - 5 of awatramani17", {},
                                               {.registers_per_thread = 20})) &&
    register_kernel_app<Compress>(kExtract.with("awatramani17/srad-6",
                                                "compression of an image, SRAD - 6 of awatramani17", {},
                                                {.registers_per_thread = 12}));

}  // namespace
}  // namespace gpumux::benchmarks::srad
