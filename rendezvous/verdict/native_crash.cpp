#include "rendezvous/verdict/native_crash.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ddprun {

namespace {

/// A crash that is being read: the lines that it takes, and what they say.
struct Found {
  Raised raised;
  std::size_t end = 0;  // index of the line behind it
  bool thrown = false;  // see Crash
};

using Lines = std::vector<TextLine>;

/// `  what():  no such batch`, and further lines of the text.
std::optional<Found> terminate(const Lines& lines, std::size_t at) {
  const std::string_view line = lines[at].text;
  auto type = between(line, "terminate called after throwing an instance of '", "'");
  if (!type) type = between(line, "uncaught exception of type ", ":");  // libc++
  if (!type) return std::nullopt;
  Found found{{{std::string{*type}, "", "", 0, ""}, {}}, at + 1, true};
  if (at + 1 < lines.size()) {
    if (const auto what = behind(lines[at + 1].text, "what():")) {
      found.raised.fault.message = trimmed(*what);
      found.end = at + 2;
    }
  }
  return found;
}

std::optional<Found> no_exception(const Lines& lines, std::size_t at) {
  if (!has_any(lines[at].text, {"terminate called without an active exception",
                                "pure virtual method called", "terminate called recursively"}))
    return std::nullopt;
  return Found{{{"std::terminate", std::string{trimmed(lines[at].text)}, "", 0, ""}, {}}, at + 1};
}

/// "prog: dir/file.cpp:12: int main(): Assertion `x == 1' failed.", and with the checks of
/// libstdc++ "dir/file.cpp:12: int main(): Assertion 'x == 1' failed."
std::optional<Found> assertion(const Lines& lines, std::size_t at) {
  const std::string_view line = lines[at].text;
  std::size_t word = line.find(": Assertion `");
  const bool of_library = word == std::string_view::npos;
  if (of_library) word = line.find(": Assertion '");
  if (word == std::string_view::npos || !has(line, "failed")) return std::nullopt;
  Fault fault{"assertion", "", "", 0, ""};
  const auto what = between(line, of_library ? "Assertion '" : "Assertion `", "' failed");
  fault.message = what.value_or(line.substr(word + 2));
  std::string_view where = line.substr(0, word);  // prog: file.cpp:12: int main()
  const std::size_t program = of_library ? std::string_view::npos : where.find(": ");
  if (program != std::string_view::npos) where.remove_prefix(program + 2);
  const std::size_t function = where.find(": ");
  if (function != std::string_view::npos) fault.function = where.substr(function + 2);
  const std::string_view place = where.substr(0, function);
  const std::size_t colon = place.rfind(':');
  if (colon != std::string_view::npos) {
    fault.file = place.substr(0, colon);
    fault.line = leading_number(place.substr(colon + 1));
  }
  return Found{{std::move(fault), {}}, at + 1};
}

/// "    #0 0x55d in main /home/me/prog.cpp:12:3"
std::optional<Frame> sanitizer_frame(std::string_view line) {
  const auto rest = after(trimmed(line), "#");
  const std::size_t in = line.find(" in ");
  if (!rest || in == std::string_view::npos) return std::nullopt;
  const std::string_view named = line.substr(in + 4);
  const std::size_t blank = named.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view where = named.substr(blank + 1);
  const std::size_t colon = where.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Frame{std::string{named.substr(0, blank)}, std::string{where.substr(0, colon)},
               leading_number(where.substr(colon + 1))};
}

std::optional<Found> sanitizer(const Lines& lines, std::size_t at) {
  const auto rest = behind(lines[at].text, "==ERROR: ");
  if (!rest || !has(*rest, "Sanitizer: ")) return std::nullopt;
  const std::size_t end = rest->find(' ', rest->find("Sanitizer: ") + 11);
  Found found{{{std::string{rest->substr(0, end)}, std::string{trimmed(*rest)}, "", 0, ""}, {}},
              at + 1,
              true};
  bool in_stack = false;
  for (; found.end < lines.size(); ++found.end) {
    const std::string_view line = lines[found.end].text;
    const bool frame_line = trimmed(line).starts_with('#');
    if (in_stack && !frame_line && !found.raised.frames.empty()) break;
    in_stack = in_stack || frame_line;
    auto frame = sanitizer_frame(line);
    if (frame && frame->line > 0 && !has(frame->file, "libsanitizer"))
      found.raised.frames.push_back(std::move(*frame));
  }
  found.end = lines.size();  // a summary and shadow bytes follow
  return found;
}

/// `  File "x.py", line 12 in f`, as faulthandler writes it.
std::optional<Frame> faulthandler_frame(std::string_view line) {
  const auto rest = after(trimmed(line), "File \"");
  if (!rest) return std::nullopt;
  const std::size_t quote = rest->find("\", line ");
  if (quote == std::string_view::npos) return std::nullopt;
  const std::string_view rest_of_it = rest->substr(quote + 8);
  const std::size_t in = rest_of_it.find(" in ");
  return Frame{in == std::string_view::npos ? "" : std::string{rest_of_it.substr(in + 4)},
               std::string{rest->substr(0, quote)}, leading_number(rest_of_it)};
}

/// Reads the stacks of threads from `found.end` on: the frames of the thread that met the error,
/// which is called the current one. Others are passed over. If the current one is none of Python's,
/// or none is called so, the last stack counts, which is the main thread's.
void read_stacks(const Lines& lines, Found& found) {
  bool current = false;
  std::vector<Frame> last;
  for (; found.end < lines.size(); ++found.end) {
    const std::string_view line = lines[found.end].text;
    auto frame = faulthandler_frame(line);
    const bool stack = has(line, "(most recent call first):");
    if (stack && !has(line, "C stack trace")) {  // that one, of Python 3.14, has no frame of Python
      current = has(line, "Current thread");
      last.clear();
    }
    if (frame) last.push_back(*frame);
    if (!frame && !stack && !is_noise(line) && indentation(line) == 0 &&
        !has_any(line, {"Python runtime state:", "Extension modules:"}))
      break;
    if (frame && current) found.raised.frames.push_back(std::move(*frame));
  }
  if (found.raised.frames.empty()) found.raised.frames = std::move(last);
}

std::optional<Found> fatal_python(const Lines& lines, std::size_t at) {
  const auto what = behind(lines[at].text, "Fatal Python error: ");
  if (!what) return std::nullopt;
  Found found{{{std::string{*what}, "", "", 0, ""}, {}}, at + 1};
  read_stacks(lines, found);
  return found;
}

/// "Timeout (0:00:05)!", and the stacks of all threads below it.
std::optional<Found> watchdog(const Lines& lines, std::size_t at) {
  const auto time = between(lines[at].text, "Timeout (", ")!");
  if (!time || at + 1 >= lines.size() || !has(lines[at + 1].text, "(most recent call first):"))
    return std::nullopt;
  const std::string message = "faulthandler's watchdog has waited for " + std::string{*time};
  Found found{{{"Timeout", message, "", 0, ""}, {}}, at + 1};
  read_stacks(lines, found);
  return found;
}

/// Words of the C library and of other languages; the whole line is the message.
std::optional<Found> known_words(const Lines& lines, std::size_t at) {
  struct Words {
    std::string_view part;
    std::string_view type;
  };
  static constexpr std::array kWords{
      Words{"*** stack smashing detected ***", "stack smashing"},
      Words{"*** buffer overflow detected ***", "buffer overflow"},
      Words{"double free or corruption", "heap corruption"},
      Words{"free(): invalid", "heap corruption"},
      Words{"free(): double free", "heap corruption"},
      Words{"malloc(): ", "heap corruption"},
      Words{"malloc_consolidate(): ", "heap corruption"},
      Words{"realloc(): invalid", "heap corruption"},
      Words{"munmap_chunk(): invalid", "heap corruption"},
      Words{"corrupted size vs. prev_size", "heap corruption"},
      Words{"corrupted double-linked list", "heap corruption"},
      Words{"] Check failed: ", "check failed"},
  };
  const std::string_view line = lines[at].text;
  const auto* const words =
      std::ranges::find_if(kWords, [&](const Words& each) { return has(line, each.part); });
  if (words == kWords.end()) return std::nullopt;
  return Found{{{std::string{words->type}, std::string{trimmed(line)}, "", 0, ""}, {}}, at + 1};
}

/// "thread 'main' panicked at src/main.rs:2:5:", and the message below it.
std::optional<Found> rust_panic(const Lines& lines, std::size_t at) {
  const auto where = behind(lines[at].text, "' panicked at ");
  if (!where || !has(lines[at].text, "thread '")) return std::nullopt;
  const std::size_t colon = where->find(':');
  Fault fault{"panic", "", std::string{where->substr(0, colon)}, 0, ""};
  if (colon != std::string_view::npos) fault.line = leading_number(where->substr(colon + 1));
  if (at + 1 < lines.size()) fault.message = trimmed(lines[at + 1].text);
  return Found{{std::move(fault), {}}, std::min(at + 2, lines.size()), true};
}

/// "\t/src/reader.go:21 +0x1d"
std::optional<Frame> go_frame(std::string_view line, std::string_view function) {
  if (!line.starts_with('\t')) return std::nullopt;
  const std::string_view where = trimmed(line).substr(0, trimmed(line).find(' '));
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Frame{std::string{function.substr(0, function.find('('))},
               std::string{where.substr(0, colon)}, leading_number(where.substr(colon + 1))};
}

/// "panic: message", and the stack of the goroutine that panicked below "goroutine 1 [running]:".
/// The frames of Go's own runtime, which come first, are passed over.
std::optional<Found> go_panic(const Lines& lines, std::size_t at) {
  const auto message = after(lines[at].text, "panic: ");
  if (!message) return std::nullopt;
  std::size_t next = at + 1;
  while (next < lines.size() && next < at + 6 && !lines[next].text.starts_with("goroutine "))
    ++next;
  if (next >= lines.size() || !lines[next].text.ends_with("]:")) return std::nullopt;
  Found found{{{"panic", std::string{trimmed(*message)}, "", 0, ""}, {}}, next + 1, true};
  for (; found.end < lines.size() && !trimmed(lines[found.end].text).empty(); ++found.end) {
    auto frame = go_frame(lines[found.end].text, lines[found.end - 1].text);
    if (frame && !has(frame->file, "/src/runtime/"))
      found.raised.frames.push_back(std::move(*frame));
    if (lines[found.end].text.starts_with("exit status ")) break;
  }
  return found;
}

constexpr std::array kReaders{&terminate,    &no_exception, &assertion,  &sanitizer,
                              &fatal_python, &known_words,  &rust_panic, &go_panic};

bool belongs_together(const Traceback& last, const Found& next, std::size_t at) {
  constexpr std::size_t kLinesBetweenMax = 4;
  const bool stack_alone = next.raised.fault.message.empty() && next.raised.fault.type == "Aborted";
  return stack_alone && at - last.end <= kLinesBetweenMax;
}

Traceback as_traceback(Found found, Crash::Source source, std::size_t begin) {
  Traceback traceback;
  traceback.crash.source = source;
  traceback.crash.thrown = found.thrown;
  traceback.crash.begin = begin;
  place(found.raised);
  traceback.crash.raised.push_back(std::move(found.raised));
  traceback.end = found.end;
  return traceback;
}

}  // namespace

std::vector<Traceback> find_native_crashes(const std::vector<TextLine>& lines) {
  std::vector<Traceback> all;
  for (std::size_t at = 0; at < lines.size();) {
    std::optional<Found> found;
    for (const auto& read : kReaders)
      if ((found = read(lines, at))) break;
    if (!found) {
      ++at;
      continue;
    }
    if (!all.empty() && belongs_together(all.back(), *found, at)) {
      Raised& first = all.back().crash.raised.front();
      first.frames = std::move(found->raised.frames);
      place(first);
      all.back().end = found->end;
    } else {
      all.push_back(as_traceback(*found, Crash::Source::kNative, lines[at].offset));
    }
    at = found->end;
  }
  return all;
}

std::optional<Traceback> find_watchdog_dump(const std::vector<TextLine>& lines) {
  for (std::size_t at = lines.size(); at > 0; --at)
    if (auto found = watchdog(lines, at - 1))
      return as_traceback(std::move(*found), Crash::Source::kWatchdog, lines[at - 1].offset);
  return std::nullopt;
}

}  // namespace ddprun
