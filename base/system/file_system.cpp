#include "base/system/file_system.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

std::string file_system_of(const std::string& path, const std::string& mounts) {
  std::string type;
  std::size_t longest = 0;
  for (const std::string& line : split_lines(mounts)) {
    std::istringstream words{line};
    std::string word, point;
    for (int i = 0; i < 5 && words >> word; ++i) point = word;
    while (words >> word && word != "-") continue;
    std::string file_system;
    if (!(words >> file_system)) continue;
    const bool below = point == "/" || path == point || path.starts_with(point + "/");
    if (below && point.size() >= longest) {
      longest = point.size();
      type = file_system;
    }
  }
  return type;
}

bool is_served_type(std::string_view type) {
  constexpr std::array<std::string_view, 18> kServed{
      "nfs", "nfs4", "cifs", "smb3",  "smbfs",  "lustre", "gpfs",     "beegfs",    "ceph",
      "9p",  "afs",  "fuse", "pvfs2", "wekafs", "panfs",  "virtiofs", "glusterfs", "orangefs"};
  return std::ranges::count(kServed, type.substr(0, type.find('.'))) > 0;  // "fuse.sshfs"
}

std::string mount_table() { return text_if_any("/proc/self/mountinfo"); }

bool is_served(const std::string& folder, const std::string& mounts) {
  std::string path = std::filesystem::absolute(folder).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return is_served_type(file_system_of(path, mounts));
}

}  // namespace ddprun
