// The parser's state, private to the parse*.cpp files.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/lexer.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Type;

/// A set of types, one bit each.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<Type> types) {
    for (const Type type : types) bits_ |= 1U << static_cast<unsigned>(type);
  }
  [[nodiscard]] constexpr bool has(Type type) const {
    return ((bits_ >> static_cast<unsigned>(type)) & 1U) != 0;
  }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr TypeSet kBits{Type::B16, Type::B32, Type::B64};
inline constexpr TypeSet kSigned{Type::S16, Type::S32, Type::S64};
inline constexpr TypeSet kUnsigned{Type::U16, Type::U32, Type::U64};
inline constexpr TypeSet kIntegers = kSigned | kUnsigned;
inline constexpr TypeSet kInt8{Type::S8, Type::U8};
inline constexpr TypeSet kHalves{Type::F16, Type::F16x2, Type::BF16, Type::BF16x2};
inline constexpr TypeSet kSingles{Type::F32};
inline constexpr TypeSet kDoubles{Type::F64};
inline constexpr TypeSet kFloats = kHalves | kSingles | kDoubles;

/// The type that a modifier names (without its dot), or None.
[[nodiscard]] Type type_of(std::string_view modifier);
[[nodiscard]] bool same_kind(Type register_type, Type wanted);    // equal width and class
[[nodiscard]] bool wide_enough(Type register_type, Type wanted);  // ld, st, cvt: may be wider

/// True if the token starts a declaration of the module. The prototype of a device function may end there, or
/// at a ';'.
[[nodiscard]] bool begins_declaration(const Token& token);

/// The modifiers of one opcode. Handlers take the modifiers that they know. Any modifier that is left is an
/// error.
class Modifiers {
 public:
  struct Item {
    Token token;
    bool used = false;
  };
  void add(const Token& token) { items_.push_back({token, false}); }
  bool take(std::string_view text);
  Type take_type();
  /// Takes the first modifier that is in the table and returns its value, or `none`.
  template <class Value, std::size_t N>
  Value take_from(const std::pair<std::string_view, Value> (&table)[N], Value none) {
    for (Item& item : items_) {
      if (item.used) continue;
      for (const auto& [text, value] : table) {
        if (item.token.text == text) {
          item.used = true;
          return value;
        }
      }
    }
    return none;
  }
  [[nodiscard]] std::vector<Item>& items() { return items_; }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }

 private:
  std::vector<Item> items_;
};

/// An operand in its syntactic form, before its meaning is known.
struct Arg {
  enum class Kind : std::uint8_t { Name, Number, Vector, Address, Sink };
  Kind kind = Kind::Sink;
  Token at;                    // name, number, or the bracket
  bool negated = false;        // !p
  bool minus = false;          // of a number
  std::string_view component;  // x of %tid.x
  std::int64_t offset = 0;     // name + offset
  std::vector<Arg> elements;   // elements of {a, b}; base of an address (none: absolute)
  std::vector<Arg> pair;       // q of p|q
};

/// The value of a constant expression.
struct ConstantValue {
  enum class Kind : std::uint8_t { Signed, Unsigned, Real };
  Kind kind = Kind::Signed;
  std::uint64_t bits = 0;  // for Real: bits of a double
};

struct Statement {
  Token opcode;
  Modifiers modifiers;
  std::vector<Arg> args;
  Instruction inst;
};

/// One of the products of a matrix instruction.
struct MatrixProduct {
  Instruction inst;
  bool partial = false;  // the next product continues the sums, in new registers
};

/// The meaning of a name inside a scope.
struct Variable {
  enum class Kind : std::uint8_t {
    Register,
    Vector,  // several registers (.reg .v2, .v4, .b128)
    Slot,
    KernelParam,
    Symbol,
    Function,
    Prototype,
    BranchTable
  };
  Kind kind = Kind::Register;
  Type type = Type::None;     // Register; Vector: type of an element
  std::uint32_t index = 0;    // number of the register, or of a vector's first register; of the slot,
                              // parameter, symbol, prototype or branch table
  std::uint8_t elements = 1;  // Vector
};

/// The type of a register or variable: element type and number of elements (.v2, .v4; .b128 is two of 64
/// bits).
struct ValueShape {
  Type type = Type::None;
  std::uint8_t elements = 1;
};

/// `.reg .b32 %r<10>`. Registers are numbered at their first use, so a large range costs nothing.
struct RegisterRange {
  std::string_view prefix;
  std::uint64_t count = 0;
  ValueShape shape;
};

struct Scope {
  std::uint32_t id = 0;
  std::map<std::string_view, Variable> names;
  std::vector<RegisterRange> ranges;
};

/// Size and alignment of a parameter in its declaration.
struct ParamShape {
  std::string name;
  Token at;
  Type type = Type::None;
  std::uint32_t bytes = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t align = 0;
  bool is_array = false;
  bool is_pointer = false;
  bool is_open = false;    // p[]: of the size that a call passes
  ValueShape in_register;  // of a .reg; for other parameters, its type is None
  [[nodiscard]] bool is_register() const { return in_register.type != Type::None; }
};

struct Signature {
  std::vector<ParamShape> arguments;
  std::vector<ParamShape> results;
  bool defined = false;
};

class Parser {
 public:
  /// `by_function`: see parse_by_function().
  Parser(std::string_view text, const std::string& file, bool by_function);
  isa::Module run();

 private:
  friend struct OpcodeTable;
  class Sequence;
  using Handler = void (Parser::*)(Statement&);

  // --- tokens (parse.cpp) ---------------------------------------------------------------------
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool accept(char punct);
  bool accept_dot(std::string_view word);
  void expect(char punct, std::string_view after);
  Token expect_name(std::string_view what);
  std::uint64_t expect_integer(std::string_view what);
  [[noreturn]] void fail(const Token& at, const std::string& message) const;

  // --- module level (parse.cpp) -----------------------------------------------------------------
  void parse_version();
  void parse_target();
  void parse_linkage();
  void parse_alias();
  bool skip_debug_directive();  // .file, .loc, .section, .pragma
  void finish();

  // --- declarations (parse_declarations.cpp) -----------------------------------------------------
  struct Linkage {
    bool is_extern = false;
    bool is_weak = false;
    bool is_common = false;
  };
  void parse_variable(Space space, const Linkage& linkage);
  void parse_registers();
  ValueShape parse_register_type();
  Variable new_registers(const ValueShape& shape);
  ParamShape parse_param();
  void parse_param_name(ParamShape& param);
  ParamShape parse_register_param();
  std::vector<ParamShape> parse_param_list();
  std::uint32_t parse_align();
  ValueShape parse_variable_type();
  bool parse_attribute();  // true for managed
  struct Shape {
    std::uint64_t elements = 1;
    std::vector<std::uint64_t> dimensions;
    bool open = false;  // []
  };
  Shape parse_dimensions();
  void parse_initializer(isa::Symbol& symbol, Type type, unsigned depth);
  void parse_initial_value(isa::Symbol& symbol, Type type);
  std::uint32_t symbol_of_name(const Token& name);
  std::uint32_t function_symbol(const Token& name);
  void place(isa::Symbol& symbol, const Token& at);
  [[nodiscard]] std::string unknown_name(std::string_view what, const Token& name) const;

  // --- functions (parse_function.cpp) --------------------------------------------------------------
  void parse_function(bool is_kernel, const Linkage& linkage);
  /// Returns an error that makes the function unexecutable, if any. Malformed directives are thrown.
  std::optional<UserError> parse_kernel_directives();
  void parse_body();
  void declare_parameters(const Signature& signature);
  [[nodiscard]] static std::vector<Operand> operands_of(const Variable& registers);
  /// Copies a slot to registers, or registers to a slot. Used for parameters in registers (.reg), and for
  /// registers and numbers that calls pass.
  void copy_slot(bool to_registers, const Instruction& at, std::uint32_t slot, Type type,
                 const std::vector<Operand>& values);
  void store_register_results(const Instruction& at);
  void finish_function();
  void open_scope();
  void close_scope();
  void parse_label(const Token& name);
  void parse_statement();
  void parse_instruction();
  [[nodiscard]] const Variable* find(std::string_view name);
  std::uint32_t new_register(Type type);
  void declare(const Token& name, const Variable& variable);
  void check_calls();
  Signature parse_prototype();

  // --- operands (parse_operands.cpp) ---------------------------------------------------------------
  std::vector<Arg> parse_args();
  std::vector<Arg> parse_texture_args();
  Arg parse_arg();
  Arg parse_simple_arg();
  std::int64_t parse_offset();
  [[nodiscard]] std::vector<Arg> components(const Arg& arg, std::size_t count) const;
  [[nodiscard]] std::optional<Variable> register_of(const Arg& arg);
  Operand destination(const Arg& arg, Type type, bool wider = false);
  Operand source(const Arg& arg, Type type, bool wider = false);
  Operand immediate(const Arg& arg, Type type);
  Operand predicate(const Arg& arg);
  Operand register_operand(const Arg& arg, const Variable& variable, Type type, bool wider);
  Operand plus_number(const Arg& arg, const Variable& variable, Type type);
  Operand special_register(const Arg& arg, Type type);
  Operand low_half(const Arg& arg, const Operand& whole);
  Operand reserved_shared(const Arg& arg, const std::string& name, Type type);
  Operand mov_source(const Arg& arg, Type type);
  Operand slot_address(const Arg& arg, const Variable& variable, unsigned width);
  Operand reference_object(const Arg& arg, const Variable& variable, unsigned width);
  // parse_constants.cpp
  [[nodiscard]] bool begins_expression() const;
  /// The value of an expression as the token of a number. An operator below `least_level` ends the
  /// expression.
  Token parse_expression(unsigned least_level = 0);
  ConstantValue parse_constant(unsigned least_level, unsigned depth);
  ConstantValue parse_constant_operand(unsigned depth);
  [[nodiscard]] std::string_view binary_operator(unsigned& level) const;
  void want_args(const Statement& s, std::size_t least, std::size_t most);
  void no_pair(const Arg& arg) const;

  // --- opcodes ---------------------------------------------------------------------------------------
  static Handler find_handler(std::string_view opcode);
  void check_modifiers(const Statement& s) const;
  [[noreturn]] void refuse_modifier(const Statement& s, const Token& modifier) const;
  [[noreturn]] void unknown_opcode(const Token& opcode) const;
  void finish_modifiers(Statement& s) const;
  Type want_type(Statement& s, TypeSet allowed);
  std::string opcode_text(const Statement& s) const;
  void emit(const Instruction& inst) { function_->code.push_back(inst); }
  Operand carry_register();
  isa::Rounding take_rounding(Statement& s);
  isa::Compare take_compare(Statement& s, Type type);
  // parse_arithmetic.cpp
  void op_table(Statement& s);
  void op_add_sub(Statement& s);
  void op_mul_mad(Statement& s);
  void op_mul24(Statement& s);
  void op_dot_product(Statement& s);
  void op_testp(Statement& s);
  void op_lop3(Statement& s);
  void op_shf(Statement& s);
  void op_prmt(Statement& s);
  void op_bfind(Statement& s);
  // parse_moves.cpp
  void op_mov(Statement& s);
  void op_cvt(Statement& s);
  void op_cvt_pack(Statement& s);
  // parse_clamped.cpp
  struct Clamps {
    bool to_zero = false;    // .relu
    bool to_finite = false;  // .satfinite
  };
  Clamps take_clamps(Statement& s) const;
  void clamp(const Statement& s, Clamps clamps);
  void clamp_to_zero(const Statement& s);
  void op_cvt_pack_integers(Statement& s);
  void sign_of_product(const Statement& s);
  void op_cvta(Statement& s);
  void op_isspacep(Statement& s);
  void op_set(Statement& s);
  void op_setp(Statement& s);
  void op_slct(Statement& s);
  void mov_vector(Statement& s);
  void mov_elements(Statement& s, std::size_t count);
  // parse_memory.cpp
  void op_ld(Statement& s);
  void op_st(Statement& s);
  void op_atom(Statement& s);
  void atom_vector(Statement& s, unsigned elements);
  void op_prefetch(Statement& s);
  void op_line_hint(Statement& s);
  void check_vector(const Statement& s, int vector);
  void take_memory_type(Statement& s);
  [[nodiscard]] static bool is_wide_vector(const Instruction& inst);
  void load_wide(Statement& s);
  Space take_space(Statement& s);
  void take_cache_hints(Statement& s);
  void take_order(Statement& s);
  bool take_scope(Statement& s);  // true if wider than the block
  void address(Statement& s, const Arg& arg);
  void param_address(Statement& s, const Arg& arg, const Arg& base);
  void behind_slot(Instruction& inst, std::uint32_t slot, std::uint64_t access);
  std::vector<Arg> vector_elements(Statement& s, const Arg& arg);
  // parse_texture.cpp
  void op_tex(Statement& s);
  void op_txq(Statement& s);
  isa::TextureGeometry take_geometry(Statement& s);
  enum class Opaque : std::uint8_t { Texture, Surface };
  Operand opaque_operand(const Arg& arg, Opaque wanted);
  void texture_coordinates(Statement& s, const Arg& arg, Type type);
  void level_operands(Statement& s, Type type);
  void parse_opaque_references(Opaque kind);
  // parse_surface.cpp
  void op_surface_move(Statement& s);
  void op_surface_reduction(Statement& s);
  void surface_modifiers(Statement& s);
  void surface_place(Statement& s, const Arg& place);
  std::vector<Arg> surface_values(Statement& s, const Arg& arg);
  // parse_matrix.cpp
  void op_mma(Statement& s);
  void op_wmma(Statement& s);
  void op_move_matrix(Statement& s);
  void op_ldmatrix(Statement& s);
  void op_stmatrix(Statement& s);
  void op_cvt_narrow(Statement& s);
  void aligned(Statement& s);
  std::vector<std::string_view> take_matrix_types(Statement& s);
  std::vector<Operand> fragment(const Statement& s, const Arg& arg, Type type, std::size_t registers,
                                bool result);
  void emit_products(const Statement& s, std::vector<MatrixProduct>& products);
  void wmma_move(Statement& s, std::string_view which);
  void wmma_product(Statement& s);
  void sums_to_finite(const Statement& s, const std::vector<Operand>& sums);
  // parse_control.cpp
  void op_shfl(Statement& s);
  bool takes_members(Statement& s) const;
  void op_vote(Statement& s);
  void op_match(Statement& s);
  void op_redux(Statement& s);
  // parse_video.cpp
  void op_video(Statement& s);
  void op_video_simd(Statement& s);
  void op_vmad(Statement& s);
  Operand video_source(const Arg& arg, Type type);
  Operand video_number(const Statement& s, const Arg& arg, Type type);
  // parse_stack.cpp
  void op_alloca(Statement& s);
  void op_stacksave(Statement& s);
  void op_stackrestore(Statement& s);
  Operand stack_top();
  // parse_async.cpp
  void op_cp(Statement& s);
  void copy_async(Statement& s);
  void op_mbarrier(Statement& s);
  void mbarrier_space(Statement& s);
  void op_createpolicy(Statement& s);
  /// The last operand of an instruction with .L2::cache_hint.
  void take_cache_policy(Statement& s);
  // parse_expansions.cpp
  void op_fns(Statement& s);
  void op_bmsk(Statement& s);
  void op_szext(Statement& s);
  void op_elect(Statement& s);
  void op_packed_integers(Statement& s);
  void op_packed_singles(Statement& s);
  void op_bar(Statement& s);
  void op_membar(Statement& s);
  void op_nanosleep(Statement& s);
  void op_bra(Statement& s);
  void op_brx(Statement& s);
  void op_call(Statement& s);
  void op_simple(Statement& s);
  void op_register_limit(Statement& s);
  struct CallValue;
  std::vector<Arg> parse_call_list(std::string_view after);
  std::uint32_t call_slot(const Arg& arg, const ParamShape* formal, bool result,
                          std::vector<CallValue>& values);
  [[nodiscard]] const Signature* prototype_of(const Token& name);

  struct LabelUse {
    Token name;
    std::vector<std::uint32_t> scopes;     // innermost first
    std::size_t instruction = 0;           // Bra
    std::uint32_t table = isa::kNoTarget;  // branch table with this label as entry `instruction`
  };
  void use_label(const Token& name, std::size_t instruction, std::uint32_t table);

  struct CallCheck {
    Token at;
    std::uint32_t function = 0;
    std::uint32_t call = 0;
  };

  /// Marks the current function as having no body, because of an error.
  void drop_body(const UserError& error);
  void spoil(std::uint32_t function, const UserError& error);
  void skip_body();
  void check_call(const CallCheck& check) const;

  std::string file_;
  bool by_function_;
  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  isa::Module module_;
  bool saw_version_ = false;
  bool saw_target_ = false;

  std::map<std::string_view, Variable> globals_;
  std::map<std::string, Signature, std::less<>> signatures_;
  std::map<std::string, std::uint32_t, std::less<>> function_symbols_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::map<std::uint32_t, Token> extern_symbols_;  // declared but not defined yet
  std::set<std::uint32_t> used_symbols_;
  std::set<std::uint32_t> surface_references_;  // surface symbols; other references are textures
  std::vector<CallCheck> calls_;
  std::map<std::string, Token, std::less<>> function_uses_;  // first place where the address was taken

  std::vector<Signature> prototypes_;
  std::uint32_t most_open_bytes_ = 0;  // most bytes that a call passes to a parameter of open size

  // State of the current function.
  Function* function_ = nullptr;
  std::vector<std::pair<std::uint32_t, Variable>> register_results_;  // result slots and their registers
  std::map<std::uint32_t, std::uint32_t> behind_slots_;  // by slot: slot for accesses beyond its end
  std::vector<Scope> scopes_;
  std::uint32_t next_scope_ = 0;
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> labels_;
  std::vector<LabelUse> label_uses_;
  Operand carry_;
  bool has_vectors_ = false;    // registers in vectors exist
  bool negates_names_ = false;  // operands such as -%r1 are allowed
};

/// Assigns an offset to every .shared symbol and shared_bytes to every function (shared_layout.cpp).
void lay_out_shared(isa::Module& module);

}  // namespace gpumux::ptx
