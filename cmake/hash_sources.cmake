# A header with the content hash of the simulator's sources (ROOT/src/FOLDERS) and of each benchmark's folder, so
# that results kept by an earlier program are used again exactly where nothing that they depend on has changed.
function(content_hash out)
  set(text "")
  foreach(file ${ARGN})
    file(SHA256 ${file} hash)
    file(RELATIVE_PATH name ${ROOT} ${file})
    string(APPEND text "${name} ${hash}\n")
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 32 hash)
  set(${out} ${hash} PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" FOLDERS ${FOLDERS})
set(files)
foreach(folder ${FOLDERS})
  file(GLOB found ${ROOT}/src/${folder}/*.cpp ${ROOT}/src/${folder}/*.hpp)
  list(APPEND files ${found})
endforeach()
content_hash(simulator ${files})

file(GLOB common ${ROOT}/benchmarks/*.hpp)
file(GLOB folders LIST_DIRECTORIES true ${ROOT}/benchmarks/*)
set(entries "")
foreach(folder ${folders})
  file(GLOB found ${folder}/*.cpp ${folder}/*.hpp ${folder}/*.ptx)
  if(found)
    content_hash(hash ${found} ${common})
    get_filename_component(name ${folder} NAME)
    string(APPEND entries "    {\"${name}\", \"${hash}\"},\n")
  endif()
endforeach()

file(WRITE ${OUTPUT} "#pragma once\n#include <string_view>\n#include <utility>\nnamespace gpumux::embedded {
inline constexpr std::string_view program_version = \"${VERSION}\";
inline constexpr std::string_view simulator_sources = \"${simulator}\";
/// By folder of benchmarks/.
inline constexpr std::pair<std::string_view, std::string_view> benchmark_sources[] = {\n${entries}};
}  // namespace gpumux::embedded\n")
