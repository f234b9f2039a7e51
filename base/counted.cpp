#include "base/counted.hpp"

namespace ddprun {

std::string counted(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace ddprun
