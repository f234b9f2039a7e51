"""The files of the project that the rules are about, and what ctags tells of those in C++."""

import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CPP = (".cpp", ".hpp")
SCRIPT_FOLDERS = ("scripts/", ".ci/")


def text_of(path):
    return (ROOT / path).read_text(errors="replace")


def language_of(path):
    """"cpp", "python", "shell", "cmake", "markdown", or None for what has no rules."""
    for endings, language in ((CPP, "cpp"), ((".py",), "python"), ((".sh", ".sbatch"), "shell"),
                              ((".md",), "markdown"), (("CMakeLists.txt", ".cmake"), "cmake")):
        if path.endswith(endings):
            return language
    if path.startswith(SCRIPT_FOLDERS) and "." not in pathlib.PurePath(path).name:
        first = text_of(path).partition("\n")[0]
        return "python" if "python" in first else "shell" if first.startswith("#!") else None
    return None


def files():
    """Each file with its language, those that git does not know yet, too."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.split("\0")
    present = (path for path in sorted(set(listed)) if path and (ROOT / path).is_file())
    return {path: language for path in present if (language := language_of(path))}


# What ctags 5.9 takes for something else: `int x = Rules{}.x;` and `~X() override;`
BRACES_IN_VALUE = re.compile(r"(?<![=!<>])=\s*[\w:<>]+\{[^{};]*\}[^;{}\n]*;")
OVERRIDDEN_DESTRUCTOR = re.compile(r"(~\w+\(\)) override")


def tags(paths):
    """What ctags finds in files of C++: classes, their functions and fields, and where functions end."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            copy = pathlib.Path(folder, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(OVERRIDDEN_DESTRUCTOR.sub(r"\1", BRACES_IN_VALUE.sub(";", text_of(path))))
        command = ["ctags", "--output-format=json", "--languages=C++", "--kinds-C++=cspfm",
                   "--fields=+neKSs", "--fields-C++=+{properties}", "-f", "-", "-L", "-"]
        found = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, input="\n".join(paths))
    return [json.loads(line) for line in found.stdout.splitlines()]
