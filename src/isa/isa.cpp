// Names and widths of the instruction format's enumerations.
#include <algorithm>
#include <iterator>

#include "isa/instruction.hpp"

namespace gpumux::isa {

unsigned width_bits(Type type) {
  switch (type) {
    case Type::None: return 0;
    case Type::Pred: return 1;
    case Type::B8:
    case Type::U8:
    case Type::S8: return 8;
    case Type::B16:
    case Type::U16:
    case Type::S16:
    case Type::F16:
    case Type::BF16:
    case Type::E4M3x2:
    case Type::E5M2x2: return 16;
    case Type::B32:
    case Type::U32:
    case Type::S32:
    case Type::F16x2:
    case Type::BF16x2:
    case Type::TF32:
    case Type::F32: return 32;
    case Type::B64:
    case Type::U64:
    case Type::S64:
    case Type::F64: return 64;
  }
  return 0;
}

bool is_float(Type type) { return type >= Type::F16; }

bool is_special_function(Opcode op) { return op >= Opcode::Rcp && op <= Opcode::Tanh; }

bool is_signed(Type type) { return type >= Type::S8 && type <= Type::S64; }

const char* name(Type type) {
  switch (type) {
    case Type::None: return "none";
    case Type::Pred: return "pred";
    case Type::B8: return "b8";
    case Type::B16: return "b16";
    case Type::B32: return "b32";
    case Type::B64: return "b64";
    case Type::U8: return "u8";
    case Type::U16: return "u16";
    case Type::U32: return "u32";
    case Type::U64: return "u64";
    case Type::S8: return "s8";
    case Type::S16: return "s16";
    case Type::S32: return "s32";
    case Type::S64: return "s64";
    case Type::F16: return "f16";
    case Type::F16x2: return "f16x2";
    case Type::BF16: return "bf16";
    case Type::BF16x2: return "bf16x2";
    case Type::TF32: return "tf32";
    case Type::E4M3x2: return "e4m3x2";
    case Type::E5M2x2: return "e5m2x2";
    case Type::F32: return "f32";
    case Type::F64: return "f64";
  }
  return "none";
}

const char* name(Opcode opcode) {
  switch (opcode) {
    case Opcode::Mov: return "mov";
    case Opcode::Pack: return "pack";
    case Opcode::Unpack: return "unpack";
    case Opcode::Cvt: return "cvt";
    case Opcode::CvtPack2: return "cvt.pack2";
    case Opcode::CvtaTo: return "cvta.to";
    case Opcode::Cvta: return "cvta";
    case Opcode::Isspacep: return "isspacep";
    case Opcode::Add: return "add";
    case Opcode::Sub: return "sub";
    case Opcode::MulLo: return "mul.lo";
    case Opcode::MulHi: return "mul.hi";
    case Opcode::MulWide: return "mul.wide";
    case Opcode::MadLo: return "mad.lo";
    case Opcode::MadHi: return "mad.hi";
    case Opcode::MadWide: return "mad.wide";
    case Opcode::Mul24: return "mul24";
    case Opcode::Mad24: return "mad24";
    case Opcode::Sad: return "sad";
    case Opcode::Mul: return "mul";
    case Opcode::Fma: return "fma";
    case Opcode::Div: return "div";
    case Opcode::Rem: return "rem";
    case Opcode::Rcp: return "rcp";
    case Opcode::Sqrt: return "sqrt";
    case Opcode::Rsqrt: return "rsqrt";
    case Opcode::Sin: return "sin";
    case Opcode::Cos: return "cos";
    case Opcode::Lg2: return "lg2";
    case Opcode::Ex2: return "ex2";
    case Opcode::Tanh: return "tanh";
    case Opcode::Abs: return "abs";
    case Opcode::Neg: return "neg";
    case Opcode::Min: return "min";
    case Opcode::Max: return "max";
    case Opcode::Copysign: return "copysign";
    case Opcode::Testp: return "testp";
    case Opcode::Lea: return "lea";
    case Opcode::Set: return "set";
    case Opcode::Setp: return "setp";
    case Opcode::Selp: return "selp";
    case Opcode::Slct: return "slct";
    case Opcode::And: return "and";
    case Opcode::Or: return "or";
    case Opcode::Xor: return "xor";
    case Opcode::Not: return "not";
    case Opcode::Cnot: return "cnot";
    case Opcode::Lop3: return "lop3";
    case Opcode::Shl: return "shl";
    case Opcode::Shr: return "shr";
    case Opcode::Shf: return "shf";
    case Opcode::Prmt: return "prmt";
    case Opcode::Popc: return "popc";
    case Opcode::Clz: return "clz";
    case Opcode::Bfind: return "bfind";
    case Opcode::Brev: return "brev";
    case Opcode::Bfe: return "bfe";
    case Opcode::Bfi: return "bfi";
    case Opcode::Dp4a: return "dp4a";
    case Opcode::Dp2a: return "dp2a";
    case Opcode::Ld: return "ld";
    case Opcode::St: return "st";
    case Opcode::Tex: return "tex";
    case Opcode::Txq: return "txq";
    case Opcode::SurfLd: return "suld";
    case Opcode::SurfSt: return "sust";
    case Opcode::SurfRed: return "sured";
    case Opcode::Atom: return "atom";
    case Opcode::Red: return "red";
    case Opcode::Prefetch: return "prefetch";
    case Opcode::LdMatrix: return "ldmatrix";
    case Opcode::StMatrix: return "stmatrix";
    case Opcode::CpAsync: return "cp.async";
    case Opcode::CpAsyncCommit: return "cp.async.commit_group";
    case Opcode::CpAsyncWait: return "cp.async.wait_group";
    case Opcode::Mbarrier: return "mbarrier";
    case Opcode::MbarrierPending: return "mbarrier.pending_count";
    case Opcode::Notify: return "notify";
    case Opcode::Shfl: return "shfl";
    case Opcode::Vote: return "vote";
    case Opcode::Match: return "match";
    case Opcode::Activemask: return "activemask";
    case Opcode::Redux: return "redux";
    case Opcode::MovMatrix: return "movmatrix";
    case Opcode::Mma: return "mma";
    case Opcode::Bar: return "bar";
    case Opcode::BarWarp: return "bar.warp";
    case Opcode::Membar: return "membar";
    case Opcode::Nanosleep: return "nanosleep";
    case Opcode::Label: return "label";
    case Opcode::Bra: return "bra";
    case Opcode::BrxIdx: return "brx.idx";
    case Opcode::Call: return "call";
    case Opcode::Ret: return "ret";
    case Opcode::Exit: return "exit";
    case Opcode::Trap: return "trap";
    case Opcode::Nop: return "nop";
    case Opcode::Syscall: return "syscall";
  }
  return "?";
}

const char* name(MatrixType type) {
  switch (type) {
    case MatrixType::None: return "none";
    case MatrixType::F16: return "f16";
    case MatrixType::BF16: return "bf16";
    case MatrixType::TF32: return "tf32";
    case MatrixType::F64: return "f64";
    case MatrixType::S8: return "s8";
    case MatrixType::U8: return "u8";
    case MatrixType::S4: return "s4";
    case MatrixType::U4: return "u4";
    case MatrixType::B1: return "b1";
    case MatrixType::E4M3: return "e4m3";
    case MatrixType::E5M2: return "e5m2";
  }
  return "?";
}

unsigned width_bits(MatrixType type) {
  switch (type) {
    case MatrixType::None: return 0;
    case MatrixType::F16:
    case MatrixType::BF16: return 16;
    case MatrixType::TF32: return 32;
    case MatrixType::F64: return 64;
    case MatrixType::S8:
    case MatrixType::U8:
    case MatrixType::E4M3:
    case MatrixType::E5M2: return 8;
    case MatrixType::S4:
    case MatrixType::U4: return 4;
    case MatrixType::B1: return 1;
  }
  return 0;
}

namespace {

/// Number of matrix elements in one register of each of 32 lanes.
unsigned in_registers(MatrixType type) {
  return kWarpSize * (type == MatrixType::F64 ? 1 : 32 / width_bits(type));
}

}  // namespace

unsigned a_registers(const MatrixShape& shape) {
  return shape.quads ? 2 : shape.rows * unsigned{shape.depth} / in_registers(shape.a);
}

unsigned b_registers(const MatrixShape& shape) {
  return shape.quads ? 2 : 8 * unsigned{shape.depth} / in_registers(shape.b);
}

unsigned c_registers(const MatrixShape& shape, Type type) {
  if (shape.quads) return 4;
  const unsigned elements = shape.rows / 4U;  // per lane
  return type == Type::F16 ? elements / 2 : elements;
}

const char* name(Space space) {
  switch (space) {
    case Space::Generic: return "generic";
    case Space::Global: return "global";
    case Space::Shared: return "shared";
    case Space::Local: return "local";
    case Space::Const: return "const";
    case Space::Param: return "param";
  }
  return "?";
}

const char* name(TextureGeometry geometry) {
  switch (geometry) {
    case TextureGeometry::None: return "none";
    case TextureGeometry::D1: return "1d";
    case TextureGeometry::D2: return "2d";
    case TextureGeometry::D3: return "3d";
    case TextureGeometry::A1: return "a1d";
    case TextureGeometry::A2: return "a2d";
    case TextureGeometry::Cube: return "cube";
    case TextureGeometry::ACube: return "acube";
  }
  return "?";
}

const char* name(TextureQuery query) {
  switch (query) {
    case TextureQuery::None: return "none";
    case TextureQuery::Width: return "width";
    case TextureQuery::Height: return "height";
    case TextureQuery::Depth: return "depth";
    case TextureQuery::ArraySize: return "array_size";
    case TextureQuery::ChannelDataType: return "channel_data_type";
    case TextureQuery::ChannelOrder: return "channel_order";
    case TextureQuery::NormalizedMode: return "normalized_mode";
    case TextureQuery::FilterMode: return "filter_mode";
    case TextureQuery::AddressMode0: return "addr_mode_0";
    case TextureQuery::AddressMode1: return "addr_mode_1";
    case TextureQuery::AddressMode2: return "addr_mode_2";
    case TextureQuery::MipmapLevels: return "num_mipmap_levels";
  }
  return "?";
}

const char* name(SurfaceBounds bounds) {
  switch (bounds) {
    case SurfaceBounds::None: return "none";
    case SurfaceBounds::Trap: return "trap";
    case SurfaceBounds::Clamp: return "clamp";
    case SurfaceBounds::Zero: return "zero";
  }
  return "?";
}

const char* name(Special special) {
  switch (special) {
    case Special::TidX: return "%tid.x";
    case Special::TidY: return "%tid.y";
    case Special::TidZ: return "%tid.z";
    case Special::NtidX: return "%ntid.x";
    case Special::NtidY: return "%ntid.y";
    case Special::NtidZ: return "%ntid.z";
    case Special::CtaidX: return "%ctaid.x";
    case Special::CtaidY: return "%ctaid.y";
    case Special::CtaidZ: return "%ctaid.z";
    case Special::NctaidX: return "%nctaid.x";
    case Special::NctaidY: return "%nctaid.y";
    case Special::NctaidZ: return "%nctaid.z";
    case Special::LaneId: return "%laneid";
    case Special::WarpId: return "%warpid";
    case Special::NwarpId: return "%nwarpid";
    case Special::SmId: return "%smid";
    case Special::NsmId: return "%nsmid";
    case Special::GridId: return "%gridid";
    case Special::LanemaskEq: return "%lanemask_eq";
    case Special::LanemaskLe: return "%lanemask_le";
    case Special::LanemaskLt: return "%lanemask_lt";
    case Special::LanemaskGe: return "%lanemask_ge";
    case Special::LanemaskGt: return "%lanemask_gt";
    case Special::Clock: return "%clock";
    case Special::ClockHi: return "%clock_hi";
    case Special::Clock64: return "%clock64";
    case Special::GlobalTimer: return "%globaltimer";
    case Special::GlobalTimerLo: return "%globaltimer_lo";
    case Special::GlobalTimerHi: return "%globaltimer_hi";
    case Special::DynamicSmemSize: return "%dynamic_smem_size";
    case Special::TotalSmemSize: return "%total_smem_size";
    case Special::EnvReg1: return "%envreg1";
    case Special::EnvReg2: return "%envreg2";
  }
  return "%?";
}

const Function* Module::find(const std::string& function_name) const {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& f) { return f.name == function_name; });
  return found == functions.end() ? nullptr : &*found;
}

bool reads(const Function& function, Special special) {
  const Operand wanted = Operand::special(special);
  return std::any_of(function.code.begin(), function.code.end(), [&](const Instruction& inst) {
    return std::find(inst.src.begin(), inst.src.end(), wanted) != inst.src.end();
  });
}

std::string Module::place(std::uint32_t ptx_line) const {
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::string here = fmt::format("{}:{}", name(file), ptx_line);
  const auto after =
      std::upper_bound(source_lines.begin(), source_lines.end(), ptx_line,
                       [](std::uint32_t line, const SourceLine& s) { return line < s.ptx_line; });
  if (after == source_lines.begin() || std::prev(after)->line == 0) return here;
  const SourceLine& source = *std::prev(after);
  const auto text = [&](std::uint32_t number, std::uint32_t line, const char* end) {
    for (const auto& [known, path] : source_files) {
      if (known == number && line != 0) return fmt::format("{}:{}{}", name(path), line, end);
    }
    return std::string();
  };
  return text(source.caller_file, source.caller_line, " > ") + text(source.file, source.line, ", ") + here;
}

}  // namespace gpumux::isa
