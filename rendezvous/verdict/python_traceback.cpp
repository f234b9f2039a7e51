#include "rendezvous/verdict/python_traceback.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "rendezvous/verdict/wrapped_traceback.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kHeader = "Traceback (most recent call last)";
constexpr std::string_view kGroup = "Exception Group ";  // stands before the header of one
constexpr std::size_t kMessageLinesMax = 12;
constexpr std::size_t kLinesBetweenMax = 6;  // the other processes' in a traceback, at one place

/// What stands before a traceback's lines.
struct Margin {
  std::string words;       // "[rank0]: ", a logger's time; it may change from line to line
  std::size_t indent = 0;  // blanks, and the bars of exception groups, behind the words
};

bool is_bar(char c) { return c == ' ' || c == '|' || c == '+' || c == '\t'; }

/// Whether a line begins with words such as `margin.words`: the same ones, but for numbers (a time
/// stamp).
bool has_words(std::string_view line, const Margin& margin) {
  const auto alike = [](char a, char b) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    return a == b || (is_digit(a) && is_digit(b));
  };
  const std::string& words = margin.words;
  return line.size() >= words.size() && std::equal(words.begin(), words.end(), line.begin(), alike);
}

/// A line without the words. Loggers put them before the first line only, so a line may have none.
std::string_view without_words(std::string_view line, const Margin& margin) {
  return !margin.words.empty() && has_words(line, margin) ? line.substr(margin.words.size()) : line;
}

/// A line without words, and without the bars of an exception group.
std::string_view bare(std::string_view line, const Margin& margin) {
  line = without_words(line, margin);
  std::size_t bars = 0;
  while (bars < line.size() && bars < margin.indent && is_bar(line[bars])) ++bars;
  return line.substr(bars);
}

/// `  File "x.py", line 12, in f`, and without the function where a syntax is wrong.
std::optional<Frame> frame_of(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with("> ")) line.remove_prefix(2);  // so the logger loguru marks one
  const auto rest = after(line, "File \"");
  if (!rest) return std::nullopt;
  const std::size_t quote = rest->find("\", line ");
  if (quote == std::string_view::npos) return std::nullopt;
  const std::string_view rest_of_it = rest->substr(quote + std::string_view{"\", line "}.size());
  const std::size_t in = rest_of_it.find(", in ");
  Frame frame{"", std::string{rest->substr(0, quote)}, leading_number(rest_of_it)};
  if (in != std::string_view::npos) frame.function = rest_of_it.substr(in + 5);
  return frame;
}

/// `KeyError: 'x'`, `torch.OutOfMemoryError: CUDA ...`, `KeyboardInterrupt`.
std::optional<Fault> fault_of(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_' ||
          line[end] == '.' || static_cast<unsigned char>(line[end]) >= 0x80 ||
          has(line.substr(0, end), "<locals") || line[end] == '<'))
    ++end;
  const std::string_view type = line.substr(0, end);
  if (type.empty() || std::isdigit(static_cast<unsigned char>(type[0])) != 0 || type.back() == '.')
    return std::nullopt;
  if (end == line.size()) return Fault{std::string{type}, "", "", 0, ""};
  if (line[end] != ':') return std::nullopt;
  return Fault{std::string{type}, std::string{trimmed(line.substr(end + 1))}, "", 0, ""};
}

/// Whether the line is an exception by its name, too: "loader 3: is ready" and "INFO: ready" are
/// none.
bool has_name_of_exception(std::string_view line) {
  const auto fault = fault_of(line);
  if (!fault) return false;
  for (const char* end : {"Error", "Exception", "Interrupt", "Exit", "Iteration", "Expired"})
    if (fault->type.ends_with(end)) return true;
  return false;
}

bool begins_another(std::string_view line) {
  return has(line, kHeader) || line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause") ||
         has(line, "terminated with the following error:") || line == "\"\"\"";
}

/// Reads one traceback, from its header at `at`; `at` is behind it afterwards.
class OneTraceback {
 public:
  OneTraceback(const std::vector<TextLine>& lines, std::size_t& at, const Margin& margin)
      : lines_{lines}, at_{at}, margin_{margin} {}

  std::optional<Raised> read() {
    ++at_;  // the header
    read_frames();
    if (at_ >= lines_.size()) return std::nullopt;
    auto fault = fault_of(line());
    if (!fault) return std::nullopt;
    Raised raised{std::move(*fault), std::move(frames_)};
    std::ranges::reverse(raised.frames);
    if (syntax_) {
      raised.fault.file = syntax_->file;
      raised.fault.line = syntax_->line;
    }
    ++at_;
    read_message(raised.fault.message);
    return raised;
  }

 private:
  std::string_view line() const { return bare(lines_[at_].text, margin_); }

  /// Frames and the lines of source below them are indented; the exception is not.
  void read_frames() {
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view here = line();
      if (auto frame = frame_of(here)) {
        syntax_.reset();
        if (frame->function.empty())
          syntax_ = std::move(frame);
        else
          frames_.push_back(std::move(*frame));
      } else if (indentation(here) == 0 && !here.empty() && !is_of_another_process()) {
        return;
      }
    }
  }

  /// Whether the line is one that another process, such as a data loader, has written into this
  /// traceback: it is no exception, and the traceback goes on below it.
  bool is_of_another_process() const {
    if (frames_.empty() || has_name_of_exception(line())) return false;
    for (std::size_t i = at_ + 1; i < std::min(at_ + kLinesBetweenMax, lines_.size()); ++i) {
      const std::string_view below = bare(lines_[i].text, margin_);
      if (has(below, "(most recent call ")) return false;
      if (const auto frame = frame_of(below); frame && !frame->function.empty()) return true;
      if (has_name_of_exception(below)) return !fault_of(line());
    }
    return false;
  }

  /// A message may have several lines. Those that are indented, or have the same words before
  /// them, belong to it; of others that is unknown.
  void read_message(std::string& message) {
    for (std::size_t i = 0; i < kMessageLinesMax && at_ < lines_.size(); ++i) {
      const std::string_view here = line();
      const bool marked = !margin_.words.empty() && has_words(lines_[at_].text, margin_);
      if (begins_another(here) || here.empty()) return;
      if (!marked && indentation(here) == 0) return;
      if (!is_noise(here)) message += "\n" + std::string{here};
      ++at_;
    }
  }

  const std::vector<TextLine>& lines_;
  std::size_t& at_;
  const Margin& margin_;
  std::vector<Frame> frames_;
  std::optional<Frame> syntax_;  // the last frame, where it has no function
};

/// What the words before a header, or the line above it, make of a traceback.
enum class Meaning { kPlain, kAside, kIgnored };

Meaning meaning_of(std::string_view above) {
  if (has_any(above, {"Exception ignored ", "Error in atexit", "--- Logging error ---",
                      "Error in sys.excepthook", "Task exception was never retrieved",
                      "exception calling callback"}))
    return Meaning::kIgnored;
  if (has_any(above, {"Exception in thread ", "Exception in thread:"})) return Meaning::kAside;
  if (above.starts_with("Process ") && above.ends_with(":")) return Meaning::kAside;
  return Meaning::kPlain;
}

bool is_log_line(std::string_view line) {
  return has_any(line, {"ERROR", "WARNING", "CRITICAL", "[error", "[warning", "Exception caught"});
}

/// How the exception of the next header belongs to the one before it.
enum class Link {
  kNone,
  kNext,   // it was raised while the one before was dealt with
  kInner,  // it is the same one, told in more detail
};

/// Whether an exception is the one before it, handed on: a pool of processes raises again what was
/// raised in one of them. Its first place says more.
bool is_same(const Fault& before, const Fault& fault) {
  return before.type == fault.type && before.message == fault.message;
}

class Finder {
 public:
  explicit Finder(const std::vector<TextLine>& lines) : lines_{lines} {}

  std::vector<Traceback> find() {
    for (at_ = 0; at_ < lines_.size();) {
      const std::size_t before = at_;
      if (auto found = syntax_error()) {
        found_.push_back(std::move(*found));
      } else if (const std::size_t header = lines_[at_].text.find(kHeader);
                 header != std::string::npos) {
        read_at(header);
      }
      if (at_ == before) ++at_;
    }
    return std::move(found_);
  }

 private:
  void read_at(std::size_t header) {
    const std::size_t begin = at_;
    const std::string& text = lines_[begin].text;
    if (is_rich_header(text)) return add(read_rich_traceback(lines_, at_), begin, Link::kNone);
    std::string_view words = std::string_view{text}.substr(0, header);
    const bool original = words.ends_with("Original ");
    const bool group = words.ends_with(kGroup);
    if (original) words.remove_suffix(std::string_view{"Original "}.size());
    if (group) words.remove_suffix(kGroup.size());
    Margin margin;
    // A progress bar may stand before what torch puts before each line.
    if (const std::size_t rank = words.rfind("[rank"); rank != std::string_view::npos)
      words.remove_prefix(rank);
    std::size_t bars = words.size();
    while (bars > 0 && is_bar(words[bars - 1])) --bars;
    // Behind words, the blank that ends them is theirs.
    if (bars > 0 && bars < words.size()) ++bars;
    margin.words = words.substr(0, bars);
    margin.indent = words.size() - bars;
    auto raised = OneTraceback{lines_, at_, margin}.read();
    if (group && raised) read_group(*raised);
    add(std::move(raised), begin, original ? Link::kInner : link_before(begin, margin));
  }

  /// The place of a group's first exception says more than that of the group, however deep it is
  /// in groups of groups. The others of it are passed over.
  void read_group(Raised& group) {
    bool first = true;
    for (std::size_t i = at_; i < lines_.size(); ++i) {
      const std::string_view here = lines_[i].text;
      if (!has(here, "|") && !has(here, "+-")) break;
      at_ = i + 1;
      const std::size_t header = here.find(kHeader);
      if (header == std::string_view::npos || !first) continue;
      if (here.substr(0, header).ends_with(kGroup)) continue;
      first = false;
      std::size_t inner = i;
      if (auto raised = OneTraceback{lines_, inner, Margin{"", header}}.read()) {
        group.fault.message +=
            " (first: " + raised->fault.type + ": " + raised->fault.message + ")";
        group.frames = std::move(raised->frames);
      }
    }
  }

  Link link_before(std::size_t begin, const Margin& margin) const {
    for (std::size_t i = begin; i > 0 && begin - i < 4; --i) {
      const std::string_view above = bare(lines_[i - 1].text, margin);
      if (above.empty() || above == "\"\"\"") continue;
      if (above.starts_with("During handling of the above exception") ||
          above.starts_with("The above exception was the direct cause"))
        return Link::kNext;
      if (has(above, "terminated with the following error:")) return Link::kInner;
      return Link::kNone;
    }
    return Link::kNone;
  }

  void add(std::optional<Raised> raised, std::size_t begin, Link link) {
    if (!raised) return;
    place(*raised);
    if (link != Link::kNone && !found_.empty()) {
      Traceback& last = found_.back();
      if (link == Link::kInner && !last.crash.raised.empty())
        last.crash.raised.back() = std::move(*raised);
      else if (!is_same(last.crash.raised.back().fault, raised->fault))
        last.crash.raised.push_back(std::move(*raised));
      last.end = at_;
      return;
    }
    const Meaning meaning = begin > 0 ? meaning_of(lines_[begin - 1].text) : Meaning::kPlain;
    if (meaning == Meaning::kIgnored || meaning_of(lines_[begin].text) == Meaning::kIgnored) return;
    Traceback traceback;
    traceback.crash.source =
        meaning == Meaning::kAside ? Crash::Source::kAside : Crash::Source::kPython;
    traceback.crash.begin = lines_[begin].offset;
    traceback.crash.raised.push_back(std::move(*raised));
    traceback.crash.uncaught = has(lines_[begin].text, "[rank");
    traceback.crash.logged = lines_[begin].in_string || is_log_line(lines_[begin].text) ||
                             (begin > 0 && is_log_line(lines_[begin - 1].text));
    traceback.end = at_;
    found_.push_back(std::move(traceback));
  }

  /// A script that cannot be parsed has no traceback: `  File "x.py", line 3`, the source with a
  /// mark below it, and then the error.
  std::optional<Traceback> syntax_error() {
    const auto frame = frame_of(lines_[at_].text);
    if (!frame || !frame->function.empty()) return std::nullopt;
    for (std::size_t i = at_ + 1; i < std::min(at_ + 5, lines_.size()); ++i) {
      auto fault = fault_of(lines_[i].text);
      if (!fault || !(fault->type.ends_with("SyntaxError") || fault->type == "IndentationError" ||
                      fault->type == "TabError"))
        continue;
      fault->file = frame->file;
      fault->line = frame->line;
      Traceback traceback;
      traceback.crash.begin = lines_[at_].offset;
      traceback.crash.raised.push_back({std::move(*fault), {}});
      traceback.end = at_ = i + 1;
      return traceback;
    }
    return std::nullopt;
  }

  const std::vector<TextLine>& lines_;
  std::size_t at_ = 0;
  std::vector<Traceback> found_;
};

}  // namespace

std::vector<Traceback> find_tracebacks(const std::vector<TextLine>& lines) {
  return Finder{lines}.find();
}

}  // namespace ddprun
