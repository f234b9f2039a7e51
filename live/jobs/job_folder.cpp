#include "live/jobs/job_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/system/file_system.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;
using asio::local::stream_protocol;

constexpr char kFactsFile[] = "job.json";
constexpr char kFreshFactsFile[] = "job.json.new";  // until all of it is written
constexpr char kSocketFile[] = "control";
constexpr char kFreshSocketFile[] = "control.new";  // until somebody listens there
constexpr std::size_t kFactsBytesMax = 16 * 1024;
/// A folder without a socket may be one that is being made at this moment.
constexpr std::int64_t kMakingMsMax = 10'000;

/// A file descriptor that is closed at the end.
class Opened {
 public:
  explicit Opened(int fd) : fd_{fd} {}
  ~Opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  Opened(const Opened&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Error system_error(const std::string& what) {
  return {Error::Kind::kUnavailable, what + ": " + std::strerror(errno)};
}

int open_folder(int at, const char* name) {
  return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool is_own(const struct stat& what) { return what.st_uid == ::geteuid(); }
bool is_private(const struct stat& what) {
  return is_own(what) && S_ISDIR(what.st_mode) && (what.st_mode & 077) == 0;
}

/// XDG_RUNTIME_DIR, if it is a folder of this user's own: after su(1) it is another's. One that a
/// server has may not answer.
std::string runtime_folder(const EnvironmentLookup& environment) {
  const std::string folder = environment("XDG_RUNTIME_DIR").value_or("");
  struct stat what {};
  const bool usable = !folder.empty() && !is_served(folder, mount_table()) &&
                      ::stat(folder.c_str(), &what) == 0 && S_ISDIR(what.st_mode) && is_own(what);
  return usable ? folder + "/ddprun" : "";
}

std::string in_folder(const std::string& temporary) {
  return temporary + "/ddprun-" + std::to_string(::geteuid());
}

/// Where jobs of this user may be; a new one goes to the first that can be made.
std::vector<fs::path> bases(const EnvironmentLookup& environment) {
  std::vector<fs::path> all;
  const auto add = [&](const fs::path& base) {
    if (std::ranges::find(all, base) == all.end()) all.push_back(base);
  };
  if (const std::string base = runtime_folder(environment); !base.empty()) add(base);
  for (const std::string& temporary : private_folders(environment)) add(in_folder(temporary));
  return all;
}

/// Opens a folder that holds jobs. Errors: kDenied when somebody else may write there, or read.
Result<int> open_base(const fs::path& base) {
  Opened folder{open_folder(AT_FDCWD, base.c_str())};
  if (folder.get() < 0 && (errno == ENOTDIR || errno == ELOOP))
    return Error{Error::Kind::kDenied, "'" + base.string() + "' is a link, or no folder"};
  if (folder.get() < 0) return system_error("cannot use the folder '" + base.string() + "'");
  struct stat what {};
  if (::fstat(folder.get(), &what) != 0 || !is_private(what))
    return Error{Error::Kind::kDenied,
                 "the folder '" + base.string() + "' is another user's, or others may read it"};
  return folder.release();
}

/// The address of a file in an open folder. It is short, whatever the folder's name is.
stream_protocol::endpoint socket_in(int folder, const char* name = kSocketFile) {
  return {"/proc/self/fd/" + std::to_string(folder) + "/" + name};
}

std::string read_small_file(int folder, const char* name) {
  const Opened file{::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  std::string text(kFactsBytesMax, '\0');
  const ssize_t bytes = file.get() < 0 ? 0 : ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return text;
}

void remove_folder(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  ::rmdir(path.parent_path().c_str());  // if it was the last one
}

/// Connects to the socket in an open folder. The error says whether somebody still listens there.
/// It never waits, also where an agent that is stopped takes no connections.
boost::system::error_code connect_in(int folder, stream_protocol::socket& socket) {
  boost::system::error_code error;
  socket.open({}, error);
  socket.non_blocking(true, error);
  socket.connect(socket_in(folder), error);
  return error;
}

bool is_stale(int folder, const boost::system::error_code& error) {
  if (error == asio::error::connection_refused) return true;
  struct stat what {};
  if (::fstat(folder, &what) != 0) return false;
  return error == boost::system::errc::no_such_file_or_directory &&
         unix_time_ms() - what.st_mtim.tv_sec * 1000 > kMakingMsMax;
}

/// Looks at one folder; nullopt when there is no job in it (any more).
std::optional<FoundJob> look_into(const asio::any_io_executor& executor, int base,
                                  const fs::path& path) {
  const Opened folder{open_folder(base, path.filename().c_str())};
  if (folder.get() < 0) return std::nullopt;
  stream_protocol::socket socket{executor};
  const auto error = connect_in(folder.get(), socket);
  if (error) {
    if (is_stale(folder.get(), error)) remove_folder(path);
    return std::nullopt;
  }
  auto facts = parse_job_facts(read_small_file(folder.get(), kFactsFile));
  if (!facts) return std::nullopt;
  return FoundJob{path, std::move(*facts)};
}

}  // namespace

/// Where a disk is read-only or full, the next place does. One that somebody else holds ends the
/// search: that is no accident.
Result<JobFolder> JobFolder::make(const EnvironmentLookup& environment) {
  std::optional<Error> first_error;
  for (const fs::path& base : bases(environment)) {
    auto made = make_in(base);
    if (made || made.error().kind == Error::Kind::kDenied) return made;
    if (!first_error) first_error = made.error();
  }
  return *first_error;
}

Result<JobFolder> JobFolder::make_in(const fs::path& base) {
  const std::string name = std::to_string(::getpid()) + "." + fresh_id().substr(0, 8);
  const auto make_in_base = [&]() -> Result<int> {
    if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST)
      return system_error("cannot make the folder '" + base.string() + "'");
    auto opened = open_base(base);
    if (!opened) return opened;
    const Opened folder{*opened};
    if (::mkdirat(folder.get(), name.c_str(), 0700) != 0)
      return system_error("cannot make a folder in '" + base.string() + "'");
    const int made = open_folder(folder.get(), name.c_str());
    return made >= 0 ? Result<int>{made} : system_error("cannot open '" + name + "'");
  };
  auto made = make_in_base();
  if (!made && errno == ENOENT) made = make_in_base();  // another job was the last one there
  if (!made) return made.error();
  return JobFolder{base / name, *made};
}

JobFolder::JobFolder(JobFolder&& other) noexcept
    : path_{std::move(other.path_)}, fd_{std::exchange(other.fd_, -1)} {}

JobFolder::~JobFolder() {
  if (fd_ < 0) return;
  ::close(fd_);
  remove_folder(path_);
}

Result<fs::path> JobFolder::write(const std::string& name, const std::string& text) const {
  const Opened file{
      ::openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  const bool written =
      file.get() >= 0 && ::write(file.get(), text.data(), text.size()) == std::ssize(text);
  if (!written) return system_error("cannot write '" + (path_ / name).string() + "'");
  return path_ / name;
}

Result<void> JobFolder::tell(const JobFacts& facts) const {
  if (const auto written = write(kFreshFactsFile, to_json(facts)); !written) return written.error();
  if (::renameat(fd_, kFreshFactsFile, fd_, kFactsFile) == 0) return {};
  return system_error("cannot write '" + (path_ / kFactsFile).string() + "'");
}

Result<JobFolder::Acceptor> JobFolder::open(const asio::any_io_executor& executor,
                                            const JobFacts& facts) const {
  if (const auto told = tell(facts); !told) return told.error();
  Acceptor acceptor{executor};
  boost::system::error_code error;
  acceptor.open({}, error);
  // A socket on which no process listens looks like that of a dead job, so it gets its name
  // afterwards.
  if (!error) acceptor.bind(socket_in(fd_, kFreshSocketFile), error);
  if (!error) acceptor.listen(Acceptor::max_listen_connections, error);
  if (!error && ::renameat(fd_, kFreshSocketFile, fd_, kSocketFile) != 0)
    error.assign(errno, boost::system::system_category());
  if (!error) return acceptor;
  return Error{Error::Kind::kUnavailable,
               "cannot listen in '" + path_.string() + "': " + error.message()};
}

std::vector<FoundJob> find_jobs(const EnvironmentLookup& environment) {
  asio::io_context nothing_waits;
  std::vector<FoundJob> jobs;
  for (const fs::path& base : bases(environment)) {
    const SilenceNote note{base.string()};
    const auto opened = open_base(base);
    if (!opened) continue;
    const Opened folder{*opened};
    std::error_code unreadable;
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator{base, unreadable})
      paths.push_back(entry.path());
    for (const fs::path& path : paths)
      if (auto job = look_into(nothing_waits.get_executor(), folder.get(), path))
        jobs.push_back(std::move(*job));
  }
  std::ranges::sort(jobs, {}, [](const FoundJob& job) {
    return std::pair{job.facts.started_unix_ms, job.facts.pid};
  });
  return jobs;
}

Result<HttpSocket> connect_to_job(const asio::any_io_executor& executor, const FoundJob& job) {
  const Opened folder{open_folder(AT_FDCWD, job.folder.c_str())};
  stream_protocol::socket socket{executor};
  const auto error = folder.get() < 0
                         ? make_error_code(boost::system::errc::no_such_file_or_directory)
                         : connect_in(folder.get(), socket);
  if (error)
    return Error{Error::Kind::kUnavailable,
                 "job '" + job.facts.run_id + "' has just gone: " + error.message()};
  return HttpSocket{std::move(socket)};
}

}  // namespace ddprun
