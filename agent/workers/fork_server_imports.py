# What the fork server imports, and what forbids it to fork afterwards. CMake puts this text before that of
# fork_server.py, and both are one program.
import sys

started_with = set(sys.modules)  # any interpreter has these before it looks for a script's imports

import array
import ast
import gc
import importlib.machinery
import importlib.util
import json
import os
import pkgutil
import signal
import socket
import warnings

PROGRAM = 4  # the file that this text is in
PACKET_BYTES_MAX = 256 * 1024
FILES_BYTES = 3 * array.array("i").itemsize  # a worker's output, its errors, and the gate at which it waits
FILES_READ_MAX = 1000  # the script's own ones, when its imports are looked for
# What a training imports without saying so: the first optimizer does, and takes as long as torch.
IMPORTED_LATER = {"torch": "torch._dynamo"}
HARMLESS_FILES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


# --- Talking to the agent. A byte is the character of that number: names of files are any bytes.


def decode(text):
    return os.fsdecode(text.encode("latin-1"))


def send(agent, **message):
    agent.send(json.dumps(message).encode())


def receive(agent):
    """The next message and its files; None when the agent has gone."""
    packet, ancillary, _, _ = agent.recvmsg(PACKET_BYTES_MAX, socket.CMSG_SPACE(FILES_BYTES))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    return (json.loads(packet) if packet else None), list(files)


# --- What the script imports, without running it.


def find_in(folder, name):
    """Where `import name` looks first: a module or package of the script's own folder."""
    if folder is None or name in sys.builtin_module_names:
        return None
    spec = importlib.machinery.PathFinder.find_spec(name, [folder])
    return spec if spec and spec.loader else None


def find_without_importing(name, path):
    """The file of module a.b.c, and of a package its __main__; its parents are not run."""
    spec = None
    for part in name.split("."):
        prefix = spec.name + "." if spec else ""
        spec = importlib.machinery.PathFinder.find_spec(prefix + part, path)
        if not spec:
            return None
        path = spec.submodule_search_locations
    if path is not None:
        spec = importlib.machinery.PathFinder.find_spec(name + ".__main__", path)
    return spec.origin if spec else None


def top_level_imports(file):
    """(module, names) for each import statement that always runs when `file` does."""
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield alias.name, []
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            yield statement.module, [alias.name for alias in statement.names if alias.name != "*"]


def imports_of_script(file, folder):
    """All of them in their order, also those of the script's own modules, but not these."""
    found = {}
    own = [file]
    for file in own:
        try:
            imports = list(top_level_imports(file))
        except (OSError, SyntaxError, ValueError):
            continue  # the worker itself will complain
        for module, names in imports:
            if not find_in(folder, module.partition(".")[0]):
                found.setdefault(module, []).extend(names)
                continue
            mine = [find_without_importing(module, [folder])]
            mine += [find_without_importing(f"{module}.{name}", [folder]) for name in names]
            own += [m for m in mine if m and m.endswith(".py") and m not in own]
        if len(own) > FILES_READ_MAX:
            break
    return found


# --- Importing, and what forbids forking afterwards.


class ReadsPlace(BaseException):
    """A module wants to know its worker's place while it is imported, and nobody is a worker yet."""


class WatchedEnvironment(type(os.environ)):
    """Notices who asks for the variables that are the worker's own."""

    names = frozenset()
    read = ""

    def __getitem__(self, name):
        if name in WatchedEnvironment.names:
            frame = sys._getframe(1)
            while frame.f_globals.get("__name__") in ("os", "_collections_abc", "collections.abc"):
                frame = frame.f_back
            WatchedEnvironment.read = f"{frame.f_globals.get('__name__')} reads {name}"
            raise ReadsPlace()
        return super().__getitem__(name)


def open_files():
    files = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            files[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass  # the one that listed them
    return files


def threads_left():
    """How many would not survive a fork. Fork-safe libraries (OpenBLAS) end theirs beforehand."""
    if len(os.listdir("/proc/self/task")) == 1:
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return len(os.listdir("/proc/self/task")) - 1


def children_left():
    with open("/proc/self/task/%d/children" % os.getpid()) as children:
        return [int(pid) for pid in children.read().split()]


def why_not_fork(files_before):
    """What an import has left that a forked worker would not have, or would share with others."""
    if WatchedEnvironment.read:
        return WatchedEnvironment.read + " as it is imported"
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "it initialises CUDA as it is imported"
    for number, file in open_files().items():
        if number not in files_before and file not in HARMLESS_FILES:
            return f"it leaves {file} open"
    threads = threads_left()
    if threads:
        return f"it leaves {threads} thread{'s' * (threads > 1)} running"
    if children_left():
        return "it leaves a child process running"
    return ""


def left_by_import(files_before):
    """The same, without what garbage alone holds."""
    why = why_not_fork(files_before)
    return why_not_fork(files_before) if why and gc.collect() else why


def shadowed(folder, before):
    """A module that the worker would have found in the script's folder."""
    for name in sorted({module.partition(".")[0] for module in set(sys.modules) - before}):
        if find_in(folder, name):
            return f"the script's folder has a module '{name}' of its own"
    return ""


def try_import(module, names):
    """"" or why it failed."""
    try:
        __import__(module, fromlist=names)
    except ReadsPlace:
        pass  # why_not_fork() tells
    except BaseException as error:
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return ""


class Config:
    def __init__(self, text):
        self.raw = json.loads(text)
        self.arguments = [decode(word) for word in self.raw["arguments"]]
        self.is_module = self.arguments[2] == "-m"
        self.script = self.arguments[3 if self.is_module else 2]
        self.folder = self.find_folder()

    def find_folder(self):
        """What sys.path begins with in the worker; None for nothing."""
        if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
            return None
        if self.is_module:
            return os.getcwd()
        if pkgutil.get_importer(self.script) and not os.path.isfile(self.script):
            return self.script
        return os.path.dirname(os.path.realpath(self.script))

    def modules(self):
        if self.raw["modules"]:
            wanted = {module: [] for module in self.raw["modules"]}
        else:
            wanted = imports_of_script(self.script_file() or "", self.folder)
        return {module: names for module, names in wanted.items()
                if module not in self.raw["left_out"]}

    def script_file(self):
        if not self.is_module:
            return self.script
        return find_without_importing(self.script, [self.folder or "."] + sys.path)

    def leave_out(self, agent, module, why):
        """What has been imported cannot be undone: starts over without it."""
        why = why.encode(errors="replace").decode()
        send(agent, event="left out", module=module, why=why)
        self.raw["left_out"].append(module)
        for child in children_left():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.closerange(PROGRAM + 1, max(open_files()) + 1)
        python = self.arguments[0]
        os.execv(python, [python, "-u", "-c", self.raw["boot"], json.dumps(self.raw)])


def import_all(config, agent):
    """Imports what is wanted, or what is left of it."""
    why = shadowed(config.folder, started_with)
    if why:
        send(agent, event="refused", why=why)
        os._exit(0)
    environment_class = os.environ.__class__
    WatchedEnvironment.names = frozenset(config.raw["per_worker"])
    os.environ.__class__ = WatchedEnvironment
    imported = []
    wanted = list(config.modules().items())
    for module, names in wanted:  # it grows
        if not importlib.util.find_spec(module.partition(".")[0]):
            send(agent, event="left out", module=module, why="there is no such module")
            continue
        modules_before, files_before = set(sys.modules), open_files()
        why = try_import(module, names) or left_by_import(files_before)
        why = why or shadowed(config.folder, modules_before)
        if why:
            config.leave_out(agent, module, why)
        imported.append(module)
        for of, later in IMPORTED_LATER.items():
            package = getattr(sys.modules.get(of), "__path__", None)
            known = (later, []) in wanted or later in config.raw["left_out"]
            if package and not known and importlib.util.find_spec(later):
                wanted.append((later, []))
    os.environ.__class__ = environment_class
    return imported
