#include "agent/number_list.hpp"

#include <string>

namespace ddprun {

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const std::string_view list = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  auto cpus = parse_number_list(list, kCpusMax);
  if (cpus) return cpus;
  return Error{Error::Kind::kInvalid,
               "'" + std::string{text} + "' is not a list of CPUs such as 0-3,8"};
}

}  // namespace ddprun
