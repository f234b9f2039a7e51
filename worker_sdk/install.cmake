# find_package(ddprun) for other projects: the SDK's libraries and headers, and how to find LibTorch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ddprun)

set_target_properties(ddprun_sdk PROPERTIES EXPORT_NAME sdk)
set_target_properties(ddprun_worker_env PROPERTIES EXPORT_NAME worker_env)
set_target_properties(ddprun_progress PROPERTIES EXPORT_NAME progress)
set_target_properties(ddprun_checkpoint_files PROPERTIES EXPORT_NAME checkpoint_files)
install(TARGETS ddprun_sdk ddprun_worker_env ddprun_progress ddprun_checkpoint_files EXPORT ddprunTargets COMPONENT sdk
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ddprun COMPONENT sdk)
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
