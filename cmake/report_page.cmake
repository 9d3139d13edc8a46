# The page of `gpumux report` as a header: FOLDER with the skeleton page.html, style.css and the scripts, which are
# joined in the order of SCRIPTS; OUTPUT. A content policy names script and style by their hashes.
function(embed file name)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  file(SHA256 ${file} hash)
  file(APPEND ${OUTPUT}.new "inline constexpr unsigned char ${name}_bytes[] = {${bytes}0};\n"
    "inline const std::string_view ${name}{reinterpret_cast<const char*>(${name}_bytes), sizeof(${name}_bytes) - 1};\n"
    "inline constexpr std::string_view ${name}_sha256 = \"${hash}\";\n")
endfunction()

# Copied byte by byte by cmake -E cat: file(READ) as text would drop semicolons and brackets.
set(paths)
string(REPLACE "," ";" scripts "${SCRIPTS}")
foreach(script ${scripts})
  list(APPEND paths ${FOLDER}/${script})
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${paths} OUTPUT_FILE ${OUTPUT}.js COMMAND_ERROR_IS_FATAL ANY)

file(WRITE ${OUTPUT}.new "#pragma once\n#include <string_view>\nnamespace gpumux::embedded {\n")
embed(${FOLDER}/page.html report_skeleton)
embed(${FOLDER}/style.css report_style)
embed(${OUTPUT}.js report_script)
file(APPEND ${OUTPUT}.new "}  // namespace gpumux::embedded\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
