// A folder for tests of several ranks.
#pragma once

#include <filesystem>

#include "ddprun/objects.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {

/// A folder that all ranks see: the one of rank 0.
class SharedFolder {
 public:
  SharedFolder() {
    nlohmann::json name = folder_.path().string();
    broadcast_object(group(), name);
    path_ = name.get<std::string>();
  }
  ~SharedFolder() { group().barrier(); }  // nobody removes it while others look
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFolder folder_;
  std::filesystem::path path_;
};

}  // namespace ddprun::sdk
