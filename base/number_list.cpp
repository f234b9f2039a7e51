#include "base/number_list.hpp"

#include <algorithm>
#include <numeric>

#include "base/parse_number.hpp"

namespace ddprun {

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const std::string_view line = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  auto cpus = parse_number_list(line, kCpusMax - 1);
  if (cpus) return cpus;
  return invalid("'" + std::string{text} + "' is not a list of CPUs such as 0-3,8");
}

Result<std::vector<int>> parse_number_list(std::string_view text, int most) {
  const Error nonsense =
      invalid("'" + std::string{text} + "' is not a list of numbers such as 0-3,8");
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > most) return nonsense;
    cpus.resize(cpus.size() + static_cast<std::size_t>(*last - *first + 1));
    std::iota(cpus.end() - (*last - *first + 1), cpus.end(), *first);
    if (range.size() + 1 == text.size()) return nonsense;  // a comma, and nothing after it
    text.remove_prefix(std::min(text.size(), range.size() + 1));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_number_list(const std::vector<int>& cpus) {
  std::string text;
  for (auto first = cpus.begin(); first != cpus.end();) {
    const auto gap = std::adjacent_find(first, cpus.end(), [](int a, int b) { return b != a + 1; });
    const auto last = gap == cpus.end() ? cpus.end() - 1 : gap;
    if (!text.empty()) text += ',';
    text += std::to_string(*first);
    if (last != first) text += '-' + std::to_string(*last);
    first = last + 1;
  }
  return text;
}

}  // namespace ddprun
