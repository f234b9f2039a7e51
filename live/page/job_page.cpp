#include "live/page/job_page.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "live/page/page_source.hpp"

namespace ddprun {

namespace {

constexpr TextLimit kCommand{4096};

void put(std::string& text, std::string_view place, std::string_view content) {
  for (std::size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + content.size()))
    text.replace(at, place.size(), content);
}

/// Returns a text as browsers get it: indentation and lines of comments serve only readers of the
/// source, and are a tenth of the page.
std::string without_comments(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.substr(begin).starts_with("//")) continue;
    lines.append(line.substr(begin)) += '\n';
  }
  return lines;
}

/// A style needs no blanks beside these signs, and has one for every tenth byte. The blank before a
/// colon means something: "a :hover" is not "a:hover".
std::string without_blanks(std::string style) {
  for (const char* sign : {"{", "}", ":", ";", ","}) put(style, std::string{sign} + " ", sign);
  for (const char* sign : {"{", "}"}) put(style, std::string{" "} + sign, sign);
  return style;
}

std::string as_html(std::string text) {
  put(text, "&", "&amp;");
  put(text, "<", "&lt;");
  return text;
}

}  // namespace

std::string job_page(const std::string& nonce, const std::string& command) {
  std::string page{kPageHtml};
  put(page, "NONCE", nonce);
  put(page, "STYLE", without_blanks(without_comments(kPageStyle)));
  put(page, "SCRIPT", without_comments(kPageScript));
  put(page, "COMMAND", as_html(cut(command, kCommand)));
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
