# Turns a text file into a header with one std::string_view: INPUT, OUTPUT, NAME.
# Raw literals are split: compilers limit the length of one.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "#pragma once\n#include <string_view>\nnamespace gpumux::embedded {\n"
  "inline constexpr unsigned char ${NAME}_bytes[] = {${bytes}0};\n"
  "inline const std::string_view ${NAME}{reinterpret_cast<const char*>(${NAME}_bytes), sizeof(${NAME}_bytes) - 1};\n"
  "}  // namespace gpumux::embedded\n")
