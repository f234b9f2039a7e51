// What is asked and answered over HTTP, and how a server reads what a stranger has put into it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {

/// A question, as far as our servers look at it.
struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/status.json", decoded
  std::map<std::string, std::string> query;
  std::string host;           // the header
  std::string authorization;  // the header
  std::string body;

  /// What the query says of `name`; "" when it says nothing.
  std::string parameter(const std::string& name) const;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// An answer that is a sentence for a person.
HttpAnswer http_sentence(unsigned status, std::string sentence);

/// Reads the target of a request ("/log?rank=3") into path and query. nullopt: it is no path, has
/// an escape that makes no sense (RFC 3986, section 2.1), or too many parameters.
std::optional<HttpRequest> parse_target(std::string_view target);

/// Whether a browser that sends this Host header can only have been sent here on purpose: it is an
/// address, "localhost", or one of `names`. A page of a stranger's site that lets its own name mean
/// our address (DNS rebinding) sends the site's name.
bool is_own_host(std::string_view header, const std::vector<std::string>& names);

/// Whether both texts are the same; how long that takes tells nothing about where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace ddprun
