// The man page, made from the table of options and the texts that belong nowhere else.
#pragma once

#include <string>

namespace ddprun {

/// In roff's man macros (groff_man(7)).
std::string man_page();

}  // namespace ddprun
