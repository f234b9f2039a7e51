# ddprun::torch: LibTorch out of a PyPI wheel, or as pytorch.org has it in an archive; with CUDA, or
# without.
#
# Not its own find_package(Torch): that one insists on nvcc, and nothing here compiles device code.
#
# This file is used by ddprun itself and, installed, by every project that builds with its SDK.

# ddprun_find_torch(RESULT ENV): the folder of LibTorch: ENV, where that is an unpacked archive; else
# that of the package torch in the virtual environment ENV or, when ENV is empty, in that of the Python
# that CMake finds. Empty when there is none.
function(ddprun_find_torch result env)
  set(${result} "" PARENT_SCOPE)
  if(env AND EXISTS "${env}/lib/libtorch.so")
    cmake_path(ABSOLUTE_PATH env NORMALIZE OUTPUT_VARIABLE torch)
  elseif(env)
    file(GLOB torch ${env}/lib/python3*/site-packages/torch)
  else()
    find_package(Python3 COMPONENTS Interpreter QUIET)
    if(NOT Python3_FOUND)
      return()
    endif()
    # Without importing it, which takes seconds.
    execute_process(COMMAND ${Python3_EXECUTABLE} -c
      "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(EXISTS "${torch}/lib/libtorch.so")
    set(${result} ${torch} PARENT_SCOPE)
  endif()
endfunction()

# ddprun_torch_version(RESULT TORCH): such as "2.11.0+cu130", or "2.11.0+cpu".
function(ddprun_torch_version result torch)
  if(EXISTS ${torch}/version.py)
    file(STRINGS ${torch}/version.py line REGEX "^__version__ = ")
    string(REGEX REPLACE ".*'(.*)'.*" "\\1" version "${line}")
  elseif(EXISTS ${torch}/build-version)  # in archives
    file(STRINGS ${torch}/build-version version LIMIT_COUNT 1)
  else()
    set(version unknown)
  endif()
  set(${result} ${version} PARENT_SCOPE)
endfunction()

# ddprun_add_torch(TORCH): the target ddprun::torch. A LibTorch without libtorch_cuda.so is one for the
# CPU alone: then USE_C10D_NCCL is not defined.
function(ddprun_add_torch torch)
  if(TARGET ddprun::torch)
    return()
  endif()
  cmake_path(GET torch PARENT_PATH site_packages)
  file(GLOB nvidia_includes ${site_packages}/nvidia/*/include)  # beside a wheel with CUDA
  add_library(ddprun::torch INTERFACE IMPORTED GLOBAL)
  target_include_directories(ddprun::torch SYSTEM INTERFACE
    ${torch}/include
    ${torch}/include/torch/csrc/api/include
    ${nvidia_includes})
  target_compile_definitions(ddprun::torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
  target_link_directories(ddprun::torch INTERFACE ${torch}/lib)
  # libstdc++ comes first: libtorch.so exports pieces of another one (std::filesystem::remove_all
  # among them, which crashes), and the first library that has a symbol wins.
  target_link_libraries(ddprun::torch INTERFACE stdc++)
  if(EXISTS ${torch}/lib/libtorch_cuda.so)
    target_compile_definitions(ddprun::torch INTERFACE USE_C10D_NCCL)
    # LibTorch finds GPUs when libtorch_cuda.so is loaded. Programs need no symbol of it, so a linker
    # with --as-needed, the default of Debian's and Ubuntu's gcc, would leave it out.
    target_link_libraries(ddprun::torch INTERFACE
      -Wl,--push-state,--no-as-needed,-ltorch_cuda,--pop-state c10_cuda)
  endif()
  target_link_libraries(ddprun::torch INTERFACE torch torch_cpu c10 Threads::Threads)
  target_link_options(ddprun::torch INTERFACE
    -Wl,-rpath,${torch}/lib
    # What LibTorch itself needs it finds by its own runpath, when it is loaded.
    -Wl,--allow-shlib-undefined)
endfunction()

# ddprun_add_cuda_headers(TORCH): those that LibTorch's headers for NCCL include, to compile the
# SDK itself. An archive lacks them: there the CUDA toolkit and NCCL of the machine have them. Does nothing
# for a LibTorch without CUDA.
function(ddprun_add_cuda_headers torch)
  if(NOT EXISTS ${torch}/lib/libtorch_cuda.so)
    return()
  endif()
  cmake_path(GET torch PARENT_PATH site_packages)
  file(GLOB includes ${site_packages}/nvidia/*/include ${DDPRUN_CUDA_HEADERS}/nvidia/*/include)
  foreach(header cuda_runtime_api.h nccl.h)
    string(MAKE_C_IDENTIFIER "DDPRUN_FOLDER_OF_${header}" folder)
    find_path(${folder} ${header} HINTS ${includes} ${CUDA_HOME} $ENV{CUDA_HOME} /usr/local/cuda
      PATH_SUFFIXES include
      NO_CMAKE_FIND_ROOT_PATH)  # a wheel for another processor lies outside of that one's system
    if(NOT ${folder})
      message(FATAL_ERROR "${torch} is a LibTorch with CUDA, and there is no ${header}, which its "
        "headers include. The CUDA toolkit and NCCL's package for developers (libnccl-dev) have it: "
        "install them, or name its folder with -D${folder}=...; or take a LibTorch for the CPU alone")
    endif()
    list(APPEND includes ${${folder}})
  endforeach()
  list(REMOVE_DUPLICATES includes)
  target_include_directories(ddprun::torch SYSTEM INTERFACE ${includes})
endfunction()
