#include "launcher/commands/checkpoint_command.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "agent/output/console.hpp"
#include "base/clock.hpp"
#include "base/printable.hpp"
#include "launcher/run/parse_words.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;
using sdk::CheckpointEntry;
using sdk::CheckpointState;

/// Returns an age as "3 s", "5 min", "7 h" or "9 d".
std::string age(std::int64_t ms) {
  const std::int64_t seconds = std::max<std::int64_t>(ms, 0) / 1000;
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86'400);
}

/// Returns a size as "1.2 GB".
std::string size(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 999.5 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  const int decimals = unit == 0 || amount >= 99.5 ? 0 : 1;
  return fmt::format("{:.{}f} {}", amount, decimals, kUnits[unit]);
}

/// The reason may quote what is in the checkpoint, which may come from anywhere.
std::string state(const CheckpointEntry& entry) {
  std::string text = sdk::to_string(entry.state);
  if (!entry.reason.empty()) text += ": " + plain_line(entry.reason);
  return text;
}

std::string row(const std::string& step, const std::string& epoch, const std::string& world_size,
                const std::string& age, const std::string& size, const std::string& state) {
  return fmt::format("{:>12}  {:>6}  {:>10}  {:>8}  {:>8}  {}\n", step, epoch, world_size, age,
                     size, state);
}

std::string row(const CheckpointEntry& entry, std::int64_t now_unix_ms) {
  const std::string step = std::to_string(entry.step);
  if (!entry.manifest) return row(step, "-", "-", "-", "-", state(entry));
  const sdk::CheckpointManifest& manifest = *entry.manifest;
  return row(step, std::to_string(manifest.epoch), std::to_string(manifest.world_size),
             age(now_unix_ms - manifest.created_unix_ms), size(manifest.bytes()), state(entry));
}

/// Returns the checkpoints of a folder, or the one that the path itself is.
std::vector<CheckpointEntry> find_checkpoints(const fs::path& path) {
  const fs::path folder = path.filename().empty() ? path.parent_path() : path;
  if (sdk::parse_checkpoint_name(folder.filename().string()))
    return {sdk::inspect_checkpoint(folder)};
  return sdk::list_checkpoints(folder);
}

int list(const fs::path& path, Console& out) {
  std::vector<CheckpointEntry> entries = find_checkpoints(path);
  for (CheckpointEntry& entry : sdk::list_unfinished(path)) entries.push_back(std::move(entry));
  out.write(entries.empty() ? fmt::format("there is no checkpoint in '{}'\n", path.string())
                            : checkpoint_table(entries, unix_time_ms()));
  return 0;
}

int verify(const fs::path& path, Console& out) {
  const auto entries = find_checkpoints(path);
  std::size_t complete = 0;
  for (const CheckpointEntry& found : entries) {
    const CheckpointEntry entry = sdk::verify_checkpoint(found.path);
    if (entry.state == CheckpointState::kComplete) ++complete;
    out.write(fmt::format("{}: {}\n", plain_line(entry.path.string()), state(entry)));
  }
  if (entries.empty())
    spdlog::error("there is no checkpoint in '{}'", path.string());
  else if (complete < entries.size())
    spdlog::error("{} of {} checkpoints in '{}' cannot be used", entries.size() - complete,
                  entries.size(), path.string());
  else
    out.write(fmt::format("all files of {} checkpoint{} have their SHA-256\n", complete,
                          complete == 1 ? "" : "s"));
  return complete == entries.size() && complete > 0 ? 0 : 1;
}

}  // namespace

std::string checkpoint_table(const std::vector<CheckpointEntry>& entries,
                             std::int64_t now_unix_ms) {
  std::string table = row("STEP", "EPOCH", "WORLD SIZE", "AGE", "SIZE", "STATE");
  for (const CheckpointEntry& entry : entries) table += row(entry, now_unix_ms);
  return table;
}

Result<int> run_checkpoint(const std::vector<std::string>& words, const Stage& stage) {
  std::string folder;
  CLI::App app{"Looks at checkpoints that the worker SDK has written.", "ddprun checkpoint"};
  app.require_subcommand(1);
  CLI::App* const ls = app.add_subcommand("ls", "lists them: step, epoch, world size, state");
  CLI::App* const check = app.add_subcommand("verify", "reads all of them, compares the checksums");
  for (CLI::App* const command : {ls, check})
    command->add_option("DIR", folder, "a folder of checkpoints, or one of them")->required();
  if (const auto done = parse_words(app, words, stage)) return *done;
  try {
    return check->parsed() ? verify(folder, stage.out) : list(folder, stage.out);
  } catch (const fs::filesystem_error& e) {
    spdlog::error("cannot read '{}': {}", folder, e.code().message());
    return 1;
  }
}

}  // namespace ddprun
