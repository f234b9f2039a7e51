# Compiles by ccache where there is one, unless the caller has chosen another launcher. What it keeps is found again by
# a clone in another folder, also what has precompiled headers (pch_defines, time_macros). Comments count: a precompiled
# header knows the files that it has read by their bytes, and would read those with another comment twice. ccache is
# looked for at each configuration: that of an earlier one may be gone.
find_program(DDPRUN_CCACHE ccache NO_CACHE)
if(DDPRUN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_COMMENTS=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${DDPRUN_CCACHE})
endif()
