// What the terminal of the user is like, if there is one.
#pragma once

namespace ddprun {

/// Where color belongs: on a terminal, unless NO_COLOR says otherwise (https://no-color.org).
bool wants_color(int stream);

/// How wide the terminal is that a stream leads to; `otherwise` when it is none, or does not tell.
int terminal_columns(int stream, int otherwise);

}  // namespace ddprun
