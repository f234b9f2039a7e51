// The status page: one document that holds its style and its script, and asks this server only.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddprun {

/// Returns the document, which shows that command line ("": none). Its style and script carry
/// `nonce`, without which a browser runs neither: see page_headers().
std::string job_page(const std::string& nonce, const std::string& command);

/// Headers for the document: nothing from elsewhere is loaded, no page may put it into a frame, and
/// its address, which may have a token in it, is sent to no other site
/// (https://www.w3.org/TR/CSP3/).
std::vector<std::pair<std::string, std::string>> page_headers(const std::string& nonce);

}  // namespace ddprun
