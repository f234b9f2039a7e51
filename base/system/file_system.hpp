// Which file system a folder is in, without touching the folder: its disk or server may hang.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// The type of the file system that an absolute path is in ("ext4", "nfs4"), by the text of
/// /proc/self/mountinfo (proc(5)); "": that does not tell.
std::string file_system_of(const std::string& path, const std::string& mounts);

/// Whether another machine or another process answers for a file system of that type, which may
/// stop to do so.
bool is_served_type(std::string_view type);

/// The text of /proc/self/mountinfo.
std::string mount_table();

/// Whether that is so for the folder, as far as its path tells: a link is not seen through, for to
/// look at it may be to touch what it leads to.
bool is_served(const std::string& folder, const std::string& mounts);

}  // namespace ddprun
