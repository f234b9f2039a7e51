"""Tries one mutant: compiles its file alone, links it before everything else, and runs the tests."""

import collections
import ctypes
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from mutation import build

PATIENCE, LEAST_PATIENCE_S = 10, 20  # times as long as without a mutant, and seconds: then it hangs
COMPILE_LIMIT_S, MEMORY_LIMIT = 600, 4 << 30
OPTIMISED = "-O2"

CAUGHT, SURVIVED, NO_BUILD, SAME = "caught", "survived", "does not compile", "same code"
LIBC = ctypes.CDLL(None)
Verdict = collections.namedtuple("Verdict", "outcome by seconds")


class Trial:
    """What one process does, in a folder of its own. Nothing that it has started outlives a step."""

    def __init__(self, commands, seeds, usual_s, temporary):
        """temporary: a folder with a short name, for sockets are made in it."""
        self.commands, self.seeds, self.usual_s = commands, seeds, usual_s
        self.folder = build.BUILD.parent / f"trial.{os.getpid()}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.temporary = pathlib.Path(temporary) / str(os.getpid())
        self.temporary.mkdir()
        self.plain = {}  # the object code of a file without a mutant
        LIBC.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER

    def judge(self, room, path, text):
        """Whether the room's tests notice that a file has this text."""
        begin = time.monotonic()
        code = self.compiled(path, text)
        outcome, by = (NO_BUILD, "") if code is None else (SAME, "") if code == self.code_without(path) else (None, "")
        if outcome is None:
            by = self.first_to_notice(room, path, [self.object])
            outcome = CAUGHT if by else SURVIVED
        if outcome == SURVIVED and self.compiled(path, text, OPTIMISED) == self.code_without(path, OPTIMISED):
            outcome = SAME
        return Verdict(outcome, by, time.monotonic() - begin)

    def first_to_notice(self, room, path, objects):
        """What fails first: the file's own test, the other tests of its room, or a simulation."""
        for name, command in self.steps(room, path):
            if not self.linked(command[0], objects):
                return f"{name}: does not link"
            code = self.run([str(self.folder / command[0]), *command[1:]], self.limit_s(room, command[0]))
            if code != 0:
                return f"{name}: {'hangs' if code is None else f'ends with {code}'}"
        return ""

    def steps(self, room, path):
        """(name, command) of each test, the quickest first."""
        own = f"{pathlib.PurePath(path).stem}_test"
        for program, files in room.tests.items():
            others = [name for name in files if name != own]
            for name, part in ((own, [own] if own in files else []), (f"{program} of {room.name}", others)):
                if part:
                    yield name, only(program, part)
        for program, files in room.tests_of_users.items():
            yield f"{program} of the users of {room.name}", only(program, files)
        for program, options in room.simulations:
            yield " ".join([program, *options]), [program, *options, str(self.seeds)]

    def without_mutant(self, room):
        """Runs the room's tests and notes how long each of its programs takes. Returns what fails, or ""."""
        for name, command in self.steps(room, ""):
            begin = time.monotonic()
            if not self.linked(command[0], []) or self.run(
                    [str(self.folder / command[0]), *command[1:]], COMPILE_LIMIT_S) != 0:
                return f"{name} fails without a mutant"
            seconds = time.monotonic() - begin
            self.usual_s[room.name, command[0]] = max(seconds, self.usual_s.get((room.name, command[0]), 0))
        return ""

    def limit_s(self, room, program):
        return max(LEAST_PATIENCE_S, PATIENCE * self.usual_s[room.name, program])

    # --- Compiling and linking.

    @property
    def object(self):
        return self.folder / "mutant.o"

    def compiled(self, path, text, *options):
        """The object code; None when it does not compile.

        A header is compiled alone, and all its functions are kept. As the linker takes the first of
        several, and nothing is inlined, all of a program calls these."""
        source, is_header = self.folder / "source" / path, path.endswith(".hpp")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        unit = self.folder / "source/unit.cpp" if is_header else source
        if is_header:
            unit.write_text(f'#include "{path}"\n')
            options = ("-fkeep-inline-functions", *options)
        compiler, *flags = self.commands.of_unit(path)
        command = [compiler, f"-I{self.folder}/source", *flags, "-w", f"-ffile-prefix-map={self.folder}=.",
                   *options, "-c", str(unit), "-o", str(self.object)]
        code = self.run(command, COMPILE_LIMIT_S)
        source.unlink()
        return self.object.read_bytes() if code == 0 else None

    def code_without(self, path, *options):
        if (path, *options) not in self.plain:
            object_with = self.object.rename(self.folder / "kept.o") if self.object.exists() else None
            self.plain[path, *options] = self.compiled(path, (build.COPY / path).read_text(), *options)
            if object_with:
                object_with.rename(self.object)
        return self.plain[path, *options]

    def linked(self, program, objects):
        before, after = self.commands.of_program(program)
        after = [str(self.folder / word) if word == program else word for word in after]
        return self.run([*before, *map(str, objects), *after], COMPILE_LIMIT_S) == 0

    # --- Running.

    def run(self, command, limit_s):
        """The exit code; None when it ran past the limit."""
        process = subprocess.Popen(command, cwd=build.BUILD, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit,
                                   env={**os.environ, "TMPDIR": str(self.temporary)})
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
            process.wait()
            end_orphans()
            for left in self.temporary.iterdir():
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def only(program, files):
    """Runs the tests of these files, until one fails."""
    return [program, "-#", "-a", ",".join(f"[#{each}]" for each in files)]


def limit():
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_orphans():
    """A mutant may leave processes behind: they have become children of this one."""
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := [int(pid) for pid in children.read_text().split()]:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
