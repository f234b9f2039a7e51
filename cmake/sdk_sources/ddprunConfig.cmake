# find_package(ddprun) gives the target ddprun::sdk, which is compiled with your project. PyTorch is
# looked for, in this order, in the virtual environment or unpacked LibTorch that DDPRUN_TORCH_ENV names
# (CMake variable, then environment), and in that of the Python that CMake finds. It is 2.11 or
# newer, with CUDA or without: the SDK was tested with 2.11.0 and 2.15.0.
if(TARGET ddprun::sdk)
  return()
endif()

include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(ZLIB)
find_dependency(LibArchive)
find_dependency(nlohmann_json 3.11)
set(_ddprun_sources ${CMAKE_CURRENT_LIST_DIR}/../../ddprun/sdk)
include(${_ddprun_sources}/cmake/DdprunTorch.cmake)

set(_ddprun_torch_env "${DDPRUN_TORCH_ENV}")
if(NOT _ddprun_torch_env)
  set(_ddprun_torch_env "$ENV{DDPRUN_TORCH_ENV}")
endif()
ddprun_find_torch(_ddprun_torch "${_ddprun_torch_env}")
if(NOT _ddprun_torch)
  set(ddprun_FOUND FALSE)
  set(_ddprun_looked "in '${_ddprun_torch_env}'")
  if(NOT _ddprun_torch_env)
    set(_ddprun_looked "in the Python that CMake finds")
  endif()
  set(ddprun_NOT_FOUND_MESSAGE "There is no PyTorch ${_ddprun_looked}. Install the wheel torch into a virtual environment, or unpack a LibTorch, and name its \
folder with -DDDPRUN_TORCH_ENV=...")
  return()
endif()
set(DDPRUN_TORCH ${_ddprun_torch})
add_subdirectory(${_ddprun_sources} ${CMAKE_BINARY_DIR}/ddprun-sdk EXCLUDE_FROM_ALL)
