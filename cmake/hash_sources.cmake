# A header with content hashes of sources, so that results kept by an earlier program are used again exactly where nothing
# that they depend on has changed: of the simulator (ROOT/src/FOLDERS), of each sharing policy, block scheduler, core control,
# concurrency control and memory scheme, of each benchmark's folder. Comments do not count, nor does papers/, which shows what came of runs. A policy's
# hash is that of the file that registers it and of the files of src/policy that this one includes, themselves or over
# others; they are no part of the simulator's, unless what all runs need includes them.

cmake_minimum_required(VERSION 3.25)

# What is behind a `//` that begins a line, or follows code after two spaces, is a comment.
function(content_hash out)
  set(all "")
  foreach(file ${ARGN})
    file(READ ${file} text)
    string(REGEX REPLACE "\n[ \t]*//[^\n]*" "" text "\n${text}")
    string(REGEX REPLACE "  //[^\n]*" "" text "${text}")
    string(SHA256 hash "${text}")
    file(RELATIVE_PATH name ${ROOT} ${file})
    string(APPEND all "${name} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING ${hash} 0 32 hash)
  set(${out} ${hash} PARENT_SCOPE)
endfunction()

# The files, and all of src/policy that they need: headers, and where these are implemented. A header without a .cpp of its
# name is implemented by files that include it.
file(GLOB policy_files ${ROOT}/src/policy/*.cpp ${ROOT}/src/policy/*.hpp
     ${ROOT}/src/policy/*/*.cpp ${ROOT}/src/policy/*/*.hpp)
set(interfaces policy profile control mechanism mechanism_table observer profiled_curves
    scalability_curve)
function(with_what_they_include out)
  set(found "")
  set(new ${ARGN})
  while(new)
    list(POP_FRONT new file)
    if(file IN_LIST found)
      continue()
    endif()
    list(APPEND found ${file})
    file(STRINGS ${file} includes REGEX "^#include \"policy/")
    foreach(line ${includes})
      string(REGEX REPLACE "^#include \"policy/([a-z0-9_/]+)\\.hpp\".*" "\\1" name "${line}")
      list(APPEND new ${ROOT}/src/policy/${name}.hpp)
      if(EXISTS ${ROOT}/src/policy/${name}.cpp)
        list(APPEND new ${ROOT}/src/policy/${name}.cpp)
      elseif(NOT name IN_LIST interfaces)
        foreach(user ${policy_files})
          file(STRINGS ${user} uses REGEX "^#include \"policy/${name}\\.hpp\"")
          if(uses AND user MATCHES "\\.cpp$")
            list(APPEND new ${user})
          endif()
        endforeach()
      endif()
    endforeach()
  endwhile()
  list(SORT found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

with_what_they_include(common ${ROOT}/src/policy/registry.cpp ${ROOT}/src/policy/memory_scheme.cpp
                       ${ROOT}/src/policy/memory_sharing.cpp ${ROOT}/src/policy/observer.hpp
                       ${ROOT}/src/policy/block_schedulers/max.cpp)
set(policies "")
foreach(file ${policy_files})
  file(STRINGS ${file} registers REGEX "register_(policy|block_scheduler|core_control|concurrency_control|memory_scheme)\\(")
  if(registers AND file MATCHES "\\.cpp$" AND NOT file MATCHES "/(registry|block_scheduler|core_control|concurrency_control|memory_scheme)\\.cpp$")
    with_what_they_include(files ${file})
    content_hash(hash ${files})
    get_filename_component(name ${file} NAME)
    string(APPEND policies "    {\"${name}\", \"${hash}\"},\n")
  endif()
endforeach()

string(REPLACE "," ";" FOLDERS ${FOLDERS})
set(files ${common})
foreach(folder ${FOLDERS})
  if(NOT folder STREQUAL "policy")
    file(GLOB found ${ROOT}/src/${folder}/*.cpp ${ROOT}/src/${folder}/*.hpp
         ${ROOT}/src/${folder}/*/*.cpp ${ROOT}/src/${folder}/*/*.hpp)
    list(APPEND files ${found})
  endif()
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
/// By the file of src/policy that registers the policy, block scheduler, core control, concurrency control or memory scheme.
inline constexpr std::pair<std::string_view, std::string_view> policy_sources[] = {\n${policies}};
/// By folder of benchmarks/.
inline constexpr std::pair<std::string_view, std::string_view> benchmark_sources[] = {\n${entries}};
}  // namespace gpumux::embedded\n")
