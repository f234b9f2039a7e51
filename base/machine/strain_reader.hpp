// Reads from the kernel what keeps processes of this machine from their work.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "base/machine/strain.hpp"
#include "base/system/tcp_connections.hpp"

namespace ddprun {

/// StrainReader reads once what all processes of a machine share, and then of each one what is its
/// own.
///
/// It waits for no process and no disk. But it belongs into a thread of its own: where a kernel
/// before 5.17 has to measure the frequency of a CPU, it sleeps for 10 to 20 ms.
class StrainReader {
 public:
  /// Reads below `root`, which is "/".
  explicit StrainReader(std::filesystem::path root = "/");

  /// Reads what the processes share: stolen time, the machine's pressure, all TCP connections.
  void refresh();

  /// The strain of a process, with what refresh() has read; nothing when it has ended. At most 256
  /// of its threads and 4096 of its open files are looked at. Connections in another network
  /// namespace do not show.
  Strain read(pid_t pid) const;

 private:
  void read_threads(const std::filesystem::path& folder, Strain& strain) const;
  void read_cgroups(const std::string& process, Strain& strain) const;
  void read_clock(int cpu, Strain& strain) const;
  void read_connections(const std::filesystem::path& folder, Strain& strain) const;

  std::filesystem::path root_;
  Strain machine_;  // the fields that all processes share
  std::vector<TcpConnection> connections_;
};

}  // namespace ddprun
