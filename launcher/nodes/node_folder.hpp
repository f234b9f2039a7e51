// The failures of nodes in a folder that nodes share: a file for each, which is written whole and
// never changed, so that a network file system needs no locks. Functions wait for the disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/nodes/node_record.hpp"

namespace ddprun {

struct NodeRecords {
  std::vector<std::string> names;   // the files', as the records are ordered
  std::vector<NodeRecord> records;  // the last kNodeFailuresMax, the oldest one first
  std::vector<std::string> unread;  // files of that kind that are none, each with what is wrong
};

/// Reads all records, but those that were read `before`: they never change. A folder that is not
/// there has none. Errors: kUnavailable, with a sentence.
Result<NodeRecords> read_node_records(const std::filesystem::path& folder,
                                      const NodeRecords& before = {});

/// Adds a record, and makes the folder where it is missing. Of more than kNodeFailuresMax the
/// oldest ones go. Errors: kUnavailable, with a sentence.
Result<void> add_node_record(const std::filesystem::path& folder, const NodeRecord& record);

/// Removes the records of that host, and returns how many there were. Errors: kUnavailable, with a
/// sentence.
Result<int> forgive_node(const std::filesystem::path& folder, const std::string& host);

}  // namespace ddprun
