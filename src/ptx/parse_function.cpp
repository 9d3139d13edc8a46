// Functions: headers, bodies, scopes, labels.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/round_up.hpp"
#include "base/text.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {

namespace {

constexpr std::size_t kMaxScopes = 256;
constexpr std::uint32_t kMaxKernelParamBytes = 32764;

}  // namespace

bool begins_declaration(const Token& token) {
  constexpr std::array<std::string_view, 10> kWords{"visible", "extern", "weak",  "common", "entry",
                                                    "func",    "global", "const", "shared", "alias"};
  return token.kind == Token::Kind::Dot && std::ranges::find(kWords, token.text) != kWords.end();
}

void Parser::open_scope() {
  if (scopes_.size() >= kMaxScopes) fail(peek(), "scopes nested too deeply");
  Scope scope;
  scope.id = next_scope_++;
  scopes_.push_back(std::move(scope));
}

void Parser::close_scope() { scopes_.pop_back(); }

void Parser::declare(const Token& name, const Variable& variable) {
  const auto [at, fresh] = scopes_.back().names.try_emplace(name.text, variable);
  if (!fresh) fail(name, fmt::format("'{}' is declared twice", name.text));
}

std::uint32_t Parser::new_register(Type type) {
  if (type == Type::Pred) return function_->num_pred++;
  return isa::width_bits(type) == 64 ? function_->num_reg64++ : function_->num_reg32++;
}

const Variable* Parser::find(std::string_view name) {
  // Digits at the end of a name may be the number of a register in a range: %r12 -> %r, 12.
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return &found->second;
    // A prefix may itself end in digits (.reg .b32 %r1_<3>; %x1<4>), so every split is tried.
    for (std::size_t split = digits; split < name.size(); ++split) {
      const std::string_view number = name.substr(split);
      if (number.size() > 1 && number[0] == '0') continue;
      for (const RegisterRange& range : scope->ranges) {
        if (range.prefix != name.substr(0, split)) continue;
        const auto value = parse_uint(number);
        if (!value || *value >= range.count) continue;
        return &scope->names.emplace(name, new_registers(range.shape)).first->second;
      }
    }
  }
  const auto global = globals_.find(name);
  return global == globals_.end() ? nullptr : &global->second;
}

void Parser::parse_function(bool is_kernel, const Linkage& linkage) {
  parse_attribute();
  Signature signature;
  if (!is_kernel && peek().is('(')) signature.results = parse_param_list();
  const Token name = expect_name("the function's name");
  if (peek().is('(')) signature.arguments = parse_param_list();
  const std::string key(name.text);
  const auto known = signatures_.find(key);
  if (known != signatures_.end()) {
    const auto same = [](const std::vector<ParamShape>& a, const std::vector<ParamShape>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ParamShape& x, const ParamShape& y) {
        return x.bytes == y.bytes && x.is_open == y.is_open && x.is_register() == y.is_register();
      });
    };
    if (!same(known->second.arguments, signature.arguments) ||
        !same(known->second.results, signature.results)) {
      fail(name, fmt::format("'{}' was declared before with other parameters", name.text));
    }
  } else if (globals_.contains(name.text)) {
    fail(name, fmt::format("'{}' is declared twice", name.text));
  }
  globals_[name.text] = {Variable::Kind::Function, Type::None, 0};

  module_.functions.emplace_back();
  function_ = &module_.functions.back();
  function_->name = key;
  function_->is_kernel = is_kernel;
  function_->where = {file_, name.line, name.column};
  const std::optional<UserError> refused = parse_kernel_directives();
  if (!peek().is('{')) {  // a declaration
    const bool ends = !is_kernel && (begins_declaration(peek()) || peek().kind == Token::Kind::End);
    if (!ends) expect(';', "the declaration of a function");
    module_.functions.pop_back();
    function_ = nullptr;
    signatures_.try_emplace(key, std::move(signature));
    return;
  }
  if (linkage.is_extern) fail(name, fmt::format("external function '{}' has a body", name.text));
  if (known != signatures_.end() && known->second.defined) {
    fail(name, fmt::format("function '{}' has two bodies", name.text));
  }
  signature.defined = true;
  open_scope();
  declare_parameters(signature);
  signatures_[key] = std::move(signature);
  const std::size_t begin = pos_;
  module_.source_lines.push_back({name.line, 0, 0, 0, 0});
  try {
    if (refused) throw UserError(*refused);
    parse_body();
    if (!register_results_.empty()) store_register_results({});  // the end of a body is a return
    finish_function();
  } catch (const UserError& error) {
    if (!by_function_) throw;
    drop_body(error);
    pos_ = begin;
    skip_body();
  }
  function_ = nullptr;
}

void Parser::drop_body(const UserError& error) {
  const auto index = static_cast<std::uint32_t>(function_ - module_.functions.data());
  spoil(index, error);
  std::erase_if(calls_, [&](const CallCheck& check) { return check.function == index; });
  register_results_.clear();
  behind_slots_.clear();
  scopes_.clear();
  labels_.clear();
  label_uses_.clear();
  carry_ = {};
}

void Parser::spoil(std::uint32_t index, const UserError& error) {
  Function& function = module_.functions[index];
  function.error = error.what();
  function.code.clear();
  function.calls.clear();
  function.branch_tables.clear();
  function.labels.clear();
}

void Parser::skip_body() {
  const Token begin = peek();
  std::size_t depth = 0;
  do {
    if (peek().kind == Token::Kind::End) {
      fail(peek(), fmt::format("the body of '{}', begun in line {}, has no end; '}}' is missing",
                               function_->name, begin.line));
    }
    if (peek().is('{')) ++depth;
    if (peek().is('}')) --depth;
    next();
  } while (depth > 0);
}

void Parser::declare_parameters(const Signature& signature) {
  if (function_->is_kernel) {
    for (const ParamShape& shape : signature.arguments) {
      if (shape.is_register()) fail(shape.at, "the parameters of a kernel lie in .param");
      if (shape.is_open) fail(shape.at, "an array of open size is no parameter of a kernel");
      isa::Param param;
      param.name = shape.name;
      param.type = shape.type;
      param.bytes = shape.bytes;
      param.align = shape.align;
      param.offset = round_up(function_->param_bytes, shape.align);
      param.is_array = shape.is_array;
      param.is_pointer = shape.is_pointer;
      function_->param_bytes = param.offset + param.bytes;
      if (function_->param_bytes > kMaxKernelParamBytes) {
        fail(shape.at, fmt::format("the parameters need more than {} bytes", kMaxKernelParamBytes));
      }
      declare(shape.at, {Variable::Kind::KernelParam, Type::None,
                         static_cast<std::uint32_t>(function_->params.size())});
      function_->params.push_back(std::move(param));
    }
    return;
  }
  Instruction begin;
  begin.line = function_->where.line;
  begin.column = function_->where.column;
  const auto add = [&](const std::vector<ParamShape>& shapes, std::vector<std::uint32_t>& slots,
                       bool results) {
    for (const ParamShape& shape : shapes) {
      const auto slot = static_cast<std::uint32_t>(function_->slots.size());
      function_->slots.push_back({shape.name, shape.bytes, shape.align, shape.is_open});
      slots.push_back(slot);
      if (shape.name == "_") continue;
      if (!shape.is_register()) {
        declare(shape.at, {Variable::Kind::Slot, Type::None, slot});
        continue;
      }
      const Variable registers = new_registers(shape.in_register);
      declare(shape.at, registers);
      if (results) {
        register_results_.emplace_back(slot, registers);
      } else {
        copy_slot(true, begin, slot, registers.type, operands_of(registers));
      }
    }
  };
  add(signature.results, function_->result_slots, true);
  add(signature.arguments, function_->argument_slots, false);
}

std::vector<Operand> Parser::operands_of(const Variable& registers) {
  std::vector<Operand> operands;
  for (std::uint32_t i = registers.index; i < registers.index + registers.elements; ++i) {
    operands.push_back(registers.type == Type::Pred            ? Operand::pred(i)
                       : isa::width_bits(registers.type) == 64 ? Operand::reg64(i)
                                                               : Operand::reg32(i));
  }
  return operands;
}

void Parser::copy_slot(bool to_registers, const Instruction& at, std::uint32_t slot, Type type,
                       const std::vector<Operand>& values) {
  const auto like = [&at](Opcode op, Type of) {
    Instruction inst;
    inst.op = op;
    inst.type = of;
    inst.guard = at.guard;
    inst.line = at.line;
    inst.column = at.column;
    return inst;
  };
  const bool predicate = type == Type::Pred;  // a predicate's slot has 32 bits, 0 or 1
  const unsigned width = predicate ? 32 : isa::width_bits(type);
  Instruction access = like(to_registers ? Opcode::Ld : Opcode::St, width == 64   ? Type::B64
                                                                    : width == 32 ? Type::B32
                                                                    : width == 16 ? Type::U16
                                                                                  : Type::U8);
  access.space = Space::Param;
  access.src[0] = Operand::immediate(slot);
  for (const Operand& value : values) {
    const Operand word = predicate ? Operand::reg32(new_register(Type::B32)) : value;
    if (predicate && !to_registers) {
      Instruction select = like(Opcode::Selp, Type::B32);
      select.dst[0] = word;
      select.src[0] = Operand::immediate(1);
      select.src[1] = Operand::immediate(0);
      select.src[2] = value;
      emit(select);
    }
    (to_registers ? access.dst[0] : access.src[1]) = word;
    emit(access);
    access.offset += width / 8;
    if (predicate && to_registers) {
      Instruction compare = like(Opcode::Setp, Type::U32);
      compare.compare = isa::Compare::NE;
      compare.dst[0] = value;
      compare.src[0] = word;
      compare.src[1] = Operand::immediate(0);
      emit(compare);
    }
  }
}

void Parser::store_register_results(const Instruction& at) {
  for (const auto& [slot, registers] : register_results_)
    copy_slot(false, at, slot, registers.type, operands_of(registers));
}

std::optional<UserError> Parser::parse_kernel_directives() {
  std::optional<UserError> refused;
  // A bound larger than all blocks or register files has no effect.
  const auto product = [this] {
    std::uint64_t threads = 1;
    const Token at = peek();
    for (int i = 0; i < 3; ++i) {
      if (i > 0 && !accept(',')) break;
      threads *= std::min<std::uint64_t>(expect_integer("a number of threads"), 1U << 20U);
    }
    if (threads == 0) fail(at, "a block of 0 threads; a block has 1 to 1024");
    return threads > 1024 ? 0 : static_cast<std::uint32_t>(threads);
  };
  const auto number = [this](std::uint64_t most) {
    const std::uint64_t value = expect_integer("a number");
    return value > most ? 0 : static_cast<std::uint32_t>(value);
  };
  while (peek().kind == Token::Kind::Dot) {
    const Token token = peek();
    if (skip_debug_directive()) continue;
    if (!function_->is_kernel && begins_declaration(token)) break;
    next();
    if (token.text == "maxntid" || token.text == "reqntid") {
      function_->max_threads = product();
    } else if (token.text == "minnctapersm") {
      function_->min_blocks_per_sm = number(64);
    } else if (token.text == "maxnctapersm" || token.text == "maxclusterrank") {
      number(std::numeric_limits<std::uint32_t>::max());  // limits that a single block always meets
    } else if (token.text == "maxnreg") {
      function_->max_registers = number(65536);
    } else if (token.text == "noreturn" || token.text == "abi_preserve" ||
               token.text == "abi_preserve_control") {
      if (peek().kind == Token::Kind::Integer) next();
    } else if (token.text == "attribute") {
      --pos_;
      parse_attribute();
    } else if (token.text == "explicitcluster" || token.text == "reqnctapercluster" ||
               token.text == "blocksareclusters") {
      if (!refused)
        refused = UserError(SourceLocation{file_, token.line, token.column},
                            fmt::format("thread block clusters (.{}) are not supported", token.text));
      while (peek().kind == Token::Kind::Integer || peek().is(',')) next();
    } else {
      static const std::vector<std::string> kKnown = {"maxntid",      "reqntid",       "minnctapersm",
                                                      "maxnctapersm", "maxnreg",       "noreturn",
                                                      "pragma",       "maxclusterrank"};
      const std::string nearest = nearest_choice(token.text, kKnown);
      fail(token, fmt::format("unknown directive '.{}' of a function{}", token.text,
                              nearest.empty() ? "" : fmt::format("; did you mean '.{}'?", nearest)));
    }
  }
  return refused;
}

void Parser::parse_body() {
  const Token begin = peek();
  expect('{', "the function's header");
  const std::size_t depth = scopes_.size();
  while (true) {
    if (accept('{')) {
      open_scope();
    } else if (accept('}')) {
      if (scopes_.size() == depth) return;
      close_scope();
    } else if (peek().kind == Token::Kind::End) {
      fail(peek(), fmt::format("the body of '{}', begun in line {}, has no end; '}}' is missing",
                               function_->name, begin.line));
    } else {
      parse_statement();
    }
  }
}

void Parser::parse_statement() {
  if (accept(';')) return;
  if (peek().kind == Token::Kind::Dot && peek().text == "pragma" && peek(1).text == "nounroll") {
    isa::Instruction mark;  // Nop with shift 1: the loop that starts here must not be unrolled
    mark.op = isa::Opcode::Nop;
    mark.shift = 1;
    mark.line = peek().line;
    mark.column = peek().column;
    function_->code.push_back(mark);
  }
  if (skip_debug_directive()) return;
  const Token token = peek();
  if (token.kind == Token::Kind::Dot) {
    next();
    if (token.text == "reg") return parse_registers();
    if (token.text == "shared") return parse_variable(Space::Shared, {});
    if (token.text == "local") return parse_variable(Space::Local, {});
    if (token.text == "global") return parse_variable(Space::Global, {});
    if (token.text == "const") return parse_variable(Space::Const, {});
    if (token.text == "extern") {
      if (!accept_dot("shared")) fail(token, "only .shared variables are .extern inside a function");
      return parse_variable(Space::Shared, {true, false, false});
    }
    if (token.text == "param") {
      ParamShape shape = parse_param();
      while (true) {
        if (shape.is_open) fail(shape.at, "an array without a size is a parameter of a function");
        const auto slot = static_cast<std::uint32_t>(function_->slots.size());
        function_->slots.push_back({shape.name, shape.bytes, shape.align});
        declare(shape.at, {Variable::Kind::Slot, Type::None, slot});
        if (!accept(',')) break;
        parse_param_name(shape);
      }
      expect(';', "the declaration");
      return;
    }
    static const std::vector<std::string> kKnown = {"reg",   "shared", "local",  "global", "const",
                                                    "param", "loc",    "pragma", "extern"};
    const std::string nearest = nearest_choice(token.text, kKnown);
    fail(token, fmt::format("unknown directive '.{}' in a function{}", token.text,
                            nearest.empty() ? "" : fmt::format("; did you mean '.{}'?", nearest)));
  }
  if (token.kind == Token::Kind::Name && peek(1).is(':')) {
    next();
    next();
    return parse_label(token);
  }
  parse_instruction();
}

void Parser::parse_label(const Token& name) {
  const auto prototype = static_cast<std::uint32_t>(prototypes_.size());
  if (accept_dot("callprototype")) {
    prototypes_.push_back(parse_prototype());
    return declare(name, {Variable::Kind::Prototype, Type::None, prototype});
  }
  if (accept_dot("calltargets")) {
    const Token first = expect_name("the name of a function");
    while (accept(',')) expect_name("the name of a function");
    expect(';', ".calltargets");
    const auto target = signatures_.find(first.text);
    if (target == signatures_.end()) fail(first, unknown_name("function", first));
    prototypes_.push_back(target->second);
    return declare(name, {Variable::Kind::Prototype, Type::None, prototype});
  }
  if (accept_dot("branchtargets")) {
    const auto table = static_cast<std::uint32_t>(function_->branch_tables.size());
    function_->branch_tables.emplace_back();
    do {
      use_label(expect_name("a label"), function_->branch_tables.back().size(), table);
      function_->branch_tables.back().push_back(isa::kNoTarget);
    } while (accept(','));
    expect(';', ".branchtargets");
    return declare(name, {Variable::Kind::BranchTable, Type::None, table});
  }
  const auto id = static_cast<std::uint32_t>(function_->labels.size());
  const auto [at, fresh] = labels_.try_emplace({scopes_.back().id, name.text}, id);
  if (!fresh) fail(name, fmt::format("label '{}' stands twice", name.text));
  function_->labels.emplace_back(name.text);
  Instruction inst;
  inst.op = Opcode::Label;
  inst.target = id;
  inst.line = name.line;
  inst.column = name.column;
  emit(inst);
}

Signature Parser::parse_prototype() {
  Signature signature;
  if (peek().is('(')) signature.results = parse_param_list();
  expect_name("'_'");
  if (peek().is('(')) signature.arguments = parse_param_list();
  while (peek().is_dot("noreturn") || peek().is_dot("abi_preserve")) {
    next();
    if (peek().kind == Token::Kind::Integer) next();
  }
  expect(';', ".callprototype");
  return signature;
}

void Parser::use_label(const Token& name, std::size_t instruction, std::uint32_t table) {
  LabelUse use{name, {}, instruction, table};
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) use.scopes.push_back(scope->id);
  label_uses_.push_back(std::move(use));
}

void Parser::finish_function() {
  std::vector<bool> used(function_->labels.size(), false);
  for (const LabelUse& use : label_uses_) {
    std::uint32_t target = isa::kNoTarget;
    for (const std::uint32_t scope : use.scopes) {
      const auto found = labels_.find({scope, use.name.text});
      if (found == labels_.end()) continue;
      target = found->second;
      break;
    }
    if (target == isa::kNoTarget) {
      const std::string nearest = nearest_choice(use.name.text, function_->labels);
      fail(use.name, fmt::format("unknown label '{}'{}", use.name.text,
                                 nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    }
    used[target] = true;
    if (use.table == isa::kNoTarget) {
      function_->code[use.instruction].target = target;
    } else {
      function_->branch_tables[use.table][use.instruction] = target;
    }
  }
  // Labels without references (nvcc's -G and -lineinfo set many) would needlessly divide basic blocks.
  std::erase_if(function_->code,
                [&](const Instruction& inst) { return inst.op == Opcode::Label && !used[inst.target]; });
  scopes_.clear();
  labels_.clear();
  label_uses_.clear();
  register_results_.clear();
  behind_slots_.clear();
  carry_ = {};
}

void Parser::check_calls() {
  for (const CallCheck& check : calls_) {
    try {
      check_call(check);
    } catch (const UserError& error) {
      if (!by_function_) throw;
      if (module_.functions[check.function].error.empty()) spoil(check.function, error);
    }
  }
}

void Parser::check_call(const CallCheck& check) const {
  const Function& caller = module_.functions[check.function];
  if (!caller.error.empty()) return;
  const isa::CallSite& call = caller.calls[check.call];
  const auto callee = signatures_.find(call.callee);
  if (callee == signatures_.end()) return;  // an alias of a function in another file
  const auto compare = [&](const std::vector<std::uint32_t>& given, const std::vector<ParamShape>& wanted,
                           const char* what) {
    if (given.size() != wanted.size()) {
      fail(check.at, fmt::format("'{}' takes {} {}{}, {} given", call.callee, wanted.size(), what,
                                 wanted.size() == 1 ? "" : "s", given.size()));
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (caller.slots[given[i]].bytes != wanted[i].bytes && !wanted[i].is_open) {
        fail(check.at, fmt::format("{} {} of '{}' has {} bytes, {} given", what, i + 1, call.callee,
                                   wanted[i].bytes, caller.slots[given[i]].bytes));
      }
    }
  };
  compare(call.arguments, callee->second.arguments, "parameter");
  compare(call.results, callee->second.results, "result");
}

}  // namespace gpumux::ptx
