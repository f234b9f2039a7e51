#include "launcher/run/report_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace ddprun {

Result<void> write_whole(const std::filesystem::path& path, const std::string& text) {
  const auto refused = [&] {
    return Error{Error::Kind::kUnavailable,
                 "cannot write " + path.string() + ": " + std::strerror(errno)};
  };
  std::filesystem::path fresh = path;
  fresh += "." + std::to_string(getpid()) + ".tmp";
  {
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text;
    file.close();
    if (!file) {
      const Error error = refused();
      std::error_code ignored;
      std::filesystem::remove(fresh, ignored);
      return error;
    }
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return refused();
  return {};
}

}  // namespace ddprun
