// match(variant, handlers...): an exhaustive std::visit that reads like a switch.
#pragma once

#include <utility>
#include <variant>

namespace ddprun {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// Calls the handler whose parameter type fits the alternative that `variant` holds; a missing
/// handler is a compile error.
template <typename Variant, typename... Handlers>
decltype(auto) match(Variant&& variant, Handlers&&... handlers) {
  return std::visit(Overloaded<std::decay_t<Handlers>...>{std::forward<Handlers>(handlers)...},
                    std::forward<Variant>(variant));
}

}  // namespace ddprun
