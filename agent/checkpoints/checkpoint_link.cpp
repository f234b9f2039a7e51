#include "agent/checkpoints/checkpoint_link.hpp"

#include <system_error>

#include "agent/checkpoints/folder_files.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path way = path.lexically_relative(folder);
  return !way.empty() && *way.begin() != "..";
}

/// An earlier run has left it.
bool is_ours(const fs::path& target, const CheckpointSpec& spec) {
  return target == spec.disk || target.string().find(kMemoryFolders) != std::string::npos;
}

}  // namespace

Result<void> check_checkpoint_folder(const CheckpointSpec& spec) {
  if (is_below(spec.folder, spec.disk) || is_below(spec.disk, spec.folder))
    return invalid("'" + spec.folder + "' and '" + spec.disk +
                   "' are one in the other: checkpoints are kept in another folder than that "
                   "which the program writes to");
  std::error_code failed;
  const auto there = fs::symlink_status(spec.folder, failed);
  if (fs::is_symlink(there)) {
    const fs::path target = fs::read_symlink(spec.folder, failed);
    if (is_ours(target, spec)) return {};
    return invalid("'" + spec.folder + "' is a link to '" + target.string() +
                   "': name the folder itself, or remove the link");
  }
  if (!fs::exists(there)) return {};
  if (!fs::is_directory(there)) return invalid("'" + spec.folder + "' is no folder");
  if (fs::is_empty(spec.folder, failed)) return {};
  return invalid("'" + spec.folder +
                 "' has files, and it is to become a link to memory: move them (mv '" +
                 spec.folder + "'/* '" + spec.disk + "'/), or name another folder");
}

Result<void> point_folder_to(const CheckpointSpec& spec, const fs::path& target) {
  std::error_code failed;
  const fs::path folder{spec.folder};
  fs::create_directories(folder.parent_path(), failed);
  if (fs::is_directory(fs::symlink_status(folder, failed))) fs::remove(folder, failed);
  return place_link(target, folder);
}

std::string what_became_of(const CheckpointSpec& spec, const fs::path& target) {
  std::error_code failed;
  const auto there = fs::symlink_status(spec.folder, failed);
  if (fs::is_symlink(there) && fs::read_symlink(spec.folder, failed) == target) return "";
  if (!fs::exists(there)) return "the program has removed '" + spec.folder + "'";
  return "the program has made another '" + spec.folder + "'";
}

}  // namespace ddprun
