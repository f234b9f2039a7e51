"""Finds what is written for people: how wide it is, and whether a comment says what it is about."""

import collections
import io
import re
import tokenize

from rules import sources

MARKDOWN_COLUMNS, CPP_COLUMNS, SCRIPT_COLUMNS = 120, 100, 120

# A comment has no head when it begins in the middle of a sentence whose beginning is some other line: the
# code beside it, or the comment above. "The same values" and "What the agent does" name what they are about.
# Beside code, "what is sent" needs the field's name to be understood.
HEADLESS = re.compile(r"""
    the\ same (?= \W*$ | [.,:;)] | \ (?:also|and|as|at|but|by|for|in|is|of|on|only|that|to|under|when|where|with|
                                     without)\b)
  | of\b | who\b | (?:that|those)\ of\b | then:
""", re.I | re.X)
HEADLESS_BESIDE_CODE = re.compile(r"what\b", re.I)

CPP_TOKEN = re.compile(
    r'R"(?P<raw>\w*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
MARK = re.compile(r"^(?://[/!]?<?|/\*+!?|#+)\s?|\*/$")
OPENING = re.compile(r"""//[/!]?<?|/\*+!?|#+|R"\w*\(|\w*(?:"{3}|'{3}|["'])""")

# Nobody writes these for this page: code, comments of Markdown, the addresses of links, and quotations.
NO_PROSE = re.compile(r'^\s*```.*?^\s*```|<!--.*?-->|`[^`]+`|\]\([^)]*\)|https?://\S+|"[^"\n]*"', re.M | re.S)

Comment = collections.namedtuple("Comment", "line column beside_code text")


def cpp_texts(text):
    return ((match.start(), match[0]) for match in CPP_TOKEN.finditer(text) if match[0][0] != "'")


def python_texts(text):
    """Since Python 3.12 without f-strings, which are tokens of their own there."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield lines[token.start[0] - 1] + token.start[1], token.string


def script_comments(text):
    """Those that have a line of their own: what else begins with # in a shell may be anything."""
    return ((match.start(1), match[1]) for match in re.finditer(r"^[ \t]*(#(?!!).*)", text, re.M))


# Each yields where a comment or string begins, and what it is.
READERS = {"cpp": cpp_texts, "python": python_texts, "shell": script_comments, "cmake": script_comments}


def comment_tokens(text, language):
    for start, token in READERS[language](text):
        if token.startswith(("//", "/*", "#")):
            yield text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1), token.rstrip()


def comments(text, language):
    """The comments of a file; lines below each other in one column are one comment."""
    lines, found = text.splitlines(), []
    last_line = 0
    for line, column, token in comment_tokens(text, language):
        words, beside = MARK.sub("", token).strip(), bool(lines[line - 1][:column].strip())
        if not beside and found and last_line == line - 1 and found[-1].column == column:
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {words}")
        else:
            found.append(Comment(line, column, beside, words))
        last_line = line + token.count("\n")
    return found


def headless(files):
    """(path, line, comment) of comments that begin in the middle."""
    for path, language in files.items():
        if language in READERS:
            for comment in comments(sources.text_of(path), language):
                begins = HEADLESS.match(comment.text) or (
                    comment.beside_code and HEADLESS_BESIDE_CODE.match(comment.text))
                if begins:
                    yield path, comment.line, f"begins in the middle: {comment.text[:60]}"


def without_quotations(text):
    return NO_PROSE.sub(lambda match: "`" + "\n" * match[0].count("\n"), text)


def written(text, language):
    """The prose of a text, each word in its line; "|" stands for what is none, and ends a sentence.

    In C++ and Python, comments and strings are prose. One that follows another continues its sentence. A script is
    prose as a whole: its messages have no common form, and commands look like no sentence. Its comments continue from
    line to line, its commands do not."""
    if language == "markdown":
        return without_quotations(text)
    if language in ("shell", "cmake"):
        return re.sub(r"^([ \t]*)(#?)(.*)", lambda line: line[1] + line[3] + ("" if line[2] else "|"), text, flags=re.M)
    pieces, end = [], 0
    for start, token in READERS[language](text):
        between, opening = text[end:start], OPENING.match(token)[0]
        goes_on = end and not between.strip()
        pieces += "\n" * between.count("\n"), " " if goes_on else "|"
        pieces.append(without_quotations(token[len(opening):]).rstrip("\"'").replace("\\n", " "))
        end = start + len(token)
    return "".join(pieces)


def markdown_prose(text):
    """(number, line) outside of code and tables, links without their addresses."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith("|"):
            yield number, re.sub(r"https?://\S+", "", re.sub(r"\]\([^)]*\)", "]()", line))


def too_wide(files):
    """(path, line, how wide) of prose."""
    for path, language in files.items():
        text = sources.text_of(path)
        if language == "markdown":
            limit, lines = MARKDOWN_COLUMNS, markdown_prose(text)
        else:
            limit = CPP_COLUMNS if language == "cpp" else SCRIPT_COLUMNS
            all_lines = text.splitlines()
            lines = {line: all_lines[line - 1] for line, _, _ in comment_tokens(text, language)}.items()
        for number, line in lines:
            if len(line) > limit and "://" not in line:
                yield path, number, f"{len(line)} columns of prose, at most {limit}"
