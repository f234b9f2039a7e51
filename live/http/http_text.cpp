#include "live/http/http_text.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace ddprun {

namespace {

constexpr std::size_t kParametersMax = 16;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

/// The host of a Host header, without its port and without an IPv6 address's brackets.
std::string_view host_of(std::string_view header) {
  if (header.starts_with('[')) {
    const auto end = header.find(']');
    return end == std::string_view::npos ? std::string_view{} : header.substr(1, end - 1);
  }
  return header.substr(0, header.find(':'));
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string HttpRequest::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

HttpAnswer http_sentence(unsigned status, std::string sentence) {
  return {.status = status, .body = std::move(sentence) + "\n"};
}

std::optional<HttpRequest> parse_target(std::string_view target) {
  HttpRequest request;
  const std::size_t mark = target.find('?');
  auto path = decoded(target.substr(0, mark));
  if (!path || !path->starts_with('/')) return std::nullopt;
  request.path = std::move(*path);
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t sign = pair.find('=');
    const auto name = decoded(pair.substr(0, sign));
    const auto value = decoded(sign == std::string_view::npos ? "" : pair.substr(sign + 1));
    if (!name || !value || request.query.size() >= kParametersMax) return std::nullopt;
    request.query[*name] = *value;
  }
  return request;
}

bool is_own_host(std::string_view header, const std::vector<std::string>& names) {
  const std::string_view host = host_of(header);
  if (host.empty()) return false;
  boost::system::error_code is_name;
  boost::asio::ip::make_address(std::string{host}, is_name);
  if (!is_name || same_name(host, "localhost")) return true;
  return std::ranges::any_of(names, [&](const std::string& name) { return same_name(host, name); });
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace ddprun
