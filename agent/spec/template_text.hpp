// Replaces $name and ${name} in a text as Python's string.Template.safe_substitute() does, which
// torchrun uses (https://docs.python.org/3/library/string.html#template-strings). There is one
// difference: $$, which means something to shells, stays as it is where it does not keep a name
// from being replaced. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {

using TemplateValue = std::pair<std::string_view, std::string>;

/// The text with the names replaced. Names that `values` does not have stay as they are; $${name}
/// becomes ${name}.
std::string substitute(std::string_view text, std::span<const TemplateValue> values);

}  // namespace ddprun
