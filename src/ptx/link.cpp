#include "ptx/link.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "ptx/unit_reader.hpp"

namespace gpumux::ptx {
namespace {

using Kind = UnitItem::Kind;

/// An item with its unit.
struct Place {
  const UnitContents* contents = nullptr;
  const UnitItem* item = nullptr;
  [[nodiscard]] std::string text() const {
    return fmt::format("line {} of {}", contents->tokens[item->at_name].line, contents->unit->name);
  }
};

/// All items of the same shared name.
struct Shared {
  std::vector<Place> places;
  Place kept;  // the definition, or a declaration if there is none
};

class Linker {
 public:
  explicit Linker(std::span<const Unit> units) {
    for (const Unit& unit : units) contents_.push_back(read_unit(unit));
  }

  std::string run() {
    collect();
    for (auto& [name, shared] : shared_) choose(name, shared);
    rename();
    write_header();
    // Declarations come before all uses.
    write_declarations();
    write_items(Kind::Variable);
    write_items(Kind::Function);
    write_items(Kind::Alias);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(const Place& at, const std::string& what) {
    const Token& token = at.contents->tokens[at.item->at_name];
    throw UserError(SourceLocation{at.contents->unit->name, token.line, token.column}, what);
  }

  void collect() {
    for (const UnitContents& contents : contents_) {
      // A unit may repeat a declaration without its linkage directive.
      std::map<std::string_view, Linkage> linkages;
      for (const UnitItem& item : contents.items) {
        const auto [known, fresh] = linkages.try_emplace(item.name, item.linkage);
        if (!fresh) known->second = std::max(known->second, item.linkage);
      }
      for (const UnitItem& item : contents.items) {
        if (item.kind == Kind::FileNumber) continue;
        if (linkages.at(item.name) != Linkage::Local) {
          shared_[item.name].places.push_back({&contents, &item});
        } else {
          privates_[item.name].insert(&contents);
        }
      }
    }
  }

  void choose(std::string_view name, Shared& shared) {
    Place& kept = shared.kept;
    for (const Place& place : shared.places) {
      const UnitItem& item = *place.item;
      if (kept.item == nullptr) {
        kept = place;
      } else if (item.defines && kept.item->defines && item.linkage == Linkage::Visible &&
                 kept.item->linkage == Linkage::Visible) {
        fail(place, fmt::format("'{}' is defined here and in {}", name, kept.text()));
      } else if (item.defines != kept.item->defines) {
        if (item.defines) kept = place;
      } else if (item.defines ? item.linkage > kept.item->linkage ||
                                    (item.linkage == Linkage::Common &&
                                     kept.item->linkage == Linkage::Common && item.bytes > kept.item->bytes)
                              : item.dynamic && item.align > kept.item->align) {
        kept = place;
      }
    }
    for (const Place& place : shared.places) {
      if ((place.item->kind == Kind::Variable) != (kept.item->kind == Kind::Variable)) {
        fail(place, fmt::format("'{}' is a {} here, and none in {}", name,
                                place.item->kind == Kind::Variable ? "variable" : "function", kept.text()));
      }
    }
    if (kept.item->defines || kept.item->kind != Kind::Variable || kept.item->dynamic) return;
    for (const Place& place : shared.places) {
      const std::size_t declared = static_cast<std::size_t>(
          std::count_if(shared.places.begin(), shared.places.end(),
                        [&](const Place& p) { return p.contents == place.contents; }));
      if (place.contents->uses.at(name) > declared) {
        fail(place, fmt::format("variable '{}' is used, but none of the {} translation units defines it",
                                name, contents_.size()));
      }
    }
  }

  /// Renames private names that occur in several units. The first unit keeps the name, unless it is also a
  /// shared name.
  void rename() {
    std::set<std::string, std::less<>> taken;
    for (const UnitContents& contents : contents_)
      for (const auto& [name, count] : contents.uses) taken.emplace(name);
    for (const auto& [name, units] : privates_) {
      bool first = !shared_.contains(name);
      std::size_t number = 0;
      for (const UnitContents& contents : contents_) {
        if (!units.contains(&contents) || std::exchange(first, false)) continue;
        std::string fresh;
        do {
          fresh = fmt::format("{}${}", name, ++number);
        } while (!taken.insert(fresh).second);
        renamed_[&contents].emplace(name, std::move(fresh));
      }
    }
  }

  void write_header() {
    const UnitContents* version = &contents_.front();
    const UnitContents* target = version;
    bool debug = false;
    for (const UnitContents& contents : contents_) {
      if (contents.version_number > version->version_number) version = &contents;
      if (contents.target_number > target->target_number) target = &contents;
      debug = debug || contents.debug;
    }
    out_ = fmt::format(".version {}\n.target {}{}\n.address_size 64\n", version->version, target->target,
                       debug ? ", debug" : "");
    std::uint64_t first = 0;
    for (const UnitContents& contents : contents_) {
      first_file_[&contents] = first;
      first += contents.file_numbers + 1;
      for (const UnitItem& item : contents.items)
        if (item.kind == Kind::FileNumber) write(contents, item.begin, item.end);
    }
  }

  void write_declarations() {
    for (const UnitContents& contents : contents_) {
      std::set<std::string_view> declared;
      for (const UnitItem& item : contents.items) {
        if (item.kind == Kind::FileNumber) continue;
        const Shared* const shared = shared_of(item);
        if (shared == nullptr) {  // private to this unit
          const bool function = item.kind == Kind::Function && (!item.is_kernel || !item.defines);
          if (function && declared.insert(item.name).second) write_head(contents, item);
        } else if (shared->kept.item == &item) {
          write_shared_declaration(*shared);
        }
      }
    }
  }

  void write_shared_declaration(const Shared& shared) {
    const UnitContents& contents = *shared.kept.contents;
    const UnitItem& item = *shared.kept.item;
    switch (item.kind) {
      case Kind::Variable:
        if (!item.defines) return write(contents, item.begin, item.end);
        if (shared.places.size() == 1) return;  // the definition alone is sufficient
        out_ += ".extern ";
        return write(contents, item.at_space, item.head_end, ";");
      case Kind::Function:
        if (!item.is_kernel || shared.places.size() > 1) write_head(contents, item);
        return;
      case Kind::Alias:
        for (const Place& place : shared.places) {
          if (place.item->kind == Kind::Function) return write_head(*place.contents, *place.item);
        }
        return;
      case Kind::FileNumber: return;
    }
  }

  void write_head(const UnitContents& contents, const UnitItem& item) {
    write(contents, item.begin, item.head_end, ";");
  }

  /// The shared name of an item, or nullptr for a private one.
  [[nodiscard]] const Shared* shared_of(const UnitItem& item) const {
    const auto found = shared_.find(item.name);
    if (found == shared_.end()) return nullptr;
    const auto& places = found->second.places;
    const bool is_one =
        std::any_of(places.begin(), places.end(), [&](const Place& place) { return place.item == &item; });
    return is_one ? &found->second : nullptr;
  }

  [[nodiscard]] bool is_written(const UnitItem& item) const {
    const Shared* const shared = shared_of(item);
    return item.defines && (shared == nullptr || shared->kept.item == &item);
  }

  void write_items(Kind kind) {
    for (const UnitContents& contents : contents_) {
      out_ += fmt::format("// {}\n", contents.unit->name);
      for (const UnitItem& item : contents.items)
        if (item.kind == kind && is_written(item)) write(contents, item.begin, item.end);
    }
  }

  /// Copies tokens [begin, end) to the output, with new names and file numbers.
  void write(const UnitContents& contents, std::size_t begin, std::size_t end, std::string_view behind = {}) {
    const std::string_view text = contents.unit->text;
    const auto names = renamed_.find(&contents);
    std::size_t copied = contents.begin_of(begin);
    const auto replace = [&](std::size_t token, std::string_view with) {
      out_ += text.substr(copied, contents.begin_of(token) - copied);
      out_ += with;
      copied = contents.end_of(token);
    };
    for (std::size_t i = begin; i < end; ++i) {
      const Token& token = contents.tokens[i];
      const Token* const before = i > begin ? &contents.tokens[i - 1] : nullptr;
      if (token.kind == Token::Kind::Integer && before != nullptr &&
          (before->is_dot("loc") || before->is_dot("file") ||
           (before->kind == Token::Kind::Name && before->text == "inlined_at"))) {
        replace(i, std::to_string(first_file_.at(&contents) + token.bits));
      } else if (token.kind == Token::Kind::Name && names != renamed_.end() &&
                 contents.tokens[i + 1].kind != Token::Kind::Dot) {  // otherwise the token is an opcode
        if (const auto found = names->second.find(token.text); found != names->second.end())
          replace(i, found->second);
      }
    }
    out_ += text.substr(copied, contents.end_of(end - 1) - copied);
    out_ += behind;
    out_ += '\n';
  }

  std::vector<UnitContents> contents_;
  std::map<std::string_view, Shared> shared_;
  std::map<std::string_view, std::set<const UnitContents*>> privates_;
  // Keys are addresses, whose order differs from run to run, so these maps are never iterated.
  std::map<const UnitContents*, std::map<std::string_view, std::string>> renamed_;
  std::map<const UnitContents*, std::uint64_t> first_file_;
  std::string out_;
};

}  // namespace

std::string link(std::span<const Unit> units) { return Linker(units).run(); }

}  // namespace gpumux::ptx
