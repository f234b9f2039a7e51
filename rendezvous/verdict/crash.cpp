#include "rendezvous/verdict/crash.hpp"

#include <algorithm>
#include <charconv>

#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

int leading_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? number : 0;
}

namespace {

/// Distributions build the GNU C library so that its files are named from its own folder:
/// "../sysdeps/unix/sysv/linux/poll.c", "./nptl/futex-internal.c".
bool is_c_library(std::string_view file) {
  if (!file.starts_with("./") && !file.starts_with("../")) return false;
  file.remove_prefix(file.find('/') + 1);
  for (const char* part : {"csu/", "elf/", "io/", "libio/", "misc/", "nptl/", "posix/", "signal/",
                           "socket/", "stdlib/", "string/", "sysdeps/", "time/"})
    if (file.starts_with(part)) return true;
  return false;
}

/// The folder of the installed package that a file of Python belongs to; "" where it belongs to
/// none, or to torch or ddprun, which call the user's code and are called by it.
std::string_view package_of(std::string_view file) {
  if (!file.ends_with(".py")) return {};
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t found = file.rfind(folder);
    if (found == std::string_view::npos) continue;
    const std::size_t name = found + folder.size();
    const std::size_t end = file.find('/', name);
    const std::string_view package = file.substr(0, std::min(end, file.size()));
    const std::string_view its_name = package.substr(name);
    return its_name == "torch" || its_name == "ddprun" ? std::string_view{} : package;
  }
  return {};
}

/// The innermost frame of the package that all others were called by; nullptr without one. A
/// program may be installed as libraries are: "python -m trainer" runs it.
const Frame* frame_of_installed_program(const std::vector<Frame>& frames) {
  const auto is_packaged = [](const Frame& frame) { return !package_of(frame.file).empty(); };
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(), is_packaged);
  if (outermost == frames.rend()) return nullptr;
  const std::string_view program = package_of(outermost->file);
  return &*std::ranges::find_if(
      frames, [&](const Frame& frame) { return package_of(frame.file) == program; });
}

}  // namespace

bool is_library_file(std::string_view file) {
  if (file.starts_with('<')) return true;  // <frozen runpy>, <string>
  // A library without debug information, templates of others, and the C library.
  if (file.empty() || has(file, "/usr/include/") || is_c_library(file)) return true;
  if (has_any(file, {"/site-packages/", "/dist-packages/", "/torch/_", "/torch/nn/",
                     "/torch/utils/", "/torch/distributed/", "/torch/autograd/", "/torch/optim/",
                     "/torch/serialization.py", "/torch/storage.py", "/worker_sdk/python/ddprun/"}))
    return true;
  const std::size_t lib = file.find("/lib/python3");  // /usr/lib/python3.11/threading.py
  return lib != std::string_view::npos || has(file, "/lib64/python3");
}

const Frame* user_frame(const std::vector<Frame>& frames) {
  if (frames.empty()) return nullptr;
  const auto own =
      std::ranges::find_if(frames, [](const Frame& frame) { return !is_library_file(frame.file); });
  if (own != frames.end()) return &*own;
  const Frame* const installed = frame_of_installed_program(frames);
  return installed != nullptr ? installed : &frames.front();
}

void place(Raised& raised) {
  const Frame* frame = user_frame(raised.frames);
  const bool is_known = !raised.fault.file.empty() && !raised.fault.file.starts_with('<');
  if (frame == nullptr || is_known) return;
  raised.fault.file = frame->file;
  raised.fault.line = frame->line;
  raised.fault.function = frame->function;
}

std::string stack_text(const std::vector<Frame>& frames, std::size_t bytes_max) {
  std::string text;
  for (const Frame& frame : frames) {
    const std::string line = frame.function + '\t' + frame.file + '\t' + std::to_string(frame.line);
    if (text.size() + line.size() + 1 > bytes_max) break;
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::vector<Frame> parse_stack_text(std::string_view text) {
  std::vector<Frame> frames;
  for (const TextLine& each : text_lines(text)) {
    const std::string_view line = each.text;
    if (line.empty()) continue;
    const std::size_t file = line.find('\t');
    const std::size_t number = line.rfind('\t');
    Frame frame{.function = std::string{line.substr(0, file)}};
    if (file != number) {
      frame.file = line.substr(file + 1, number - file - 1);
      frame.line = leading_number(line.substr(number + 1));
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::string frame_text(const Frame& frame) {
  if (frame.file.empty()) return frame.function;
  return frame.function + "  " + frame.file + ":" + std::to_string(frame.line);
}

}  // namespace ddprun
