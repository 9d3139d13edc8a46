// Parsing of one instruction: guard, opcode, modifiers, and the table of handlers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {

/// The handler of each opcode.
struct OpcodeTable {
  static const std::map<std::string_view, Parser::Handler>& get() {
    using P = Parser;
    static const std::map<std::string_view, Parser::Handler> kTable = [] {
      std::map<std::string_view, Parser::Handler> table = {{"add", &P::op_add_sub},
                                                           {"sub", &P::op_add_sub},
                                                           {"addc", &P::op_add_sub},
                                                           {"subc", &P::op_add_sub},
                                                           {"mul", &P::op_mul_mad},
                                                           {"mad", &P::op_mul_mad},
                                                           {"madc", &P::op_mul_mad},
                                                           {"mul24", &P::op_mul24},
                                                           {"mad24", &P::op_mul24},
                                                           {"dp4a", &P::op_dot_product},
                                                           {"dp2a", &P::op_dot_product},
                                                           {"testp", &P::op_testp},
                                                           {"lop3", &P::op_lop3},
                                                           {"shf", &P::op_shf},
                                                           {"prmt", &P::op_prmt},
                                                           {"bfind", &P::op_bfind},
                                                           {"mov", &P::op_mov},
                                                           {"cvt", &P::op_cvt},
                                                           {"cvta", &P::op_cvta},
                                                           {"isspacep", &P::op_isspacep},
                                                           {"set", &P::op_set},
                                                           {"setp", &P::op_setp},
                                                           {"slct", &P::op_slct},
                                                           {"ld", &P::op_ld},
                                                           {"ldu", &P::op_ld},
                                                           {"st", &P::op_st},
                                                           {"atom", &P::op_atom},
                                                           {"red", &P::op_atom},
                                                           {"prefetch", &P::op_prefetch},
                                                           {"prefetchu", &P::op_prefetch},
                                                           {"tex", &P::op_tex},
                                                           {"tld4", &P::op_tex},
                                                           {"txq", &P::op_txq},
                                                           {"suq", &P::op_txq},
                                                           {"suld", &P::op_surface_move},
                                                           {"sust", &P::op_surface_move},
                                                           {"sured", &P::op_surface_reduction},
                                                           {"mma", &P::op_mma},
                                                           {"wmma", &P::op_wmma},
                                                           {"movmatrix", &P::op_move_matrix},
                                                           {"ldmatrix", &P::op_ldmatrix},
                                                           {"stmatrix", &P::op_stmatrix},
                                                           {"shfl", &P::op_shfl},
                                                           {"vote", &P::op_vote},
                                                           {"match", &P::op_match},
                                                           {"redux", &P::op_redux},
                                                           {"cp", &P::op_cp},
                                                           {"mbarrier", &P::op_mbarrier},
                                                           {"createpolicy", &P::op_createpolicy},
                                                           {"fns", &P::op_fns},
                                                           {"bmsk", &P::op_bmsk},
                                                           {"szext", &P::op_szext},
                                                           {"elect", &P::op_elect},
                                                           {"alloca", &P::op_alloca},
                                                           {"stacksave", &P::op_stacksave},
                                                           {"stackrestore", &P::op_stackrestore},
                                                           {"vmad", &P::op_vmad},
                                                           {"applypriority", &P::op_line_hint},
                                                           {"discard", &P::op_line_hint},
                                                           {"griddepcontrol", &P::op_simple},
                                                           {"setmaxnreg", &P::op_register_limit},
                                                           {"bar", &P::op_bar},
                                                           {"barrier", &P::op_bar},
                                                           {"membar", &P::op_membar},
                                                           {"fence", &P::op_membar},
                                                           {"nanosleep", &P::op_nanosleep},
                                                           {"bra", &P::op_bra},
                                                           {"brx", &P::op_brx},
                                                           {"call", &P::op_call},
                                                           {"ret", &P::op_simple},
                                                           {"exit", &P::op_simple},
                                                           {"trap", &P::op_simple},
                                                           {"brkpt", &P::op_simple},
                                                           {"pmevent", &P::op_simple},
                                                           {"activemask", &P::op_table}};
      for (const char* name :
           {"abs",  "neg", "min", "max",  "fma",  "div",  "rem", "rcp", "sqrt", "rsqrt",
            "sin",  "cos", "lg2", "ex2",  "tanh", "sad",  "and", "or",  "xor",  "not",
            "cnot", "shl", "shr", "popc", "clz",  "brev", "bfe", "bfi", "selp", "copysign"}) {
        table[name] = &P::op_table;
      }
      for (const char* name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"})
        table[name] = &P::op_video;
      for (const char* name : {"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4",
                               "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4"})
        table[name] = &P::op_video_simd;
      return table;
    }();
    return kTable;
  }
};

namespace {

/// Opcodes of PTX that are not supported.
struct Unsupported {
  std::string_view opcode;
  std::string_view what;
};
constexpr Unsupported kUnsupported[] = {
    {"istypep", "types of opaque variables"},  {"wgmma", "warpgroup matrix instructions"},
    {"tcgen05", "tensor memory instructions"}, {"tensormap", "tensor maps"},
    {"multimem", "multi-GPU memory"},          {"mapa", "thread block clusters"},
    {"getctarank", "thread block clusters"},   {"clusterlaunchcontrol", "thread block clusters"},
};

/// All modifiers that a handler takes, for "did you mean", and modifiers of PTX that are not supported.
const std::vector<std::string>& known_modifiers() {
  static const std::vector<std::string> kKnown = split(
      "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 rn rz rm rp rni "
      "rzi "
      "rmi "
      "rpi rna ftz sat approx full NaN cc lo hi wide finite infinite number notanumber normal subnormal l r "
      "clamp "
      "wrap po shr7 shr15 f4e b4e rc8 ecl ecr rc16 shiftamt to global shared shared::cta local const param "
      "param::entry "
      "param::func eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan and or xor ca cg cs lu cv wb wt "
      "nc "
      "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate L2::evict_normal "
      "L2::evict_first L2::evict_last L2::64B L2::128B L2::256B unified weak volatile mmio relaxed acquire "
      "release "
      "acq_rel sc cta cluster gpu gl sys v2 v4 v8 add min max inc dec exch cas noftz L1 L2 sync up down bfly "
      "idx all "
      "any uni ballot warp aligned arrive red popc proxy alias async async::generic async.global "
      "async::shared::cta "
      "mask shared::cluster launch_dependents wait u16x2 s16x2 f32x2 relu xorsign abs pack u2 s2 "
      "mbarrier_init "
      "commit_group wait_group wait_all mbarrier noinc init inval arrive_drop expect_tx complete_tx "
      "noComplete "
      "test_wait try_wait parity pending_count L2::cache_hint range fractional cvt L2::evict_unchanged "
      "1d 2d 3d a1d a2d cube acube trap zero p base level grad r g b a width height depth array_size "
      "channel_data_type "
      "channel_order "
      "normalized_mode num_mipmap_levels filter_mode addr_mode_0 addr_mode_1 addr_mode_2 "
      "load store mma c d row col popc satfinite trans m8n8 x1 x2 x4 s4 u4 b1 tf32 e4m3 e5m2 e4m3x2 e5m2x2 "
      "m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256 "
      "m16n16k16 m32n8k16 m8n32k16 m16n16k8",
      ' ');
  return kKnown;
}

const std::vector<std::string>& unsupported_modifiers() {
  static const std::vector<std::string> kKnown = split(
      "rs scaled b4x16 tex surf tensor "
      "num_samples memory_layout force_unnormalized_coords",
      ' ');
  return kKnown;
}

/// Modifiers of features that are not supported.
struct FeatureModifiers {
  std::string_view words;
  std::string_view what;
};
constexpr FeatureModifiers kFeatureModifiers[] = {
    {"e4m3x4 e5m2x4", "converting four values to fp8"},
    {"sp sp::ordered_metadata", "multiplying sparse matrices"},
    {"block_scale kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 e3m2 e2m3 e2m1",
     "multiplying block-scaled matrices and floats of 4 and 6 bits"},
    {"m16n16 m8n16 b8x16.b6x16_p32 b8x16.b4x16_p64", "moving matrices of 8-bit elements"},
    {"e2m1x2 e2m3x2 e3m2x2 ue8m0x2 e2m1x4 e2m3x4 e3m2x4", "floating point of 4 and 6 bits"},
    {"2dms a2dms", "reading multi-sample textures"},
    {"b1024", "access to 1024 bits as one value"},
    {"bulk", "copying in bulk (sm_90)"},
    {"mbarrier::complete_tx::bytes", "copying in bulk (sm_90)"},
};

std::string_view feature_of(std::string_view modifier) {
  for (const FeatureModifiers& feature : kFeatureModifiers) {
    const auto words = split(feature.words, ' ');
    if (std::find(words.begin(), words.end(), modifier) != words.end()) return feature.what;
  }
  return {};
}

}  // namespace

void Parser::check_modifiers(const Statement& s) const {
  for (const Modifiers::Item& item : s.modifiers.items()) {
    if (std::find(known_modifiers().begin(), known_modifiers().end(), item.token.text) !=
        known_modifiers().end())
      continue;
    // A feature's name is a better message than the modifiers that accompany it.
    for (const Modifiers::Item& other : s.modifiers.items()) {
      if (const std::string_view feature = feature_of(other.token.text); !feature.empty()) {
        fail(other.token, fmt::format("'{}': {} is not supported", opcode_text(s), feature));
      }
    }
    refuse_modifier(s, item.token);
  }
}

void Parser::refuse_modifier(const Statement& s, const Token& modifier) const {
  const std::string text(modifier.text);
  const std::vector<std::string>& known = known_modifiers();
  const std::vector<std::string>& others = unsupported_modifiers();
  if (std::find(others.begin(), others.end(), text) != others.end()) {
    fail(modifier, fmt::format("modifier '.{}' of '{}' is not supported", text, opcode_text(s)));
  }
  const std::string nearest = nearest_choice(text, known);
  fail(modifier, fmt::format("unknown modifier '.{}' of '{}'{}", text, opcode_text(s),
                             nearest.empty() ? "" : fmt::format("; did you mean '.{}'?", nearest)));
}

Parser::Handler Parser::find_handler(std::string_view opcode) {
  const auto& table = OpcodeTable::get();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

void Parser::unknown_opcode(const Token& opcode) const {
  for (const Unsupported& entry : kUnsupported) {
    if (entry.opcode == opcode.text) {
      std::string full(opcode.text);
      for (std::size_t i = 0; peek(i).kind == Token::Kind::Dot; ++i) full += fmt::format(".{}", peek(i).text);
      fail(opcode, fmt::format("'{}': {} {} not supported", full, entry.what,
                               entry.what.ends_with('s') ? "are" : "is"));
    }
  }
  std::vector<std::string> known;
  for (const auto& [name, handler] : OpcodeTable::get()) known.emplace_back(name);
  const std::string nearest = nearest_choice(opcode.text, known);
  fail(opcode, fmt::format("unknown opcode '{}'{}", opcode.text,
                           nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

std::string Parser::opcode_text(const Statement& s) const {
  std::string text(s.opcode.text);
  Modifiers copy = s.modifiers;
  for (const Modifiers::Item& item : copy.items()) text += fmt::format(".{}", item.token.text);
  return text;
}

void Parser::finish_modifiers(Statement& s) const {
  for (const Modifiers::Item& item : s.modifiers.items()) {
    if (item.used) continue;
    fail(item.token, fmt::format("modifier '.{}' is not possible in '{}'", item.token.text, opcode_text(s)));
  }
}

Type Parser::want_type(Statement& s, TypeSet allowed) {
  for (Modifiers::Item& item : s.modifiers.items()) {
    if (item.used) continue;
    const Type type = type_of(item.token.text);
    if (item.token.text == "b128")
      fail(item.token,
           fmt::format("'{}' is not supported: 128 bits are only loaded, stored and moved", opcode_text(s)));
    if (type == Type::None) continue;
    item.used = true;
    if (!allowed.has(type)) {
      fail(item.token, fmt::format("type .{} is not possible in '{}'", isa::name(type), opcode_text(s)));
    }
    return type;
  }
  fail(s.opcode, fmt::format("'{}' lacks a type", opcode_text(s)));
}

void Parser::parse_instruction() {
  Statement s;
  const Token begin = peek();
  if (accept('@')) {
    Arg guard = parse_simple_arg();
    if (guard.kind != Arg::Kind::Name) fail(guard.at, "expected a predicate after '@'");
    s.inst.guard = predicate(guard);
    if (s.inst.guard.kind != Operand::Kind::Pred) fail(guard.at, "expected a predicate after '@'");
  }
  s.opcode = expect_name("an instruction");
  s.inst.line = begin.line;
  s.inst.column = begin.column;
  const Handler handler = find_handler(s.opcode.text);
  if (handler == nullptr) {
    if (s.opcode.text[0] == '%' || peek().kind == Token::Kind::Punct) {
      fail(s.opcode, fmt::format("expected an instruction, found '{}'", s.opcode.text));
    }
    unknown_opcode(s.opcode);
  }
  while (peek().kind == Token::Kind::Dot) s.modifiers.add(next());
  check_modifiers(s);
  const bool is_call = s.opcode.text == "call";  // operands of calls have their own syntax
  if (!is_call) {
    negates_names_ = s.opcode.text == "vmad";
    constexpr std::array<std::string_view, 5> kOfTextures{"tex", "tld4", "suld", "sust", "sured"};
    const bool of_texture = std::ranges::find(kOfTextures, s.opcode.text) != kOfTextures.end();
    s.args = of_texture ? parse_texture_args() : parse_args();
    expect(';', fmt::format("'{}'", opcode_text(s)));
  }
  const auto& items = s.modifiers.items();
  const auto has = [&items](std::string_view type) {
    return std::any_of(items.begin(), items.end(),
                       [type](const Modifiers::Item& item) { return item.token.text == type; });
  };
  if (has("u16x2") || has("s16x2")) {
    op_packed_integers(s);
  } else if (has("f32x2")) {
    op_packed_singles(s);
  } else {
    (this->*handler)(s);
  }
  if (is_call) expect(';', fmt::format("'{}'", opcode_text(s)));
}

isa::Rounding Parser::take_rounding(Statement& s) {
  using isa::Rounding;
  static constexpr std::pair<std::string_view, Rounding> kTable[] = {
      {"rn", Rounding::RN}, {"rz", Rounding::RZ}, {"rm", Rounding::RM}, {"rp", Rounding::RP}};
  return s.modifiers.take_from(kTable, Rounding::None);
}

isa::Compare Parser::take_compare(Statement& s, Type type) {
  using isa::Compare;
  static constexpr std::pair<std::string_view, Compare> kTable[] = {
      {"eq", Compare::EQ},   {"ne", Compare::NE},   {"lt", Compare::LT},   {"le", Compare::LE},
      {"gt", Compare::GT},   {"ge", Compare::GE},   {"lo", Compare::LO},   {"ls", Compare::LS},
      {"hi", Compare::HI},   {"hs", Compare::HS},   {"equ", Compare::EQU}, {"neu", Compare::NEU},
      {"ltu", Compare::LTU}, {"leu", Compare::LEU}, {"gtu", Compare::GTU}, {"geu", Compare::GEU},
      {"num", Compare::NUM}, {"nan", Compare::NAN_}};
  const Compare compare = s.modifiers.take_from(kTable, Compare::None);
  if (compare == Compare::None) fail(s.opcode, fmt::format("'{}' lacks a comparison", opcode_text(s)));
  const bool real = isa::is_float(type);
  const bool bits = !real && !isa::is_signed(type) && !kUnsigned.has(type);
  const bool unsigned_only = compare >= Compare::LO && compare <= Compare::HS;
  if ((compare >= Compare::EQU && !real) || (unsigned_only && !kUnsigned.has(type)) ||
      (bits && compare != Compare::EQ && compare != Compare::NE)) {
    fail(s.opcode,
         fmt::format("this comparison is not possible for .{} in '{}'", isa::name(type), opcode_text(s)));
  }
  return compare;
}

}  // namespace gpumux::ptx
