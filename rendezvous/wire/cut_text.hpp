// cut(): a text that is not longer than its limit. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun {

/// How many bytes of a text are kept, and which of its ends.
struct TextLimit {
  enum class Keep { kBeginning, kEnd };
  std::size_t bytes = 0;
  Keep keep = Keep::kBeginning;
};

/// Returns `text` if it has at most `limit.bytes` bytes. Otherwise it returns the end of it that is
/// to be kept, with "…" where the rest was. No character of UTF-8 is cut in two.
std::string cut(std::string_view text, const TextLimit& limit);

}  // namespace ddprun
