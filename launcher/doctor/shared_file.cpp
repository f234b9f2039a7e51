#include "launcher/doctor/shared_file.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace ddprun {

SharedFile::SharedFile(const std::string& folder, const std::string& token, const std::string& node)
    : folder_{folder}, prefix_{".ddprun-doctor-" + token + "-"} {
  if (folder.empty()) return;
  path_ = folder_ / (prefix_ + node);
  const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    path_.clear();
    return;
  }
  ::close(file);
}

SharedFile::~SharedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<std::vector<std::string>> SharedFile::owners() const {
  if (path_.empty()) return std::nullopt;
  std::vector<std::string> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry{folder_, error}, end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix_)) nodes.push_back(name.substr(prefix_.size()));
  }
  return nodes;
}

}  // namespace ddprun
