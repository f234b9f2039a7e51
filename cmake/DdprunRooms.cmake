# ddprun_room(NAME [FAST] PURE ... SHELL ... USES ... PRIVATELY ...): a folder of sources as a library.
#
# PURE and SHELL name the room's files without their endings; x stands for x.hpp and x.cpp, or for
# the one of them that is there. What is pure decides, and does no input or output: neither it nor
# what it includes reaches Asio, spdlog or a header of the system for that. What is a shell acts.
# USES names the rooms and libraries that the room's files may include, PRIVATELY those that only
# its .cpp files may. The linker holds a room to it, and scripts/check-rooms, which reads these calls,
# holds headers to it.
#
# A release optimises a FAST room for speed: what is in there is done for each request, message or line.
# All others are optimised for size, which takes a third off their code and a tenth or more off their compilation:
# what is done once a job costs the launcher more by the memory that its code takes.
#
# Headers that most rooms include are precompiled: see ddprun_optimised().
#
# A room whose files are all headers has nothing to compile and becomes an interface library.
# VERIFY_INTERFACE_HEADER_SETS makes the target all_verify_interface_header_sets compile every header
# alone.
function(ddprun_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAST" "" "PURE;SHELL;USES;PRIVATELY")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ddprun_room(${name}): '${arg_UNPARSED_ARGUMENTS}' belongs to no keyword")
  endif()
  set(headers "")
  set(units "")
  foreach(file ${arg_PURE} ${arg_SHELL})
    set(found FALSE)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file}.hpp)
      list(APPEND headers ${file}.hpp)
      set(found TRUE)
    endif()
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file}.cpp)
      list(APPEND units ${file}.cpp)
      set(found TRUE)
    endif()
    if(NOT found)
      message(FATAL_ERROR "ddprun_room(${name}): there is neither ${file}.hpp nor ${file}.cpp")
    endif()
  endforeach()
  if(units)
    add_library(ddprun_${name} STATIC ${units})
    target_sources(ddprun_${name}
      PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    target_link_libraries(ddprun_${name} PUBLIC ${arg_USES} PRIVATE ${arg_PRIVATELY})
    # A room is one unit, a large one two, so that no unit holds up the others.
    set_target_properties(ddprun_${name} PROPERTIES
      UNITY_BUILD ${DDPRUN_UNITY} UNITY_BUILD_BATCH_SIZE 24)
    if(arg_FAST)
      ddprun_optimised(ddprun_${name} "")
    else()
      ddprun_optimised(ddprun_${name} -Os)
    endif()
  else()
    add_library(ddprun_${name} INTERFACE)
    target_sources(ddprun_${name}
      INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    target_link_libraries(ddprun_${name} INTERFACE ${arg_USES})
  endif()
  set_target_properties(ddprun_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_library(ddprun::${name} ALIAS ddprun_${name})
endfunction()

# ddprun_room_texts(NAME TEMPLATE TEXT...): files of the folder become a part of the room NAME, and so
# of the executable. CMake makes the header TEMPLATE out of TEMPLATE.in, where @x_py@ stands for the
# text of x.py. The room includes it by its path from the project's root. Files that use a text are
# compiled again when it changes.
function(ddprun_room_texts name template)
  foreach(text ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text})
    string(MAKE_C_IDENTIFIER ${text} variable)
    file(READ ${text} ${variable})
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  configure_file(${template}.in ${generated}/${folder}/${template} @ONLY)
  target_include_directories(ddprun_${name} PRIVATE ${generated})
endfunction()

# ddprun_optimised(TARGET OPTIMISATION [HEADER]): a release compiles the target with this option in place of -O2, unless
# it is empty, and the target reads HEADER precompiled, which is base/precompiled.hpp where none is named. g++ takes
# only what was precompiled with the same options, so there is one for each of them; other builds have one for all.
function(ddprun_optimised target optimisation)
  set(options "")
  if(optimisation)
    set(options $<$<CONFIG:Release>:${optimisation}>)
    target_compile_options(${target} PRIVATE ${options})
  endif()
  if(NOT DDPRUN_PRECOMPILED)
    return()
  endif()
  set(header base/precompiled.hpp)
  if(ARGC GREATER 2)
    set(header ${ARGV2})
  endif()
  string(MAKE_C_IDENTIFIER ddprun_${header} precompiled)
  if(optimisation AND CMAKE_BUILD_TYPE STREQUAL "Release")
    string(APPEND precompiled ${optimisation})
  endif()
  if(NOT TARGET ${precompiled})
    add_library(${precompiled} OBJECT ${PROJECT_SOURCE_DIR}/base/precompiled.cpp)
    target_link_libraries(${precompiled} PRIVATE ddprun_libraries)
    target_include_directories(${precompiled} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${precompiled} PRIVATE ${options})
    target_precompile_headers(${precompiled} PRIVATE ${PROJECT_SOURCE_DIR}/${header})
    set_target_properties(${precompiled} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()
