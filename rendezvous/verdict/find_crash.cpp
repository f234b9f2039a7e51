#include "rendezvous/verdict/find_crash.hpp"

#include <algorithm>
#include <csignal>

#include "rendezvous/verdict/native_crash.hpp"
#include "rendezvous/verdict/python_traceback.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

namespace {

/// Python ends with code 1 because of an exception. It may be logged, and a few lines may follow
/// before the program exits with that.
constexpr std::size_t kLinesAfterCode1 = 8;
constexpr std::size_t kLinesAfterSignal = 5;
/// Another code was chosen by the program. Then the traceback has to be the last that it wrote.
constexpr std::size_t kLinesAfterOtherCode = 1;

std::size_t lines_allowed(const ExitStatus& status) {
  if (status.signal != 0) return kLinesAfterSignal;
  return status.code == 1 ? kLinesAfterCode1 : kLinesAfterOtherCode;
}

std::size_t words_between(const std::vector<TextLine>& lines, std::size_t from, std::size_t to) {
  std::size_t count = 0;
  for (std::size_t i = from; i < std::min(to, lines.size()); ++i)
    if (!is_noise(lines[i].text)) ++count;
  return count;
}

/// Whether the exception went through the program's outermost frame, as an uncaught one
/// does. The traceback of one that a function has caught begins in that function.
bool went_through_all(const Traceback& exception) {
  const std::vector<Frame>& frames = exception.crash.raised.back().frames;
  return frames.empty() || frames.back().function == "<module>" ||
         frames.back().file.starts_with('<');
}

/// Whether the exception ended Python, however much follows it: the rest of a long message, such as
/// a compiler's output, and what the program says when it exits. A program that has dealt with an
/// exception may exit soon, too, for a reason of its own.
bool ended_python(const Traceback& exception, const ExitStatus& status,
                  const WrittenLate& written_late) {
  const Crash& crash = exception.crash;
  if (crash.source != Crash::Source::kPython || status.signal != 0) return false;
  if (status.code == 0) return crash.uncaught;  // a shell's pipe has lost Python's code
  if (status.code != 1) return false;
  return crash.uncaught ||
         (!crash.logged && went_through_all(exception) && written_late(crash.begin));
}

/// The text of an exception may go on for this many lines. They cannot be distinguished from
/// others.
constexpr std::size_t kTextLinesMax = 8;

/// Tearing a program down after an exception may crash it once more; the exception says more.
bool crashed_in_tear_down(const std::vector<TextLine>& lines, const Traceback& exception,
                          const Traceback& native) {
  if (native.crash.begin < exception.crash.begin) return false;
  std::size_t first = exception.end;
  while (first < lines.size() && lines[first].offset < native.crash.begin) ++first;
  return words_between(lines, exception.end, first) <= kTextLinesMax;
}

/// A watchdog that ends the program does so at once, with code 1: nothing comes behind its dump.
/// Another dump shows where the program was, and the program went on from there.
std::optional<Traceback> ending_watchdog(const std::vector<TextLine>& lines,
                                         const ExitStatus& status,
                                         const WrittenLate& written_late) {
  if (status.signal != 0 || status.code != 1) return std::nullopt;
  auto dump = find_watchdog_dump(lines);
  if (!dump || words_between(lines, dump->end, lines.size()) > 0) return std::nullopt;
  if (!written_late(dump->crash.begin)) return std::nullopt;
  return dump;
}

/// The crash of Python with some of the lines behind it.
Crash with_rest(const std::vector<TextLine>& lines, const Traceback& exception) {
  Crash crash = exception.crash;
  for (std::size_t i = exception.end; i < lines.size() && i < exception.end + kTextLinesMax; ++i) {
    if (has(lines[i].text, "Traceback (most recent call")) break;
    crash.behind += lines[i].text + "\n";
  }
  return crash;
}

const Traceback* last_of(const std::vector<Traceback>& all, Crash::Source source) {
  const auto found = std::find_if(
      all.rbegin(), all.rend(), [&](const Traceback& each) { return each.crash.source == source; });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace

std::optional<Crash> find_crash(std::string_view text, const ExitStatus& status,
                                const WrittenLate& written_late) {
  if (status.signal == SIGKILL) return std::nullopt;  // the sender did not ask for words
  const std::vector<TextLine> lines = text_lines(text);
  const std::vector<Traceback> tracebacks = find_tracebacks(lines);
  const std::vector<Traceback> natives = find_native_crashes(lines);
  const auto watchdog = ending_watchdog(lines, status, written_late);
  const Traceback* const native = natives.empty() ? nullptr : &natives.back();
  const Traceback* python = last_of(tracebacks, Crash::Source::kPython);
  const Traceback* const aside = last_of(tracebacks, Crash::Source::kAside);
  const std::size_t allowed = lines_allowed(status);
  const auto near = [&](const Traceback* each) {
    if (each == nullptr) return false;
    if (ended_python(*each, status, written_late)) return true;
    return words_between(lines, each->end, lines.size()) <= allowed;
  };
  // Tearing a program down may hang, too.
  const auto ended_before = [&](const Traceback& dump) {
    return python != nullptr && went_through_all(*python) &&
           crashed_in_tear_down(lines, *python, dump);
  };
  if (watchdog) return ended_before(*watchdog) ? python->crash : watchdog->crash;
  if (native != nullptr && python != nullptr && crashed_in_tear_down(lines, *python, *native))
    return python->crash;
  if (native != nullptr && near(native) && (status.signal != 0 || !near(python)))
    return native->crash;
  if (near(python)) return with_rest(lines, *python);
  if (near(aside)) return aside->crash;
  return std::nullopt;
}

std::optional<Crash> find_recorded_crash(std::string_view traceback) {
  const std::vector<TextLine> lines = text_lines(traceback);
  const std::vector<Traceback> tracebacks = find_tracebacks(lines);
  if (tracebacks.empty()) return std::nullopt;
  return tracebacks.back().crash;
}

std::string last_words(std::string_view text) {
  const std::vector<TextLine> lines = text_lines(text);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!is_noise(line->text)) return std::string{trimmed(line->text)};
  return "";
}

}  // namespace ddprun
