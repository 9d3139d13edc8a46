#include "arch/gpgpusim_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace gpumux::arch {
namespace {

struct Word {
  std::string text;
  bool quoted = false;
  SourceLocation at;
  std::vector<GpgpusimOption::Piece> pieces;  // places of the parts of the text
};

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// The words of a text. A quoted text is one word: its words, joined by single spaces.
class Words {
 public:
  Words(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Word> all() {
    std::vector<Word> words;
    for (skip_space(); here_ < text_.size(); skip_space()) words.push_back(word());
    return words;
  }

 private:
  [[nodiscard]] SourceLocation place() const {
    return {file_, line_, static_cast<std::uint32_t>(here_ - line_begin_ + 1)};
  }
  void step() {
    if (text_[here_++] != '\n') return;
    ++line_;
    line_begin_ = here_;
  }
  void skip_space() {
    while (here_ < text_.size()) {
      if (text_[here_] == '#') {
        while (here_ < text_.size() && text_[here_] != '\n') ++here_;
      } else if (is_space(text_[here_])) {
        step();
      } else {
        return;
      }
    }
  }
  [[nodiscard]] bool inside_word() const {
    return here_ < text_.size() && !is_space(text_[here_]) && text_[here_] != '#';
  }

  Word word() {
    Word word;
    word.at = place();
    if (text_[here_] == '"') {
      word.quoted = true;
      step();
    }
    bool closed = !word.quoted;
    do {
      if (word.quoted) {
        skip_space();
        if (here_ == text_.size()) break;
        if (!word.text.empty()) word.text += ' ';
      }
      word.pieces.push_back({word.text.size(), place()});
      for (; inside_word() && !closed; step()) {
        if (text_[here_] == '"') {
          closed = true;
        } else {
          word.text += text_[here_];
        }
      }
      if (!word.quoted) {
        for (; inside_word(); step()) word.text += text_[here_];
      }
    } while (!closed);
    if (!closed) throw UserError(word.at, "this quotation mark has no second one");
    if (word.quoted && inside_word())
      throw UserError(place(), "white space must follow the quotation mark that ends a value");
    return word;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t here_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

/// True if the word is an option: a dash and a letter. Values may be negative numbers.
bool names_option(const Word& word) {
  return !word.quoted && word.text.size() > 1 && word.text[0] == '-' &&
         (std::isalpha(static_cast<unsigned char>(word.text[1])) != 0 || word.text[1] == '_');
}

}  // namespace

SourceLocation GpgpusimOption::at(std::size_t offset) const {
  const Piece* found = nullptr;
  for (const Piece& piece : pieces) {
    if (piece.offset > offset) break;
    found = &piece;
  }
  if (found == nullptr) return key_at;
  SourceLocation where = found->at;
  where.column += static_cast<std::uint32_t>(offset - found->offset);
  return where;
}

std::vector<GpgpusimPart> GpgpusimOption::parts(std::string_view separators) const {
  std::vector<GpgpusimPart> parts;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find_first_of(separators, begin), value.size());
    std::size_t first = begin;
    while (first < end && is_space(value[first])) ++first;
    parts.push_back({std::string(trim(std::string_view(value).substr(begin, end - begin))), at(first)});
    begin = end + 1;
  }
  return parts;
}

std::vector<GpgpusimOption> parse_gpgpusim_options(std::string_view text, const std::string& file) {
  const std::vector<Word> words = Words(text, file).all();
  std::vector<GpgpusimOption> options;
  for (std::size_t i = 0; i < words.size();) {
    const Word& word = words[i++];
    if (!names_option(word)) {
      throw UserError(
          word.at,
          fmt::format("'{}' is no option; options begin with a dash and a letter{}", word.text,
                      options.empty() ? "" : fmt::format(", and '{}' takes one value", options.back().key)));
    }
    GpgpusimOption option{word.text, find_gpgpusim_key(word.text), "", word.at, {}};
    if (word.text == "-config")
      throw UserError(word.at, "-config: name the file behind this one on the command line instead");
    const bool has_value = i < words.size() && !names_option(words[i]);
    if (option.known != nullptr && option.known->flag) {
      // As in GPGPU-Sim: the word after a flag is its value only if it is a number.
      if (has_value && parse_int(words[i].text)) {
        option.value = words[i].text;
        option.pieces = words[i++].pieces;
      } else {
        option.value = "1";
      }
    } else if (has_value) {
      option.value = words[i].text;
      option.pieces = words[i++].pieces;
      // Skip all words after an unknown option, because its number of values is unknown.
      while (option.known == nullptr && i < words.size() && !names_option(words[i])) ++i;
    } else if (option.known != nullptr) {
      throw UserError(word.at, fmt::format("'{}' has no value", word.text));
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace gpumux::arch
