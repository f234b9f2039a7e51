// The page docs/command-line.md, made from the table of options, so that it never says less or more
// than the program takes.
#pragma once

#include <string>

namespace ddprun {

/// The whole page, in Markdown (https://commonmark.org): GitHub and MkDocs show the same.
std::string command_line_page();

}  // namespace ddprun
