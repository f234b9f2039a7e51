# ddprun::torch: LibTorch out of the PyPI wheel in DDPRUN_TORCH_ENV.
#
# Not the wheel's own find_package(Torch): that one insists on nvcc, and nothing here compiles device
# code. The CUDA headers that LibTorch's headers include lie in the nvidia wheels beside it.

file(GLOB site_packages ${DDPRUN_TORCH_ENV}/lib/python3*/site-packages)
if(NOT EXISTS "${site_packages}/torch/lib/libtorch.so")
  message(FATAL_ERROR
    "There is no PyTorch in DDPRUN_TORCH_ENV=${DDPRUN_TORCH_ENV}. Run scripts/setup to install it, "
    "set DDPRUN_TORCH_ENV to a virtual environment that has it, or build without the worker SDK: "
    "-DDDPRUN_SDK=OFF")
endif()
file(GLOB nvidia_includes ${site_packages}/nvidia/*/include)

add_library(ddprun_torch INTERFACE)
add_library(ddprun::torch ALIAS ddprun_torch)
target_include_directories(ddprun_torch SYSTEM INTERFACE
  ${site_packages}/torch/include
  ${site_packages}/torch/include/torch/csrc/api/include
  ${nvidia_includes})
target_compile_definitions(ddprun_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO USE_C10D_NCCL)
target_link_directories(ddprun_torch INTERFACE ${site_packages}/torch/lib)
# libstdc++ comes first: libtorch.so exports pieces of another one (std::filesystem::remove_all among
# them, which crashes), and the first library that has a symbol wins.
target_link_libraries(ddprun_torch INTERFACE
  stdc++ torch torch_cpu torch_cuda c10 c10_cuda Threads::Threads)
target_link_options(ddprun_torch INTERFACE
  -Wl,-rpath,${site_packages}/torch/lib
  # What LibTorch itself needs it finds by its own runpath, when it is loaded.
  -Wl,--allow-shlib-undefined)
