#include "base/number_list.hpp"

#include <algorithm>

namespace ddprun {

std::string format_number_list(const std::vector<int>& numbers) {
  std::string text;
  for (auto first = numbers.begin(); first != numbers.end();) {
    const auto gap =
        std::adjacent_find(first, numbers.end(), [](int a, int b) { return b != a + 1; });
    const auto last = gap == numbers.end() ? numbers.end() - 1 : gap;
    if (!text.empty()) text += ',';
    text += std::to_string(*first);
    if (last != first) text += '-' + std::to_string(*last);
    first = last + 1;
  }
  return text;
}

}  // namespace ddprun
