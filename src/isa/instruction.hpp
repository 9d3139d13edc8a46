// The one instruction format that the PTX front end produces, the back end transforms, the emulator
// executes and the timing model is told about. Before register allocation the registers are virtual
// (PTX's, unbounded); after it they are physical 32-bit registers and aligned pairs of them.
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
[[nodiscard]] bool is_float(Type type);   // f16 and all behind it
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
  // Integer and float arithmetic; `type` selects. Add, Sub and MadLo take a carry-in as their last
  // source and give a carry-out as dst[1] where carry_in / carry_out is set (predicates).
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
        // (is_signed(type2)) or zero-extended. Made by the back end alone.
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
  // Memory: src[0] is the address base (register, symbol or none), `offset` is added to it
  Ld,
  St,
  Atom,
  Red,
  Prefetch,
  LdMatrix,       // `vector` 8x8 matrices of 16-bit elements from shared memory, of which lane l < 8 * vector
                  // names
                  // row l % 8 of matrix l / 8 by its address; each lane gets two elements of each matrix
  StMatrix,       // the way back; src[1..] are the matrices
  Tex,            // dst[0..3] = texel of texture src[0] at the coordinates of `geometry`, src[1..]; behind
                  // these what `detail` reads
  Txq,            // d = what `query` asks about the texture or surface src[0]
  SurfLd,         // dst[0..vector-1] = what lies in surface src[0] at coordinates src[1..] of `geometry`
  SurfSt,         // the way back; the values are behind the coordinates
  SurfRed,        // `atomic` there, with the value behind the coordinates
  CpAsync,        // copies from global memory, address src[1], to shared memory, address src[0] + offset;
                  // src[2]: bytes that are read, what is left of the width is 0; src[3]: a predicate that
                  // holds where nothing is read
  CpAsyncCommit,  // the warp's copies so far that are in no group become one
  CpAsyncWait,    // until all but the `offset` youngest groups are complete
  Mbarrier,       // what `mbarrier` names, on the barrier object at the address src[0] of shared memory;
                  // src[1]: count, bytes, state or parity; `shift`: MbarrierForm
  MbarrierPending,  // d = arrivals that were missing in the state src[0]
  Notify,           // made by the back end alone: a store of one word by the warp to the SM's own address
                    // (ptx/idempotence.hpp)
  // Communication inside a warp
  Shfl,
  Vote,
  Match,
  Activemask,
  Redux,
  MovMatrix,  // d = the 8x8 matrix of 16-bit elements in `a` of all lanes, transposed
  Mma,        // d = A * B + C on matrices that all lanes hold together: `matrix` says which
  // Order and time
  Bar,
  BarWarp,
  Membar,
  Nanosleep,
  // Control flow
  Label,  // pseudo instruction of virtual code: the label `target` stands here
  Bra,
  BrxIdx,
  Call,
  Ret,
  Exit,
  Trap,
  Nop,
  // Run-time services (vprintf, malloc, free, __assertfail, the device run time); `service` selects
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

/// Of Atom and Red (and Redux, Bar.red; Mma of B1: how bits are multiplied).
enum class AtomicOp : std::uint8_t { None, Add, Min, Max, Inc, Dec, Exch, Cas, And, Or, Xor };

enum class ShflMode : std::uint8_t { None, Up, Down, Bfly, Idx };
enum class VoteMode : std::uint8_t { None, All, Any, Uni, Ballot };
enum class MatchMode : std::uint8_t { None, Any, All };
enum class BarMode : std::uint8_t { None, Sync, Arrive, RedPopc, RedAnd, RedOr };
/// Of Mbarrier. ArriveCopies is cp.async.mbarrier.arrive: an arrival once the thread's copies are complete.
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
/// Bits of `shift` of a Mbarrier.
enum MbarrierForm : std::uint8_t {
  kMbarrierExpectTx = 1,    // Arrive, ArriveDrop: src[1] bytes are expected first, and one arrives
  kMbarrierNoComplete = 2,  // Arrive, ArriveDrop: the phase must not end by it
  kMbarrierNoinc = 4,       // ArriveCopies: the arrival is one of those that the barrier counts
  kMbarrierParity = 8       // TestWait, TryWait: src[1] is the parity of a phase
};
enum class TestpMode : std::uint8_t { None, Finite, Infinite, Number, NotANumber, Normal, Subnormal };
/// How far a load may be cached; the timing model reads it (cg, cv, volatile and acquire skip L1).
enum class CacheOp : std::uint8_t { None, CA, CG, CS, LU, CV, WB, WT, NC };
enum class Service : std::uint8_t {
  None,
  Vprintf,
  Malloc,
  Free,
  AssertFail,
  // The device run time: kernels that launch kernels
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
/// A function that code calls by this name without defining it. `arguments`: a letter for each, 'l' 64 bits,
/// 'i' 32 bits, 'd' three of 32 bits.
struct ServiceFunction {
  const char* name;
  Service service;
  const char* arguments;
  bool per_thread = false;  // stream 0 is one of each thread's own
};
/// nullptr: no service has this name.
[[nodiscard]] const ServiceFunction* find_service(std::string_view function);
/// Whether source `index` of a Syscall has 64 bits.
[[nodiscard]] bool reads_wide(Service service, std::size_t index);
/// It leaves work for the device: what the warp has executed before counts as done then.
[[nodiscard]] bool enqueues(Service service);
[[nodiscard]] bool is_device_runtime(Service service);
/// One of the device run time that concerns streams or events of the grid.
[[nodiscard]] bool concerns_streams(Service service);
/// One of the device run time that gives an address, and no error.
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
  EnvReg1,  // upper and lower half of the address of what a cooperative launch's blocks synchronise by; 0:
            // the
  EnvReg2   // launch is none
};
[[nodiscard]] const char* name(Special special);

/// How Tex and the surface instructions address: the first coordinate of the arrays (A) is the layer.
enum class TextureGeometry : std::uint8_t { None, D1, D2, D3, A1, A2, Cube, ACube };
/// What else Tex reads to choose among a mipmap's levels: nothing, which is the first; the level; or the
/// differences of the coordinates in x, then those in y.
enum class TextureDetail : std::uint8_t { None, Level, Gradients };
/// What a surface instruction does with coordinates outside.
enum class SurfaceBounds : std::uint8_t { None, Trap, Clamp, Zero };
/// Of Txq.
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
/// Coordinates that it has, the layer included.
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

/// Elements of the factors of a matrix product.
enum class MatrixType : std::uint8_t { None, F16, BF16, TF32, F64, S8, U8, S4, U4, B1, E4M3, E5M2 };
[[nodiscard]] const char* name(MatrixType type);
[[nodiscard]] unsigned width_bits(MatrixType type);  // of an element as it lies in a register: TF32 32

/// Of Mma: D = A * B + C, where A has `rows` x `depth` and B `depth` x 8 elements. D has the instruction's
/// type and C type2: F16 (pairs in 32-bit registers), F32, S32 or F64.
///
/// An instruction holds a register for each fragment of an operand, at most 4 of D, 4 of A, 2 of B and 4 of C
/// (in src, in this order): as many as the tensor instructions of the hardware from Turing on. What PTX
/// describes with more becomes several of these (ptx/parse_matrix.cpp), as it does there; so the scoreboard,
/// the register allocator and the operand collector need to know of no ranges.
///
/// Fragments (PTX ISA, "Matrix Fragments for mma"): with e elements in a register, g = lane / 4, t = lane %
/// 4, element j of register r of A is A[g + 8 (r % 2)][4 e (r / 2) + e t + j] where `rows` is 16, and A[g][4
/// e r + e t + j] where it is 8; of B it is B[4 e r + e t + j][g]; of C and D, whose element i is the i-th of
/// a lane, C[g + 8 (i / 2)][2 t + i % 2].
struct MatrixShape {
  std::uint8_t rows = 0;    // 8 or 16
  std::uint16_t depth = 0;  // 4 to 256
  MatrixType a = MatrixType::None;
  MatrixType b = MatrixType::None;
  // Volta's m8n8k4 on f16: four products of 8x8x4 at once, each by the lanes 4 q to 4 q + 3 and those 16
  // behind them, with layouts of their own (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16").
  bool quads = false;
  bool a_columns = false;  // quads: A in the layout of .col
  bool b_rows = false;     // quads: B in the layout of .row
  std::uint8_t half = 0;   // quads, D of F32: the columns whose bit 2 is this
  [[nodiscard]] explicit operator bool() const { return rows != 0; }
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
/// Registers of A, B, and of C or D in a type, that an Mma of this shape takes.
[[nodiscard]] unsigned a_registers(const MatrixShape& shape);
[[nodiscard]] unsigned b_registers(const MatrixShape& shape);
[[nodiscard]] unsigned c_registers(const MatrixShape& shape, Type type);

struct Operand {
  enum class Kind : std::uint8_t {
    None,
    Reg32,    // `reg`; holds 8, 16 and 32 bit values (narrow values are kept zero-extended)
    Reg64,    // `reg`; virtual: its own numbering; physical: the even index of a register pair
    Pred,     // `reg`; `negate` inverts it when read
    Imm,      // `imm`: the raw bits at the width of the type that reads it
    Special,  // `reg` is a Special
    Symbol,   // address of Module::symbols[reg], plus `imm`
    Const     // the constant bank that holds the kernel's parameters, at byte offset `imm`
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

/// Bits of Instruction::shift of a floating-point Fma: the sign of a * b, of c is changed first. PTX has no
/// name for them; contraction makes them of subtractions (ptx/contract.cpp).
inline constexpr std::uint8_t kFmaMinusProduct = 1;
inline constexpr std::uint8_t kFmaMinusAddend = 2;

inline constexpr std::uint32_t kNoTarget = 0xffff'ffffU;

struct Instruction {
  Opcode op = Opcode::Nop;
  Type type = Type::None;   // the type of the operation and of d
  Type type2 = Type::None;  // Cvt, Set, Slct: the type of the source; Tex: of coordinates; MulWide: unused
                            // (type is a's)
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
  std::uint8_t vector = 1;                           // elements moved by Ld/St: 1, 2, 4;
                            // Pack, Unpack: number of parts (2, 4); LdMatrix, StMatrix: matrices (1, 2, 4)
  std::uint8_t shift = 0;  // Lea: shift; Lop3: table; Prmt: mode (0 default,1 f4e,2 b4e,3 rc8,4 ecl,5 ecr,6
                           // rc16) Shf: bit 0 right, bit 1 clamp; Bfind: bit 0 shiftamt; Dp4a/Dp2a: bit 0 hi;
                           // Mul24/Mad24: bit 0 hi; Fma: kFmaMinus...; Membar: scope (0 block, 1 GPU, 2
                           // system); Mbarrier: MbarrierForm
  bool approx = false;
  bool full = false;  // div.full
  bool ftz = false;
  bool sat = false;
  bool wide = false;     // Lea
  bool uniform = false;  // bra.uni, call.uni: never diverges
  bool is_volatile = false;
  bool acquire_release = false;  // ld.acquire, st.release, atom with semantics: ordered, bypasses L1
  bool relaxed = false;          // ld.relaxed, st.relaxed: others may wait for it
  bool carry_in = false;
  bool carry_out = false;
  bool nan = false;        // min.NaN / max.NaN
  bool transpose = false;  // LdMatrix, StMatrix
  bool relu = false;       // Cvt from and to fp8: negative values become 0
  MatrixShape matrix;      // Mma

  Operand guard;  // None, or a predicate
  std::array<Operand, 4> dst;
  std::array<Operand, 12> src;
  std::int64_t offset = 0;               // added to a memory address; CpAsyncWait: groups that may be open
  std::uint32_t target = kNoTarget;      // Label, Bra: label id in virtual code, pc in final code
  std::uint32_t reconverge = kNoTarget;  // final code: pc of the immediate post-dominator
  std::uint32_t call = kNoTarget;        // Call: index into Function::calls; BrxIdx: into branch_tables
  std::uint32_t hazard = kNoTarget;      // index into Function::hazards: a block may not begin anew behind it
  std::uint32_t line = 0;                // where it came from in the PTX text
  std::uint32_t column = 0;
};

/// Why a block may be no longer idempotent when it has executed an instruction (ptx/idempotence.hpp).
struct Hazard {
  enum class Kind : std::uint8_t {
    Atomic,    // it changes global memory by what is there
    Overwrite  // it stores where a load may have read
  };
  Kind kind = Kind::Atomic;
  std::string where;            // Overwrite: what is stored to, "parameter out", "variable count"
  std::uint32_t read_line = 0;  // Overwrite: the PTX's line of such a load
};

/// A piece of storage that has a name: .global, .const, .shared variables, functions whose address is
/// taken, and the .local frame.
struct Symbol {
  enum class Kind : std::uint8_t { Global, Const, Shared, ExternShared, Local, Function };
  Kind kind = Kind::Global;
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t align = 1;
  std::string initial;  // initial bytes (may be shorter than `bytes`; the rest is 0)
  struct Relocation {
    std::uint64_t offset;
    std::uint32_t symbol;
    std::uint64_t addend;
    bool generic;
  };
  std::vector<Relocation> relocations;  // pointers inside `initial`, 8 bytes each
  std::uint64_t address = 0;            // Const: offset in the const space; Shared, Local: offset in the
                                        // block's / function's frame, set by the front end's layout
  std::uint32_t function = 0;           // Shared, Local inside a function: which one; Function: its index
  bool in_function = false;
  bool managed = false;
  bool texture = false;  // a .texref: 8 bytes of global memory that hold a texture object
};

struct Param {
  std::string name;
  Type type = Type::B32;
  std::uint32_t bytes = 4;
  std::uint32_t align = 4;
  std::uint32_t offset = 0;  // in the constant bank of a kernel
  bool is_array = false;     // an aggregate by value: .b8 name[bytes]
  bool is_pointer = false;   // carries .ptr (sm_100 dialect)
};

/// A .param variable of a call site or of a device function: where arguments and results are passed.
/// Ld and St of Space::Param with a Symbol-free base name the slot in src[0] as Imm(slot id).
struct ParamSlot {
  std::string name;
  std::uint32_t bytes = 4;
  std::uint32_t align = 4;
  bool open = false;  // of open size (p[]), or passed to such; `bytes` of a function's own: the most passed
};

struct CallSite {
  std::string callee;  // empty: indirect, through `pointer`
  Operand pointer;
  std::vector<std::uint32_t> arguments;  // ParamSlot indices of the caller
  std::vector<std::uint32_t> results;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  SourceLocation where;
  std::string error;  // why its body cannot be used, as a whole message; empty: it can. Then `code` is empty
  std::vector<Param> params;                  // of a kernel, laid out in the constant bank
  std::vector<std::uint32_t> argument_slots;  // of a device function: slots of its parameters
  std::vector<std::uint32_t> result_slots;
  std::vector<ParamSlot> slots;
  std::vector<CallSite> calls;
  std::vector<std::vector<std::uint32_t>> branch_tables;  // BrxIdx: label ids (virtual) or pcs (final)
  std::vector<Instruction> code;
  std::vector<std::string> labels;  // names by label id, for messages
  std::vector<Hazard> hazards;      // final code: by Instruction::hazard
  std::uint32_t num_reg32 = 0;      // virtual counts; after allocation num_reg32 is the number of
  std::uint32_t num_reg64 = 0;      // 32-bit registers and num_reg64 is 0
  std::uint32_t num_pred = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      frames;  // with real calls: first pc and frame in bytes
               // of the kernel and of each function behind it
  bool physical = false;
  bool final = false;  // labels removed, targets are pcs, reconverge is set
  std::uint32_t param_bytes = 0;
  std::uint32_t local_bytes = 0;        // .local frame per thread
  std::uint32_t shared_bytes = 0;       // static .shared per block, all symbols this function reaches
  std::uint32_t max_threads = 0;        // .maxntid product, 0 = not given
  std::uint32_t min_blocks_per_sm = 0;  // .minnctapersm
  std::uint32_t max_registers = 0;      // .maxnreg
  bool uses_dynamic_shared = false;
};

/// From this line of the PTX on, instructions come from a line of a source file (.loc).
struct SourceLine {
  std::uint32_t ptx_line = 0;
  std::uint32_t file = 0;         // number that .file gives it
  std::uint32_t line = 0;         // 0: not known, as at the begin of a function
  std::uint32_t caller_file = 0;  // where the compiler has inlined it
  std::uint32_t caller_line = 0;  // 0: it has not
};

struct Module {
  std::string file;
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::uint32_t sm = 0;  // 75 of sm_75
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  std::string const_bank;  // initial bytes of the .const space, symbols at `address`
  std::vector<std::pair<std::uint32_t, std::string>> source_files;  // by number
  std::vector<SourceLine> source_lines;                             // by ptx_line

  [[nodiscard]] const Function* find(const std::string& name) const;
  /// "scale.cu:12, scale.ptx:34" of a line of the PTX, "scale.cu:12 > helper.cuh:3, scale.ptx:34" of one that
  /// was inlined; the PTX's alone where it says no more. File names without folders.
  [[nodiscard]] std::string place(std::uint32_t ptx_line) const;
};

/// The code reads the special register.
[[nodiscard]] bool reads(const Function& function, Special special);

/// Text of one instruction in the disassembly's syntax.
[[nodiscard]] std::string to_text(const Module& module, const Function& function, const Instruction& inst);

}  // namespace gpumux::isa
