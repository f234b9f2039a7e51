#include "base/number_list.hpp"

#include <algorithm>
#include <numeric>

#include "base/parse_number.hpp"

namespace ddprun {

Result<std::vector<int>> parse_number_list(std::string_view text, int limit) {
  const Error nonsense{Error::Kind::kInvalid,
                       "'" + std::string{text} + "' is not a list of numbers such as 0-3,8"};
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= limit) return nonsense;
    numbers.resize(numbers.size() + static_cast<std::size_t>(*last - *first + 1));
    std::iota(numbers.end() - (*last - *first + 1), numbers.end(), *first);
    if (range.size() + 1 == text.size()) return nonsense;  // a comma, and nothing after it
    text.remove_prefix(std::min(text.size(), range.size() + 1));
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

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
