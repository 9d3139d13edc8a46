// The instruction format: the PTX front end produces it, the back end transforms it, the emulator executes
// it, and the timing model reads a summary (StaticInst). Before register allocation, registers are virtual
// (PTX's, unbounded). Afterwards, registers are physical 32-bit registers and aligned pairs of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"

namespace gpumux::isa {

enum class Type : std::uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,    // f32 with 10 bits of fraction, in a 32-bit register whose other bits are zero
  E4M3x2,  // two fp8 values with 4 bits of exponent and 3 of fraction, in 16 bits
  E5M2x2,
  F32,
  F64
};
/// Width in bits of one value (Pred: 1, f16x2: 32).
[[nodiscard]] unsigned width_bits(Type type);
[[nodiscard]] inline unsigned width_bytes(Type type) { return (width_bits(type) + 7) / 8; }
[[nodiscard]] bool is_float(Type type);   // f16 and all enumerators after it
[[nodiscard]] bool is_signed(Type type);  // s8..s64
[[nodiscard]] const char* name(Type type);

enum class Opcode : std::uint8_t {
  // Moves and conversions
  Mov,       // d = a; a may be a register, immediate, special register, symbol address or constant
  Pack,      // d = {src...}: mov.b64 d,{a,b} and friends; src[0] is the lowest part; type = type of d
  Unpack,    // {dst...} = a; a null part is Operand{}; type = type of a
  Cvt,       // d.type = a.type2, with rounding, ftz, sat
  CvtPack2,  // cvt.rn.f16x2.f32 d, a, b (a in the upper half)
  CvtaTo,    // cvta.to.SPACE: generic -> space address
  Cvta,      // cvta.SPACE: space address -> generic
  Isspacep,
  // Integer and float arithmetic, selected by `type`. With carry_in, Add, Sub and MadLo take a carry as their
  // last source. With carry_out, they write the carry to dst[1]. Carries are predicates.
  Add,
  Sub,
  MulLo,
  MulHi,
  MulWide,
  MadLo,
  MadHi,
  MadWide,
  Mul24,
  Mad24,
  Sad,
  Mul,
  Fma,
  Div,
  Rem,
  Rcp,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
  Abs,
  Neg,
  Min,
  Max,
  Copysign,
  Testp,
  Lea,  // d = a + (b << shift) at the width of `type`; when wide, b is 32 bits and sign-extended
        // (is_signed(type2)) or zero-extended; created only by the back end
  // Comparison and selection
  Set,
  Setp,
  Selp,
  Slct,
  // Bits
  And,
  Or,
  Xor,
  Not,
  Cnot,
  Lop3,
  Shl,
  Shr,
  Shf,
  Prmt,
  Popc,
  Clz,
  Bfind,
  Brev,
  Bfe,
  Bfi,
  Dp4a,
  Dp2a,
  // Memory: src[0] is the base address (register, symbol or none), to which `offset` is added
  Ld,
  St,
  Atom,
  Red,
  Prefetch,
  LdMatrix,         // loads `vector` 8x8 matrices of 16-bit elements from shared memory; lane l < 8 * vector
                    // holds the address of row l % 8 of matrix l / 8; each lane receives two elements of each
                    // matrix
  StMatrix,         // stores what LdMatrix loads; src[1..] are the matrices
  Tex,              // dst[0..3] = texel of texture src[0] at the coordinates src[1..] of `geometry`; the
                    // operands of `detail` follow the coordinates
  Txq,              // d = property `query` of the texture or surface src[0]
  SurfLd,           // dst[0..vector-1] = elements of surface src[0] at coordinates src[1..] of `geometry`
  SurfSt,           // stores what SurfLd loads; the values follow the coordinates
  SurfRed,          // performs `atomic` on a surface element; the value follows the coordinates
  CpAsync,          // copies from global memory, address src[1], to shared memory, address src[0] + offset;
                    // src[2]: bytes that are read, the rest of the width becomes 0; src[3]: a predicate,
                    // nothing is read where it is true
  CpAsyncCommit,    // puts the warp's copies that are in no group yet into a new group
  CpAsyncWait,      // waits until all but the `offset` youngest groups are complete
  Mbarrier,         // operation `mbarrier` on the barrier object at address src[0] of shared memory; src[1]:
                    // count, bytes, state or parity; `shift`: MbarrierForm
  MbarrierPending,  // d = number of missing arrivals in the state src[0]
  Notify,           // the warp stores one word to the SM's own address; created only by the back end
                    // (ptx/idempotence.hpp)
  // Communication inside a warp
  Shfl,
  Vote,
  Match,
  Activemask,
  Redux,
  MovMatrix,  // d = the 8x8 matrix of 16-bit elements in `a` of all lanes, transposed
  Mma,        // D = A * B + C on matrices that are distributed over all lanes; `matrix`: the shape
  // Synchronisation and time
  Bar,
  BarWarp,
  Membar,
  Nanosleep,
  // Control flow
  Label,  // pseudo instruction of virtual code: defines label `target`
  Bra,
  BrxIdx,
  Call,
  Ret,
  Exit,
  Trap,
  Nop,
  // Run-time services (vprintf, malloc, free, __assertfail, the device run time), selected by `service`
  Syscall
};
[[nodiscard]] bool is_special_function(Opcode op);  // rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh
[[nodiscard]] const char* name(Opcode opcode);

enum class Space : std::uint8_t { Generic, Global, Shared, Local, Const, Param };
[[nodiscard]] const char* name(Space space);

enum class Rounding : std::uint8_t { None, RN, RZ, RM, RP, RNI, RZI, RMI, RPI, RNA };

enum class Compare : std::uint8_t {
  None,
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  LO,
  LS,
  HI,
  HS,
  EQU,
  NEU,
  LTU,
  LEU,
  GTU,
  GEU,
  NUM,
  NAN_
};

enum class BoolOp : std::uint8_t { None, And, Or, Xor };

/// Operation of Atom, Red, Redux and Bar.red. For Mma of type B1, the operation that replaces the
/// multiplication.
enum class AtomicOp : std::uint8_t { None, Add, Min, Max, Inc, Dec, Exch, Cas, And, Or, Xor };

enum class ShflMode : std::uint8_t { None, Up, Down, Bfly, Idx };
enum class VoteMode : std::uint8_t { None, All, Any, Uni, Ballot };
enum class MatchMode : std::uint8_t { None, Any, All };
enum class BarMode : std::uint8_t { None, Sync, Arrive, RedPopc, RedAnd, RedOr };
/// Operation of Mbarrier. ArriveCopies is cp.async.mbarrier.arrive: an arrival that takes effect when the
/// thread's copies are complete.
enum class MbarrierMode : std::uint8_t {
  None,
  Init,
  Inval,
  Arrive,
  ArriveDrop,
  ArriveCopies,
  ExpectTx,
  CompleteTx,
  TestWait,
  TryWait
};
/// Bits of `shift` of an Mbarrier instruction.
enum MbarrierForm : std::uint8_t {
  kMbarrierExpectTx = 1,    // Arrive, ArriveDrop: expects src[1] more bytes, then arrives once
  kMbarrierNoComplete = 2,  // Arrive, ArriveDrop: this arrival must not end the phase
  kMbarrierNoinc = 4,       // ArriveCopies: the arrival is one of the barrier's expected ones
  kMbarrierParity = 8       // TestWait, TryWait: src[1] is the parity of a phase
};
enum class TestpMode : std::uint8_t { None, Finite, Infinite, Number, NotANumber, Normal, Subnormal };
/// Cache operator of a memory access. The timing model reads it: cg, cv, volatile and acquire skip the L1.
enum class CacheOp : std::uint8_t { None, CA, CG, CS, LU, CV, WB, WT, NC };
enum class Service : std::uint8_t {
  None,
  Vprintf,
  Malloc,
  Free,
  AssertFail,
  // Device run time: launches, memory and streams in kernels
  ParameterBuffer,
  LaunchDevice,
  GetLastError,
  PeekAtLastError,
  GetErrorString,
  GetErrorName,
  GetDeviceCount,
  GetDevice,
  DeviceGetAttribute,
  DeviceGetLimit,
  RuntimeGetVersion,
  StreamCreate,
  StreamDestroy,
  StreamWaitEvent,
  EventCreate,
  EventRecord,
  EventDestroy,
  FuncGetAttributes,
  Occupancy,
  CudaMalloc,
  CudaFree,
  MemcpyAsync,
  MemsetAsync
};
/// A run-time function that code calls by this name without defining it. `arguments` has a letter for each
/// argument: 'l' for 64 bits, 'i' for 32 bits, 'd' for three of 32 bits each.
struct ServiceFunction {
  const char* name;
  Service service;
  const char* arguments;
  bool per_thread = false;  // stream 0 means a stream of the calling thread
};
/// The run-time function with this name, or nullptr.
[[nodiscard]] const ServiceFunction* find_service(std::string_view function);
/// True if source `index` of a Syscall has 64 bits.
[[nodiscard]] bool reads_wide(Service service, std::size_t index);
/// True for a service that leaves work for the device. Instructions that the warp executed earlier then count
/// as done.
[[nodiscard]] bool enqueues(Service service);
[[nodiscard]] bool is_device_runtime(Service service);
/// True for a device run-time service that concerns streams or events of the grid.
[[nodiscard]] bool concerns_streams(Service service);
/// True for a device run-time service that returns an address instead of an error code.
[[nodiscard]] bool gives_address(Service service);
[[nodiscard]] const char* name(Service service);

enum class Special : std::uint16_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  Clock,
  ClockHi,
  Clock64,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  DynamicSmemSize,
  TotalSmemSize,
  EnvReg1,  // upper half of the workspace address with which the blocks of a cooperative launch synchronise;
            // 0 for other launches
  EnvReg2   // lower half of the address in EnvReg1
};
[[nodiscard]] const char* name(Special special);

/// Dimensions of a texture or surface. In arrays (A...), the first coordinate is the layer.
enum class TextureGeometry : std::uint8_t { None, D1, D2, D3, A1, A2, Cube, ACube };
/// Additional operands by which Tex selects a mipmap level. None: no operand, the first level. Level: the
/// level. Gradients: the differences of the coordinates in x, then those in y.
enum class TextureDetail : std::uint8_t { None, Level, Gradients };
/// Behaviour of a surface instruction with coordinates out of bounds.
enum class SurfaceBounds : std::uint8_t { None, Trap, Clamp, Zero };
/// Property that Txq reads.
enum class TextureQuery : std::uint8_t {
  None,
  Width,
  Height,
  Depth,
  ArraySize,
  ChannelDataType,
  ChannelOrder,
  NormalizedMode,
  FilterMode,
  AddressMode0,
  AddressMode1,
  AddressMode2,
  MipmapLevels
};
[[nodiscard]] const char* name(TextureGeometry geometry);
[[nodiscard]] const char* name(TextureQuery query);
[[nodiscard]] const char* name(SurfaceBounds bounds);
[[nodiscard]] constexpr bool is_layered(TextureGeometry geometry) {
  return geometry == TextureGeometry::A1 || geometry == TextureGeometry::A2 ||
         geometry == TextureGeometry::ACube;
}
/// Number of coordinates, including the layer.
[[nodiscard]] constexpr unsigned coordinates(TextureGeometry geometry) {
  switch (geometry) {
    case TextureGeometry::None: return 0;
    case TextureGeometry::D1: return 1;
    case TextureGeometry::D2:
    case TextureGeometry::A1: return 2;
    case TextureGeometry::D3:
    case TextureGeometry::Cube:
    case TextureGeometry::A2: return 3;
    case TextureGeometry::ACube: return 4;
  }
  return 0;
}

/// Type of the elements of the factors of a matrix product.
enum class MatrixType : std::uint8_t { None, F16, BF16, TF32, F64, S8, U8, S4, U4, B1, E4M3, E5M2 };
[[nodiscard]] const char* name(MatrixType type);
[[nodiscard]] unsigned width_bits(MatrixType type);  // width of an element in a register: 32 for TF32

/// Shape of an Mma instruction: D = A * B + C, where A has `rows` x `depth` and B `depth` x 8 elements. The
/// types of D and C are the instruction's `type` and `type2`: F16 (pairs in 32-bit registers), F32, S32 or
/// F64.
///
/// An instruction holds one register for each fragment of an operand: at most 4 of D, 4 of A, 2 of B and 4 of
/// C (in src, in this order). These are the limits of the hardware's tensor instructions from Turing on.
/// ptx/parse_matrix.cpp splits larger PTX instructions into several of these, as the hardware's compiler
/// does. So the scoreboard, the register allocator and the operand collector need no register ranges.
///
/// Fragments (PTX ISA, "Matrix Fragments for mma"), with e elements in a register, g = lane / 4, t = lane %
/// 4:
///   A, rows = 16: element j of register r is A[g + 8 (r % 2)][4 e (r / 2) + e t + j].
///   A, rows = 8: element j of register r is A[g][4 e r + e t + j].
///   B: element j of register r is B[4 e r + e t + j][g].
///   C and D: element i of a lane is C[g + 8 (i / 2)][2 t + i % 2].
struct MatrixShape {
  std::uint8_t rows = 0;    // 8 or 16
  std::uint16_t depth = 0;  // 4 to 256
  MatrixType a = MatrixType::None;
  MatrixType b = MatrixType::None;
  // Volta's m8n8k4 on f16: four products of 8x8x4 at once. Product q uses lanes 4 q to 4 q + 3 and 4 q + 16
  // to 4 q + 19, with layouts of its own (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16").
  bool quads = false;
  bool a_columns = false;  // quads: A has the layout of .col
  bool b_rows = false;     // quads: B has the layout of .row
  std::uint8_t half = 0;   // quads, D of F32: computes the columns whose bit 2 equals `half`
  [[nodiscard]] explicit operator bool() const { return rows != 0; }
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
/// Number of registers for A, for B, and for C or D of type `type`, in an Mma of this shape.
[[nodiscard]] unsigned a_registers(const MatrixShape& shape);
[[nodiscard]] unsigned b_registers(const MatrixShape& shape);
[[nodiscard]] unsigned c_registers(const MatrixShape& shape, Type type);

struct Operand {
  enum class Kind : std::uint8_t {
    None,
    Reg32,    // register `reg`; holds 8, 16 and 32 bit values (narrow values are zero-extended)
    Reg64,    // register `reg`; virtual: numbered separately; physical: the even index of a register pair
    Pred,     // predicate `reg`; `negate` inverts the value when it is read
    Imm,      // the raw bits `imm`, at the width of the type that reads them
    Special,  // `reg` is a Special
    Symbol,   // address of Module::symbols[reg], plus `imm`
    Const     // byte offset `imm` in the constant bank of the kernel's parameters
  };
  Kind kind = Kind::None;
  bool negate = false;
  std::uint32_t reg = 0;
  std::uint64_t imm = 0;

  [[nodiscard]] bool is_register() const {
    return kind == Kind::Reg32 || kind == Kind::Reg64 || kind == Kind::Pred;
  }
  explicit operator bool() const { return kind != Kind::None; }
  friend bool operator==(const Operand&, const Operand&) = default;

  static Operand reg32(std::uint32_t index) { return {Kind::Reg32, false, index, 0}; }
  static Operand reg64(std::uint32_t index) { return {Kind::Reg64, false, index, 0}; }
  static Operand pred(std::uint32_t index, bool negate = false) { return {Kind::Pred, negate, index, 0}; }
  static Operand immediate(std::uint64_t bits) { return {Kind::Imm, false, 0, bits}; }
  static Operand special(Special which) {
    return {Kind::Special, false, static_cast<std::uint32_t>(which), 0};
  }
  static Operand symbol(std::uint32_t index, std::uint64_t offset = 0) {
    return {Kind::Symbol, false, index, offset};
  }
  static Operand constant(std::uint64_t offset) { return {Kind::Const, false, 0, offset}; }
};

/// Bits of Instruction::shift of a floating-point Fma that change the sign of a * b, or of c, before the
/// operation. PTX has no notation for them. Contraction of subtractions creates them (ptx/contract.cpp).
inline constexpr std::uint8_t kFmaMinusProduct = 1;
inline constexpr std::uint8_t kFmaMinusAddend = 2;

inline constexpr std::uint32_t kNoTarget = 0xffff'ffffU;

struct Instruction {
  Opcode op = Opcode::Nop;
  Type type = Type::None;   // type of the operation and of d
  Type type2 = Type::None;  // Cvt, Set, Slct: type of the source; Tex: type of coordinates; MulWide: unused
                            // (the type is a's)
  Space space = Space::Generic;
  Rounding rounding = Rounding::None;
  Compare compare = Compare::None;
  BoolOp bool_op = BoolOp::None;
  AtomicOp atomic = AtomicOp::None;
  ShflMode shfl = ShflMode::None;
  VoteMode vote = VoteMode::None;
  MatchMode match = MatchMode::None;
  BarMode bar = BarMode::None;
  MbarrierMode mbarrier = MbarrierMode::None;
  TestpMode testp = TestpMode::None;
  CacheOp cache = CacheOp::None;
  Service service = Service::None;
  TextureGeometry geometry = TextureGeometry::None;  // Tex, SurfLd, SurfSt, SurfRed
  TextureDetail detail = TextureDetail::None;        // Tex
  SurfaceBounds bounds = SurfaceBounds::None;        // SurfLd, SurfSt, SurfRed
  bool formatted = false;                            // SurfSt: x counts texels, values are converted (sust.p)
  TextureQuery query = TextureQuery::None;           // Txq
  bool gather = false;                               // Tex: one component, `shift`, of four texels (tld4)
  std::uint8_t vector = 1;                           // Ld, St: elements (1, 2, 4); Pack, Unpack: parts (2,
                                                     // 4); LdMatrix, StMatrix: matrices (1, 2, 4)
  std::uint8_t shift = 0;  // Lea: shift; Lop3: table; Prmt: mode (0 default, 1 f4e, 2 b4e, 3 rc8, 4 ecl, 5
                           // ecr, 6 rc16); Shf: bit 0 right, bit 1 clamp; Bfind: bit 0 shiftamt; Dp4a/Dp2a:
                           // bit 0 hi; Mul24/Mad24: bit 0 hi; Fma: kFmaMinus...; Membar: scope (0 block, 1
                           // GPU, 2 system); Mbarrier: MbarrierForm
  bool approx = false;
  bool full = false;  // div.full
  bool ftz = false;
  bool sat = false;
  bool wide = false;     // Lea
  bool uniform = false;  // bra.uni, call.uni: never diverges
  bool is_volatile = false;
  bool acquire_release = false;  // ld.acquire, st.release, atom with semantics: ordered, bypasses L1
  bool relaxed = false;          // ld.relaxed, st.relaxed: other warps may wait for the access
  bool carry_in = false;
  bool carry_out = false;
  bool nan = false;        // min.NaN / max.NaN
  bool transpose = false;  // LdMatrix, StMatrix
  bool relu = false;       // Cvt from and to fp8: negative values become 0
  MatrixShape matrix;      // Mma

  Operand guard;  // None, or a predicate
  std::array<Operand, 4> dst;
  std::array<Operand, 12> src;
  std::int64_t offset = 0;               // added to a memory address; CpAsyncWait: groups that may be pending
  std::uint32_t target = kNoTarget;      // Label, Bra: label id in virtual code, pc in final code
  std::uint32_t reconverge = kNoTarget;  // final code: pc of the immediate post-dominator
  std::uint32_t call = kNoTarget;        // Call: index into Function::calls; BrxIdx: into branch_tables
  std::uint32_t hazard = kNoTarget;      // index into Function::hazards: no restart after this instruction
  std::uint32_t line = 0;                // line in the PTX text
  std::uint32_t column = 0;
};

/// A reason why a block that has executed an instruction may no longer be idempotent (ptx/idempotence.hpp).
struct Hazard {
  enum class Kind : std::uint8_t {
    Atomic,    // changes global memory depending on its content
    Overwrite  // stores to an address that a load may have read
  };
  Kind kind = Kind::Atomic;
  std::string where;            // Overwrite: target of the store, "parameter out" or "variable count"
  std::uint32_t read_line = 0;  // Overwrite: line of such a load in the PTX
};

/// A named piece of storage: .global, .const and .shared variables, functions whose address is taken, and the
/// .local frame.
struct Symbol {
  enum class Kind : std::uint8_t { Global, Const, Shared, ExternShared, Local, Function };
  Kind kind = Kind::Global;
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t align = 1;
  std::string initial;  // initial bytes; if fewer than `bytes`, the rest is 0
  struct Relocation {
    std::uint64_t offset;
    std::uint32_t symbol;
    std::uint64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;  // pointers inside `initial`, 8 bytes each
  std::uint64_t address = 0;            // Const: offset in the const space; Shared, Local: offset in the
                                        // frame of the block or function, set by the front end's layout
  std::uint32_t function = 0;           // Shared, Local inside a function: index of this function; Function:
                                        // its own index
  bool in_function = false;
  bool managed = false;
  bool texture = false;  // a .texref: 8 bytes of global memory for a texture object
};

struct Param {
  std::string name;
  Type type = Type::B32;
  std::uint32_t bytes = 4;
  std::uint32_t align = 4;
  std::uint32_t offset = 0;  // bytes in the constant bank of a kernel
  bool is_array = false;     // an aggregate by value: .b8 name[bytes]
  bool is_pointer = false;   // carries .ptr (sm_100 dialect)
};

/// A .param variable of a call site or of a device function, which passes arguments and results. Ld and St of
/// Space::Param without a Symbol base name the slot in src[0] as Imm(slot id).
struct ParamSlot {
  std::string name;
  std::uint32_t bytes = 4;
  std::uint32_t align = 4;
  bool open = false;  // of open size (p[]), or passed to such a parameter; in a function's own: `bytes` is
                      // the most passed
};

struct CallSite {
  std::string callee;  // empty: an indirect call through `pointer`
  Operand pointer;
  std::vector<std::uint32_t> arguments;  // ParamSlot indices of the caller
  std::vector<std::uint32_t> results;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  SourceLocation where;
  std::string error;          // message why the body cannot be used (then `code` is empty), or empty
  std::vector<Param> params;  // parameters of a kernel, laid out in the constant bank
  std::vector<std::uint32_t> argument_slots;  // slots of the parameters of a device function
  std::vector<std::uint32_t> result_slots;
  std::vector<ParamSlot> slots;
  std::vector<CallSite> calls;
  std::vector<std::vector<std::uint32_t>> branch_tables;  // BrxIdx: label ids (virtual) or pcs (final)
  std::vector<Instruction> code;
  std::vector<std::string> labels;  // names by label id, for messages
  std::vector<Hazard> hazards;      // final code: by Instruction::hazard
  std::uint32_t num_reg32 = 0;      // virtual; after allocation: number of 32-bit registers
  std::uint32_t num_reg64 = 0;      // virtual; after allocation: 0
  std::uint32_t num_pred = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      frames;  // with real calls: first pc and frame bytes of the kernel and of each function that follows it
  bool physical = false;
  bool final = false;  // labels removed, targets are pcs, reconverge is set
  std::uint32_t param_bytes = 0;
  std::uint32_t local_bytes = 0;        // bytes of .local frame per thread
  std::uint32_t shared_bytes = 0;       // bytes of static .shared per block that this function reaches
  std::uint32_t max_threads = 0;        // .maxntid product, 0: not given
  std::uint32_t min_blocks_per_sm = 0;  // .minnctapersm
  std::uint32_t max_registers = 0;      // .maxnreg
  bool uses_dynamic_shared = false;
};

/// An entry of the line table: instructions from this line of the PTX on come from a line of a source file
/// (.loc).
struct SourceLine {
  std::uint32_t ptx_line = 0;
  std::uint32_t file = 0;         // file number in .file
  std::uint32_t line = 0;         // 0: not known, as at the start of a function
  std::uint32_t caller_file = 0;  // file into which the compiler inlined the code
  std::uint32_t caller_line = 0;  // 0: not inlined
};

struct Module {
  std::string file;
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::uint32_t sm = 0;  // 75 for sm_75
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  std::string const_bank;  // initial bytes of the .const space, with symbols at their `address`
  std::vector<std::pair<std::uint32_t, std::string>> source_files;  // by number
  std::vector<SourceLine> source_lines;                             // by ptx_line

  [[nodiscard]] const Function* find(const std::string& name) const;
  /// The location of a PTX line: "scale.cu:12, scale.ptx:34", or "scale.cu:12 > helper.cuh:3, scale.ptx:34"
  /// if the code was inlined, or only the PTX's line if no source is known. File names are without folders.
  [[nodiscard]] std::string place(std::uint32_t ptx_line) const;
};

/// True if the code reads the special register.
[[nodiscard]] bool reads(const Function& function, Special special);

/// The text of one instruction in the disassembly's syntax.
[[nodiscard]] std::string to_text(const Module& module, const Function& function, const Instruction& inst);

}  // namespace gpumux::isa
