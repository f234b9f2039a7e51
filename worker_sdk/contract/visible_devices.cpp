#include "worker_sdk/contract/visible_devices.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ddprun::sdk {

namespace {

constexpr std::string_view kBlanks = " \t\n\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Returns what all entries of a list of names begin with; "": they are numbers.
std::string_view prefix_of(std::string_view list) {
  for (const std::string_view prefix : {"GPU-", "MIG-"})
    if (list.starts_with(prefix)) return prefix;
  return "";
}

bool names_gpu(std::string_view entry, std::string_view prefix, int present) {
  if (!prefix.empty()) return entry.starts_with(prefix);
  const auto index = device_index(entry);
  return index && *index < present;
}

bool same_gpu(std::string_view one, std::string_view other) {
  return one == other || (device_index(one) && device_index(one) == device_index(other));
}

}  // namespace

std::vector<std::string> visible_devices(std::string_view list, int present) {
  std::vector<std::string> visible;
  const std::string_view prefix = prefix_of(trimmed(list));
  for (bool last = false; !last;) {
    const std::size_t comma = list.find(',');
    last = comma == std::string_view::npos;
    const std::string_view entry = trimmed(list.substr(0, comma));
    if (!names_gpu(entry, prefix, present)) break;
    const auto again = [&](const std::string& other) { return same_gpu(entry, other); };
    if (std::ranges::any_of(visible, again)) return {};
    visible.emplace_back(entry);
    list.remove_prefix(last ? list.size() : comma + 1);
  }
  return visible;
}

std::optional<int> device_index(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  int index = 0;
  const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  return read.ec == std::errc{} && index >= 0 && !entry.starts_with('-') ? std::optional{index}
                                                                         : std::nullopt;
}

}  // namespace ddprun::sdk
