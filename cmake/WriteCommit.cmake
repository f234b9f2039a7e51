# cmake -DSOURCE=... -DFILE=... -P WriteCommit.cmake: writes the commit of the checkout SOURCE into the
# C++ file FILE, and leaves the file alone when nothing has changed, so that nothing is compiled again.
#
# A packager who builds outside of git names the commit in the environment, as DDPRUN_COMMIT. An sdist has it in a file.
set(commit "$ENV{DDPRUN_COMMIT}")
if(NOT commit)
  # Sources without a .git of their own may lie in somebody else's repository: its commit is not ours.
  execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
    OUTPUT_VARIABLE place OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE code ERROR_QUIET)
  if(code EQUAL 0 AND place STREQUAL "")
    execute_process(COMMAND git --no-optional-locks -C ${SOURCE}
      describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit AND EXISTS ${SOURCE}/COMMIT)
  file(STRINGS ${SOURCE}/COMMIT commit LIMIT_COUNT 1)
endif()
if(NOT commit MATCHES "^[0-9A-Za-z._-]+$")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${FILE} @ONLY CONTENT [[
namespace ddprun {
extern const char kCommit[];
const char kCommit[] = "@commit@";
}  // namespace ddprun
]])
