# Writes the header with the commit of the sources, when it has changed: ROOT, OUTPUT.
execute_process(COMMAND git -C ${ROOT} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(text "")  # sources without their history
else()
  execute_process(COMMAND git -C ${ROOT} diff --quiet HEAD -- src apps benchmarks machines experiments
                  RESULT_VARIABLE changed ERROR_QUIET)
  set(text " (commit ${commit}")
  if(changed)
    string(APPEND text ", changed")
  endif()
  string(APPEND text ")")
endif()
set(content "// Made by cmake/commit.cmake.\n#pragma once\n#define GPUMUX_COMMIT \"${text}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
