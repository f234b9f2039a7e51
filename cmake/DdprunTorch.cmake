# ddprun::torch: LibTorch out of a PyPI wheel.
#
# Not the wheel's own find_package(Torch): that one insists on nvcc, and nothing here compiles device
# code. The CUDA headers that LibTorch's headers include lie in the nvidia wheels beside it.
#
# This file is used by ddprun itself and, installed, by every project that builds with its SDK.

# ddprun_find_torch(RESULT ENV): the folder of the package torch in the virtual environment ENV or,
# when ENV is empty, in that of the Python that CMake finds. Empty when there is none.
function(ddprun_find_torch result env)
  set(${result} "" PARENT_SCOPE)
  if(env)
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

# ddprun_torch_version(RESULT TORCH): such as "2.11.0+cu130".
function(ddprun_torch_version result torch)
  file(STRINGS ${torch}/version.py line REGEX "^__version__ = " LIMIT_COUNT 1)
  string(REGEX REPLACE ".*'(.*)'.*" "\\1" version "${line}")
  set(${result} ${version} PARENT_SCOPE)
endfunction()

# ddprun_add_torch(TORCH): the target ddprun::torch.
function(ddprun_add_torch torch)
  if(TARGET ddprun::torch)
    return()
  endif()
  cmake_path(GET torch PARENT_PATH site_packages)
  file(GLOB nvidia_includes ${site_packages}/nvidia/*/include)
  add_library(ddprun::torch INTERFACE IMPORTED GLOBAL)
  target_include_directories(ddprun::torch SYSTEM INTERFACE
    ${torch}/include
    ${torch}/include/torch/csrc/api/include
    ${nvidia_includes})
  target_compile_definitions(ddprun::torch INTERFACE
    USE_DISTRIBUTED USE_C10D_GLOO USE_C10D_NCCL)
  target_link_directories(ddprun::torch INTERFACE ${torch}/lib)
  # libstdc++ comes first: libtorch.so exports pieces of another one (std::filesystem::remove_all
  # among them, which crashes), and the first library that has a symbol wins.
  # LibTorch finds GPUs when libtorch_cuda.so is loaded. Programs need no symbol of it, so a linker
  # that is told --as-needed, as Debian's and Ubuntu's gcc tell it, would leave it out.
  target_link_libraries(ddprun::torch INTERFACE
    stdc++ -Wl,--push-state,--no-as-needed,-ltorch_cuda,--pop-state
    torch torch_cpu c10 c10_cuda Threads::Threads)
  target_link_options(ddprun::torch INTERFACE
    -Wl,-rpath,${torch}/lib
    # What LibTorch itself needs it finds by its own runpath, when it is loaded.
    -Wl,--allow-shlib-undefined)
endfunction()
