// match(): a std::visit that reads like a switch and leaves no alternative out.
#pragma once

#include <utility>
#include <variant>

namespace ddprun {

/// One callable made of several lambdas; the argument's type chooses one of them.
template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// Calls the handler whose parameter fits the alternative that `variant` holds, and returns what it
/// returns. A missing handler is a compile error.
template <typename Variant, typename... Handlers>
decltype(auto) match(Variant&& variant, Handlers&&... handlers) {
  return std::visit(Overloaded<std::decay_t<Handlers>...>{std::forward<Handlers>(handlers)...},
                    std::forward<Variant>(variant));
}

}  // namespace ddprun
