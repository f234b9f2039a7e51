"""Mutants that no operator makes: rules of the proofs that are broken as a whole.

by_hand.toml names the function of each, or the class, a regular expression that fits one place in it, and
what comes instead. So they outlive edits elsewhere in the file, and a move to another one."""

import re
import tomllib

from mutation.operators import Mutant
from rules import sizes, sources

LIST = "scripts/mutation/by_hand.toml"


def functions(paths):
    """(name, path, where it begins, its text) of each function and class."""
    for tag in sources.tags(paths):
        if tag["kind"] in ("function", "class", "struct") and "end" in tag:
            lines = sources.text_of(tag["path"]).splitlines(keepends=True)
            yield (sizes.plain(sizes.full_name(tag)), tag["path"], sum(map(len, lines[:tag["line"] - 1])),
                   "".join(lines[tag["line"] - 1:tag["end"]]))


def read(paths):
    """The mutants, and why others do not fit any more."""
    found, misfits, known = [], [], list(functions(paths))
    for entry in tomllib.loads(sources.text_of(LIST)).get("mutant", []):
        places = [(path, begin, match) for name, path, begin, text in known if re.fullmatch(entry["function"], name)
                  for match in re.finditer(entry["pattern"], text)]
        if len(places) != 1:
            misfits.append(f"{LIST}: {entry['name']}: {entry['pattern']!r} fits {len(places)} times in "
                           f"{entry['function']}, expected once")
            continue
        path, begin, match = places[0]
        new = match.expand(entry["new"])
        text = sources.text_of(path)
        at = begin + match.start()
        bytes_before = len(text[:at].encode())
        found.append(Mutant(path, text.count("\n", 0, at) + 1, f"by hand, {entry['name']}", bytes_before,
                            bytes_before + len(match.group().encode()), new, match.group()))
    return found, misfits
