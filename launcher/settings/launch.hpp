// What a command line about a job on this node comes to, and what its meaning depends on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/settings/foreign_script.hpp"
#include "launcher/settings/job_secret.hpp"

namespace ddprun {

/// For --help, --version and the like, ddprun prints this to standard output and exits 0.
struct JustPrint {
  std::string text;
};

/// A job to run on this node.
struct Launch {
  LaunchSpec spec;
  bool dry_run = false;               // true: only print what would be started
  std::vector<std::string> warnings;  // sentences on options that have no effect
  std::string cluster;                // a line on what a scheduler says; "": nothing
  /// The number of workers of each node, by its rank, if all nodes get this command line; empty: it
  /// leaves that to each node, as --nproc-per-node gpu does.
  std::vector<int> workers_of_nodes = {};
};

/// What the meaning of a command line depends on besides its words. These are functions, so that
/// nothing is looked up that is not needed. this_machine.hpp has the real ones.
struct LocalSystem {
  EnvironmentLookup environment;
  std::function<int()> cpus;                                   // how many CPUs workers may use
  std::function<int()> online_cpus;                            // how many the machine has
  std::function<int()> gpus;                                   // how many GPUs workers would see
  std::function<bool(const std::string& path)> has_file;       // whether there is such a file
  std::function<FileEnds(const std::string& path)> file_ends;  // program_files.hpp
  std::function<std::vector<std::string>(const std::string& folder)> names_in;  // sysfs_files.hpp
  std::function<Result<std::string>(const std::string& name)> find_program;     // program_files.hpp
  ReadSecret read_secret;                                                       // secret_file.hpp
  std::function<std::string()> host_name;  // this machine's, without a domain or with it
  /// The text of a whole file. Errors: those of read_text(), with its name.
  std::function<Result<std::string>(const std::string& path)> read_text;
  std::function<std::string(const std::vector<std::string>& words)> output_of;  // query_process.hpp
  std::function<std::string()> own_path;           // the path of this ddprun
  std::function<int()> process_group;              // this process's; 0: it has no terminal
  std::function<std::string()> working_directory;  // as the user sees it
};

}  // namespace ddprun
