#include "agent/introspection/nccl_ras_text.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kLineBytesMax = 160;

bool is_underline(std::string_view line) {
  return !line.empty() && line.find_first_not_of('=') == std::string_view::npos;
}

std::string shown_line(std::string_view line) { return cut(plain_line(line), {kLineBytesMax}); }

/// All lines, without the spaces at their ends.
std::vector<std::string_view> lines_without_ends(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.push_back(line.substr(0, line.find_last_not_of(" \r\t") + 1));
  }
  return lines;
}

}  // namespace

bool concerns_nccl(const HangReport& hang) {
  constexpr std::string_view kNccl = "nccl:";
  return hang.operation.starts_with(kNccl) ||
         std::ranges::any_of(hang.stacks, [&](const StackGroup& group) {
           return group.operation.starts_with(kNccl);
         });
}

std::vector<std::string> abridge_ras(std::string_view text) {
  std::vector<std::string> told;
  std::size_t more = 0;
  bool wrong = false;
  const std::vector<std::string_view> lines = lines_without_ends(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_title = i + 1 < lines.size() && is_underline(lines[i + 1]);
    if (is_title) wrong = lines[i] == "Errors" || lines[i] == "Warnings";
    if (!wrong || is_title || lines[i].empty() || is_underline(lines[i])) continue;
    if (told.size() < kRasLinesMax)
      told.push_back(shown_line(lines[i]));
    else
      ++more;
  }
  if (more > 0) told.back() = std::to_string(more + 1) + " lines more";
  return told;
}

std::vector<RasAddress> ras_addresses(std::string_view value) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto port = parse_number<std::uint16_t>(value.substr(colon + 1));
  if (!port || *port == 0) return {};
  std::string host{value.substr(0, colon)};
  if (host == "localhost") return {{"127.0.0.1", *port}, {"::1", *port}};
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  boost::system::error_code wrong;
  boost::asio::ip::make_address(host, wrong);
  if (wrong) return {};
  return {{host, *port}};
}

}  // namespace ddprun
