// Files of a folder of checkpoints: listed, read with their digest, copied, put in the place of
// others. All of it blocks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The list of a snapshot's files may be that long.
inline constexpr std::size_t kFileListBytesMax = std::size_t{256} * 1024 * 1024;
/// More than that is not kept.
inline constexpr std::size_t kCheckpointFilesMax = 200'000;

/// All files, folders and links in a folder; what else there may be, as a socket, is passed over.
/// A name that ends with kFreshEnding is one of place_copy(). A link to the file of the same path
/// in `disk` is a file that is on disk; it is not touched there. Errors: kUnavailable, kInvalid
/// where there are too many, or a name has control characters or is no UTF-8.
Result<FolderState> list_folder(const std::filesystem::path& folder,
                                const std::filesystem::path& disk = {});

/// nullopt: nothing of these kinds is there.
std::optional<FileFacts> facts_of(const std::filesystem::path& folder, const std::string& path,
                                  const std::filesystem::path& disk = {});

/// The files that a process has open for writing, or has mapped so: for those the kernel gives no
/// lease (fcntl(2), F_SETLEASE). One of another user cannot be asked for.
std::vector<std::string> open_for_writing(const std::filesystem::path& folder,
                                          const FolderState& state);

/// The digest of a file, as KeptFile has it. Errors: kUnavailable; kTimeout: the work is to end.
Result<std::string> digest_of(const std::filesystem::path& file, Pace& pace);

/// Takes some bytes of a file after those before.
using TakePiece = std::function<Result<void>(std::string_view piece)>;
/// Gives a whole file piece by piece, and returns its digest. An error of `take` ends it.
using GivePieces = std::function<Result<std::string>(const TakePiece& take)>;

/// Writes what is given to `to`, which is a new file. Returns the digest. The file is on its disk
/// if `lasting`. Errors: kUnavailable, and those of `give`; then `to` is not there.
Result<std::string> write_file(const std::filesystem::path& to, const GivePieces& give,
                               bool lasting = false);

/// The error of work that a Pace has cancelled.
Error given_up();

/// Writes a copy of `from` to `to`, which is a new file. Returns the digest of what was read. The
/// copy is on its disk if `lasting`. Errors: as those of digest_of(); then `to` is not there.
Result<std::string> copy_file(const std::filesystem::path& from, const std::filesystem::path& to,
                              Pace& pace, bool lasting = false);

/// The digest of a text.
std::string digest_of_text(std::string_view text);

inline constexpr char kFreshEnding[] = ".ddprun-new";

/// Removes what place_copy() and place_link() had begun when their process was killed.
void remove_fresh(const std::filesystem::path& folder);

/// Puts a copy of `from`, which has to have that digest unless it is "", in the place of `to`, with
/// the times and permissions of `facts`. Returns the digest. Errors: kInvalid where it is another
/// one, and those of copy_file(); then `to` is as it was.
Result<std::string> place_copy(const std::filesystem::path& from, const std::filesystem::path& to,
                               const KeptFile& file, Pace& pace);

/// Gives what is at `to` those times and permissions.
void give_facts(const std::filesystem::path& to, const FileFacts& facts);

/// Makes a folder; what is in its place goes. Errors: kUnavailable.
Result<void> make_folder(const std::filesystem::path& to);

/// Makes a link, also in the place of a file or of another link. Errors: kUnavailable.
Result<void> place_link(const std::filesystem::path& target, const std::filesystem::path& to);

}  // namespace ddprun
