// SharedFile: a small file in a folder, which the other nodes look for: do they share it?
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

class SharedFile {
 public:
  /// Makes the file, whose name says the run and the node. An empty `folder`: there is none.
  SharedFile(const std::string& folder, const std::string& token, const std::string& node);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  /// Removes it.
  ~SharedFile();

  /// Returns the nodes whose files are there; nullopt when this one could not write its own.
  std::optional<std::vector<std::string>> owners() const;

 private:
  std::filesystem::path folder_;
  std::string prefix_;
  std::filesystem::path path_;  // empty: there is none
};

}  // namespace ddprun
