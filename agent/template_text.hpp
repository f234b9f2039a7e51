// $name and ${name} in a text, as Python's string.Template.safe_substitute() replaces them, which
// torchrun uses (https://docs.python.org/3/library/string.html#template-strings); except that $$,
// which means something to shells, stays as it is where it does not keep a name from being
// replaced.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {

using TemplateValue = std::pair<std::string_view, std::string>;

/// Names that `values` does not have stay as they are; $${name} becomes ${name}.
std::string substitute(std::string_view text, std::span<const TemplateValue> values);

}  // namespace ddprun
