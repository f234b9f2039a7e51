#include "base/system/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/system/fresh_id.hpp"

namespace ddprun {

Result<void> write_whole(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::path fresh = path;
  fresh += "." + fresh_id() + ".tmp";  // several nodes may share the folder
  const auto refused = [&] {
    const Error error{Error::Kind::kUnavailable,
                      "cannot write " + path.string() + ": " + std::strerror(errno)};
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    return error;
  };
  {
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text;
    file.close();
    if (!file) return refused();
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return refused();
  return {};
}

}  // namespace ddprun
