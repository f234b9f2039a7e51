#include "agent/introspection/watch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "agent/introspection/hook_source.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace {

struct Source {
  const char* file;
  std::string_view text;
};
constexpr Source kSources[] = {{"sitecustomize.py", kHookSource},
                               {"rank_debugger.py", kRankDebuggerSource},
                               {"debug_orders.py", kDebugOrdersSource}};
constexpr std::size_t kSocketPathMax = 107;  // unix(7), sun_path
constexpr std::size_t kNameReserve = 40;     // "/ROUND.LOCAL_RANK.PID.sock.asked"

std::string template_in(const std::string& directory) { return directory + "/ddprun-see-XXXXXX"; }

/// "3.0.4711.sock" of the worker "3.0" is 4711's.
std::optional<pid_t> pid_in(const std::string& file, const std::string& name,
                            std::string_view ending) {
  if (!file.starts_with(name + ".") || !file.ends_with(ending)) return std::nullopt;
  const std::size_t begin = name.size() + 1;
  if (file.size() < begin + ending.size()) return std::nullopt;
  return parse_number<pid_t>(
      std::string_view{file}.substr(begin, file.size() - begin - ending.size()));
}

}  // namespace

Result<WatchFolder> WatchFolder::make(const std::string& temporary_directory) {
  std::string path = template_in(temporary_directory);
  if (path.size() + kNameReserve > kSocketPathMax) path = template_in("/tmp");
  if (mkdtemp(path.data()) == nullptr)
    return Error{Error::Kind::kUnavailable,
                 "cannot make a directory like " + path + ": " + std::strerror(errno)};
  WatchFolder folder{path};
  for (const Source& source : kSources)
    if (!folder.write(source.file, std::string{source.text}))
      return Error{Error::Kind::kUnavailable,
                   "cannot write " + (folder.path_ / source.file).string()};
  return folder;
}

bool WatchFolder::write(const std::string& file, const std::string& text) const {
  const std::filesystem::path fresh = path_ / (file + ".new");
  std::ofstream out{fresh};
  out << text;
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(fresh, path_ / file, failed);
  return out && !failed;
}

WatchFolder::WatchFolder(WatchFolder&& other) noexcept : path_{std::exchange(other.path_, {})} {}

WatchFolder& WatchFolder::operator=(WatchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

WatchFolder::~WatchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::optional<WatchFolder::Opened> WatchFolder::opened_by(const std::string& name) const {
  Opened found;
  std::error_code gone;
  std::filesystem::file_time_type newest;
  for (const auto& entry : std::filesystem::directory_iterator{path_, gone}) {
    const std::string file = entry.path().filename().string();
    const auto server = pid_in(file, name, ".sock");
    const auto process = server ? server : pid_in(file, name, ".stacks");
    if (!process || (!found.socket.empty() && !server)) continue;
    const auto time = entry.last_write_time(gone);
    if (found.pid != 0 && found.socket.empty() == !server && time < newest) continue;
    newest = time;
    found = {server ? entry.path() : std::filesystem::path{},
             path_ / (name + "." + std::to_string(*process) + ".stacks"), *process};
  }
  if (found.pid == 0) return std::nullopt;
  return found;
}

void WatchFolder::clear() const {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator{path_, gone}) {
    if (entry.path().extension() != ".py") std::filesystem::remove(entry.path(), gone);
  }
}

std::string watch_name(int round, int local_rank) {
  return std::to_string(round) + "." + std::to_string(local_rank);
}

}  // namespace ddprun
