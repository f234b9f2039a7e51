# OpenSSL is linked in where a program can be linked with its static libraries: the shared ones would be loaded by
# every start, also by one without a secret. Fedora has no static ones. Debian 13 compiles them with zlib and zstd, of
# which CMake's find_package() does not know.
include(CheckCXXSourceCompiles)

# ddprun_check_static_openssl(): sets, in the cache, DDPRUN_STATIC_OPENSSL where they are enough, and
# DDPRUN_STATIC_OPENSSL_COMPRESSES where the two others must follow them.
function(ddprun_check_static_openssl)
  find_library(DDPRUN_LIBSSL_A libssl.a)
  find_library(DDPRUN_LIBCRYPTO_A libcrypto.a)
  find_library(DDPRUN_LIBZ_A libz.a)
  find_library(DDPRUN_LIBZSTD_A libzstd.a)
  mark_as_advanced(DDPRUN_LIBSSL_A DDPRUN_LIBCRYPTO_A DDPRUN_LIBZ_A DDPRUN_LIBZSTD_A)
  if(NOT DDPRUN_LIBSSL_A OR NOT DDPRUN_LIBCRYPTO_A)
    return()
  endif()
  set(program "#include <openssl/ssl.h>\nint main() { return SSL_CTX_new(TLS_method()) == nullptr; }")
  set(others Threads::Threads ${CMAKE_DL_LIBS})
  set(CMAKE_REQUIRED_LIBRARIES ${DDPRUN_LIBSSL_A} ${DDPRUN_LIBCRYPTO_A} ${others})
  check_cxx_source_compiles("${program}" DDPRUN_STATIC_OPENSSL)
  if(NOT DDPRUN_STATIC_OPENSSL AND DDPRUN_LIBZ_A AND DDPRUN_LIBZSTD_A)
    list(APPEND CMAKE_REQUIRED_LIBRARIES ${DDPRUN_LIBZ_A} ${DDPRUN_LIBZSTD_A})
    check_cxx_source_compiles("${program}" DDPRUN_STATIC_OPENSSL_COMPRESSES)
  endif()
endfunction()

set(OPENSSL_USE_STATIC_LIBS ON)
if(NOT OPENSSL_CRYPTO_LIBRARY)  # a recipe that names it has made it itself
  ddprun_check_static_openssl()
  if(NOT DDPRUN_STATIC_OPENSSL AND NOT DDPRUN_STATIC_OPENSSL_COMPRESSES)
    message(STATUS "no program can be linked with static libraries of OpenSSL here: each start loads the shared ones")
    set(OPENSSL_USE_STATIC_LIBS OFF)
  endif()
endif()
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto SSL)
if(DDPRUN_STATIC_OPENSSL_COMPRESSES)
  target_link_libraries(OpenSSL::Crypto INTERFACE ${DDPRUN_LIBZ_A} ${DDPRUN_LIBZSTD_A})
endif()
