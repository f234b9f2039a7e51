// Makes the man page and the page docs/command-line.md from the table of options, so that they
// never say less or more than the program does. Pure.
#pragma once

#include <string>

namespace ddprun {

/// Returns the man page in roff's macros (groff_man(7)).
std::string man_page();

/// Returns the whole page docs/command-line.md, in Markdown (https://commonmark.org): GitHub and
/// MkDocs show the same.
std::string command_line_page();

}  // namespace ddprun
