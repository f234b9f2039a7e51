// Makes the man page from the table of options, and from texts that belong nowhere else.
#pragma once

#include <string>

namespace ddprun {

/// Returns it in roff's man macros (groff_man(7)).
std::string man_page();

}  // namespace ddprun
