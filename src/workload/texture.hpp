// Textures as data: the properties of a texture object, the layout of arrays in device memory, and an
// application's table of texture objects (docs/textures.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "isa/instruction.hpp"

namespace gpumux::workload {

class DeviceMemory;

enum class ChannelKind : std::uint8_t { Signed, Unsigned, Float };

/// Format of a texel: 1, 2 or 4 channels of 8, 16 or 32 bits. Floats have 16 or 32 bits.
struct TexelFormat {
  ChannelKind kind = ChannelKind::Float;
  std::uint8_t bits = 32;
  std::uint8_t channels = 1;
  /// Bytes per texel: 1 to 16, a power of two.
  [[nodiscard]] std::uint32_t bytes() const { return std::uint32_t{bits} / 8 * channels; }
  friend bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

/// Extents in texels as in CUDA. height 0: one dimension. depth 0: at most two dimensions. layers 0: not
/// layered.
struct ArrayShape {
  TexelFormat format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t depth = 0;
  std::uint32_t layers = 0;
};

/// A CUDA array in device memory. One-dimensional rows are contiguous, each layer starts at a new line. A
/// layer or slice of two dimensions consists of tiles of 32 bytes x 4 rows, one line of 128 bytes each, row
/// by row of tiles. So texels that are near to each other in both dimensions share lines.
struct TextureArray {
  static constexpr std::uint32_t kTileBytes = 32;  // bytes of a row in a tile: one sector
  static constexpr std::uint32_t kTileRows = 4;

  Address address = 0;
  ArrayShape shape;

  [[nodiscard]] std::uint32_t rows() const { return shape.height == 0 ? 1 : shape.height; }
  /// Number of slices or layers.
  [[nodiscard]] std::uint32_t slices() const {
    return shape.depth != 0 ? shape.depth : shape.layers != 0 ? shape.layers : 1;
  }
  [[nodiscard]] std::uint64_t slice_bytes() const {
    const std::uint64_t row = std::uint64_t{shape.width} * shape.format.bytes();
    if (shape.height == 0) return (row + kLineBytes - 1) / kLineBytes * kLineBytes;
    return tiles_across() * ((shape.height + kTileRows - 1) / kTileRows) * kLineBytes;
  }
  /// Bytes of the whole array in device memory.
  [[nodiscard]] std::uint64_t bytes() const { return slice_bytes() * slices(); }
  /// Bytes of the texels, without padding.
  [[nodiscard]] std::uint64_t texel_bytes() const {
    return std::uint64_t{shape.width} * shape.format.bytes() * rows() * slices();
  }
  /// Offset in bytes of texel x of row y of a slice or layer, from the array's first byte.
  [[nodiscard]] std::uint64_t offset(std::uint32_t x, std::uint32_t y, std::uint32_t slice) const {
    return offset_of_byte(std::uint64_t{x} * shape.format.bytes(), y, slice);
  }
  /// Offset in bytes of byte `in_row` of row y of a slice or layer, from the array's first byte.
  [[nodiscard]] std::uint64_t offset_of_byte(std::uint64_t in_row, std::uint32_t y,
                                             std::uint32_t slice) const {
    const std::uint64_t first = slice_bytes() * slice;
    if (shape.height == 0) return first + in_row;
    const std::uint64_t tile = (y / kTileRows) * tiles_across() + in_row / kTileBytes;
    return first + tile * kLineBytes + (y % kTileRows) * kTileBytes + in_row % kTileBytes;
  }

 private:
  [[nodiscard]] std::uint64_t tiles_across() const {
    return (std::uint64_t{shape.width} * shape.format.bytes() + kTileBytes - 1) / kTileBytes;
  }
};

/// Level `level` of the mipmap whose first level is `first`. Each level halves the extents, down to 1, and
/// keeps the number of layers. The levels are stored one after the other.
[[nodiscard]] TextureArray mipmap_level(const TextureArray& first, std::uint32_t level);
/// Bytes of the first `levels` levels of a mipmap.
[[nodiscard]] std::uint64_t mipmap_bytes(const TextureArray& first, std::uint32_t levels);
/// Number of levels of a full mipmap, down to a single texel.
[[nodiscard]] std::uint32_t most_mipmap_levels(const ArrayShape& shape);

/// The bytes of an array in its device memory layout. `texels` has the host's order: x fastest, then y, then
/// z or the layer, without gaps. Throws SimulationFault when there are too many or too few bytes.
[[nodiscard]] std::vector<std::byte> lay_out(const TextureArray& array, std::span<const std::byte> texels);

enum class AddressMode : std::uint8_t { Wrap, Clamp, Mirror, Border };
enum class FilterMode : std::uint8_t { Point, Linear };
enum class ReadMode : std::uint8_t { ElementType, NormalizedFloat };

/// The memory that a texture object reads.
struct TextureResource {
  enum class Kind : std::uint8_t {
    Linear,  // `width` texels from `array.address` on, read by integer coordinates only
    Pitch2D,
    Array,
    Cube,        // an array of six layers: the faces +x, -x, +y, -y, +z, -z
    LayeredCube  // an array of several cubes, six layers each
  };
  Kind kind = Kind::Linear;
  TextureArray array;             // Array and cubes: the first level; else: address and extents
  std::uint64_t pitch_bytes = 0;  // Pitch2D: bytes from row to row, a multiple of 32
  std::uint32_t levels = 1;       // number of mipmap levels
  /// True for an array or cube map, false for linear or pitched memory.
  [[nodiscard]] bool is_array() const { return kind >= Kind::Array; }

  static TextureResource linear(Address address, TexelFormat format, std::uint32_t texels) {
    return {Kind::Linear, {address, {format, texels, 0, 0, 0}}, 0, 1};
  }
  static TextureResource pitch2d(Address address, TexelFormat format, std::uint32_t width,
                                 std::uint32_t height, std::uint64_t pitch_bytes) {
    return {Kind::Pitch2D, {address, {format, width, height, 0, 0}}, pitch_bytes, 1};
  }
  static TextureResource of(const TextureArray& array, std::uint32_t levels = 1) {
    return {Kind::Array, array, 0, levels};
  }
  static TextureResource cube(const TextureArray& array, bool layered = false, std::uint32_t levels = 1) {
    return {layered ? Kind::LayeredCube : Kind::Cube, array, 0, levels};
  }
};

/// The read mode of a texture object. The defaults are those of a zeroed cudaTextureDesc.
struct TextureSettings {
  std::array<AddressMode, 3> address{AddressMode::Wrap, AddressMode::Wrap, AddressMode::Wrap};
  FilterMode filter = FilterMode::Point;
  ReadMode read = ReadMode::ElementType;
  bool normalized = false;        // coordinates are in the range 0 to 1
  std::array<float, 4> border{};  // for integers read without conversion: their bits
  // Mipmaps: filtering between levels, bias of the level, and the range to which the level is clamped.
  FilterMode level_filter = FilterMode::Point;
  float level_bias = 0;
  float least_level = 0;
  float most_level = 0;
};

/// A texture or surface object, with properties that are derived once instead of at each access.
struct Texture {
  TextureResource resource;
  TextureSettings settings;
  std::uint64_t destroyed_at = kNever;  // TextureTable::time()
  bool surface = false;
  bool reads_floats = false;    // results are f32
  std::uint8_t dimensions = 1;  // without layers
  bool layered = false;
  bool cube = false;                                           // slices are faces, six per layer
  isa::TextureGeometry geometry = isa::TextureGeometry::None;  // geometry of the instructions that access it
  std::array<std::uint32_t, 3> extent{1, 1, 1};                // in texels, by axis
  std::uint32_t slices = 1;
  std::uint32_t texel_bytes = 0;
  std::uint64_t bytes = 0;       // size of its memory
  std::vector<Texture> further;  // mipmap levels after the first

  [[nodiscard]] Address address() const { return resource.array.address; }
  /// Device address of a texel, which must be inside the extents.
  [[nodiscard]] Address texel(std::uint32_t x, std::uint32_t y, std::uint32_t slice) const {
    switch (resource.kind) {
      case TextureResource::Kind::Linear: break;
      case TextureResource::Kind::Pitch2D:
        return address() + y * resource.pitch_bytes + std::uint64_t{x} * texel_bytes;
      case TextureResource::Kind::Array:
      case TextureResource::Kind::Cube:
      case TextureResource::Kind::LayeredCube: return address() + resource.array.offset(x, y, slice);
    }
    return address() + std::uint64_t{x} * texel_bytes;
  }
  /// The instruction that reads the object: "tex.2d", "suld.a1d".
  [[nodiscard]] std::string read_by() const;
};

// Error messages about descriptions, empty for a valid one. Messages about textures and surfaces are written
// to follow the object's name.
[[nodiscard]] std::string shape_error(const ArrayShape& shape);
[[nodiscard]] std::string texture_error(const TextureResource& resource,
                                        const TextureSettings& settings = {});
/// Bytes of memory of a valid resource, from its address on.
[[nodiscard]] std::uint64_t texture_bytes(const TextureResource& resource);

/// The texture and surface objects of one application. Handles are never reused, within or across
/// applications. Not thread safe.
class TextureTable {
 public:
  explicit TextureTable(const DeviceMemory& memory) : memory_(&memory) {}

  /// Creates a texture object. Throws SimulationFault with a message for descriptions that CUDA refuses and
  /// for memory that is not allocated.
  std::uint64_t create(const TextureResource& resource, const TextureSettings& settings);
  /// Creates a surface object for an array.
  std::uint64_t create_surface(const TextureArray& array);
  /// Destroys an object. Throws SimulationFault for an invalid handle.
  void destroy(std::uint64_t handle);
  /// A logical time: the number of objects that were destroyed so far. Kernels that were launched before the
  /// destruction of an object can still use it, even if they run later, as on a GPU.
  [[nodiscard]] std::uint64_t time() const { return destroyed_; }
  /// The object for a kernel that was launched at `time`, or nullptr if the handle is invalid then.
  [[nodiscard]] const Texture* find(std::uint64_t handle, std::uint64_t time) const {
    const std::uint64_t index = handle - first_handle();
    if (index >= textures_.size() || textures_[index].destroyed_at <= time) return nullptr;
    return &textures_[index];
  }
  [[nodiscard]] const Texture* find(std::uint64_t handle) const { return find(handle, time()); }
  /// A message why find() returned nullptr.
  [[nodiscard]] std::string describe(std::uint64_t handle) const;
  /// Throws SimulationFault for a shape that no array has.
  void check(const ArrayShape& shape) const;

 private:
  [[nodiscard]] std::uint64_t first_handle() const;
  [[nodiscard]] Texture made(const char* what, const TextureResource& resource,
                             const TextureSettings& settings) const;
  [[noreturn]] void fail(const std::string& what) const;
  const DeviceMemory* memory_;
  std::vector<Texture> textures_;  // by handle; destroyed objects are kept
  std::uint64_t destroyed_ = 0;
};

}  // namespace gpumux::workload
