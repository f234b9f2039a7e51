# find_package(ddprun) for other projects: the SDK's libraries and public headers, how to find LibTorch,
# and the examples, to begin with.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ddprun)

list(TRANSFORM rooms PREPEND ddprun_ OUTPUT_VARIABLE targets)
install(TARGETS ddprun_sdk ${targets} EXPORT ddprunTargets COMPONENT sdk
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(EXPORT ddprunTargets NAMESPACE ddprun:: DESTINATION ${package_dir} COMPONENT sdk)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ddprunConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/ddprunConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ddprunConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/ddprunConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/ddprunConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/DdprunTorch.cmake
  DESTINATION ${package_dir} COMPONENT sdk)

install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ddprun/examples COMPONENT sdk
  PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/docs/sdk.md ${PROJECT_SOURCE_DIR}/docs/sdk-reference.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sdk)
