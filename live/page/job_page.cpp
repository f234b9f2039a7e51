#include "live/page/job_page.hpp"

#include <string_view>

#include "live/page/page_source.hpp"

namespace ddprun {

namespace {

void put(std::string& text, std::string_view place, std::string_view content) {
  for (std::size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + content.size()))
    text.replace(at, place.size(), content);
}

}  // namespace

std::string job_page(const std::string& nonce) {
  std::string page{kPageHtml};
  put(page, "NONCE", nonce);
  put(page, "STYLE", kPageStyle);
  put(page, "SCRIPT", kPageScript);
  return page;
}

std::vector<std::pair<std::string, std::string>> page_headers(const std::string& nonce) {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce +
               "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
               "frame-ancestors 'none'"},
          {"X-Frame-Options", "DENY"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"}};
}

}  // namespace ddprun
