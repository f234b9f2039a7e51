// Makes bytes from peers, workers and files safe for a terminal and for a line of the log. What a
// terminal takes for an order (https://en.wikipedia.org/wiki/ANSI_escape_code) begins with a
// control character, so none of these is ever printed.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// Returns `bytes` in single quotes. A byte that is not printable ASCII becomes \xNN; after 64
/// bytes the rest is cut and "…" stands for it.
std::string printable(std::string_view bytes);

/// Returns `text` as one line. Tabs and UTF-8 stay as they are. Every byte of another control
/// character (also of those from U+0080 to U+009F), and every byte that is no UTF-8, becomes \xNN.
/// What was made so once stays as it is.
std::string plain_line(std::string_view text);

/// Does so for a text of several lines: newlines stay, too.
std::string plain_text(std::string_view text);

}  // namespace ddprun
