"""A build of the sources without any mutant, and the commands that make a program with one."""

import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from rules.sources import ROOT

COPY = ROOT / "build/mutate/source"
BUILD = ROOT / "build/mutate/build"
LOG = ROOT / "build/mutate/build.log"


def copy_sources():
    """The copy stays as it is while somebody goes on editing. What has not changed keeps its time."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for old in COPY.rglob("*"):
        if old.is_file() and old.relative_to(COPY).as_posix() not in wanted:
            old.unlink()
    for name in wanted:
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or not filecmp.cmp(ROOT / name, target, shallow=False):
            shutil.copy(ROOT / name, target)


def run_logged(command):
    with open(LOG, "ab") as log:
        if subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"mutate: {command[0]} failed, see {LOG}")


def configure():
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.unlink(missing_ok=True)
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DDDPRUN_SDK=OFF", "-DDDPRUN_UNITY=OFF",
               "-DDDPRUN_PRECOMPILED=OFF"]
    if shutil.which("ld.lld"):
        options.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")
    run_logged(["cmake", "-S", str(COPY), "-B", str(BUILD), "-G", "Ninja", *options])


def build(targets):
    run_logged(["cmake", "--build", str(BUILD), "--target", *targets])


class Commands:
    """How files are compiled and programs are linked, as CMake says."""

    def __init__(self):
        self.compile, self.program_of = {}, {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            # A header usually has a unit of its own, which compiles it alone.
            name = re.sub(r".*_verify_interface_header_sets/(.*)\.cxx", r"\1", entry["file"]).removeprefix(f"{COPY}/")
            words = shlex.split(entry["command"])
            compiler = 1 + next((at for at, word in enumerate(words) if word.endswith("/ccache")), -1)
            self.compile[name] = words[compiler:words.index("-o")]
            self.program_of[name] = re.search(r"/CMakeFiles/(\w+)\.dir/", entry["command"]).group(1)
        self.links = {}

    def of_unit(self, path):
        """What compiles a file; None where this build has nothing to do with it."""
        return self.compile.get(path) or self.compile.get(path.removesuffix(".hpp") + ".cpp")

    def of_program(self, program):
        """What links a program: the words before its objects, and from them on."""
        if program not in self.links:
            shown = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s", program], check=True,
                                   capture_output=True, text=True).stdout
            words = shlex.split(next(part for part in shown.split(" && ") if f" -o {program} " in part))
            first = next(i for i, word in enumerate(words) if word.endswith(".o"))
            self.links[program] = words[:first], words[first:]
        return self.links[program]

    def simulations(self):
        """The tests with the label `simulation`: the program and its options, without the number of seeds."""
        shown = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True,
                               capture_output=True, text=True).stdout
        for test in json.loads(shown)["tests"]:
            labels = [each["value"] for each in test["properties"] if each["name"] == "LABELS"]
            if "simulation" in sum(labels, []) and "command" in test:  # it has been built
                program, *options = test["command"]
                yield os.path.basename(program), [option for option in options if not option.isdigit()]
