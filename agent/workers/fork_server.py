# The fork server: one process per node that has imported modules once and forks the workers of every
# round. Compiled into ddprun behind fork_server_imports.py, whose names it uses. ddprun runs both as
# `python -u -c ... CONFIG` with a Unix socket (SOCK_SEQPACKET, one JSON object a packet) as file 3 and
# this text as file 4. See fork_server.hpp.
#
# Three generations, so that workers are the agent's children although the fork server forked them: the
# fork server forks a *midwife* ahead of time, which forks the workers of one round and ends; its orphans
# become children of the agent, a subreaper. Only then the agent lets them go: from here on they die
# with it (PR_SET_PDEATHSIG is about the parent a process has when it asks for it). Workers that the agent
# does not want any more by then never run.
import ctypes
import gc
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import runpy
import signal
import socket
import sys
import time
import types

SOCKET = 3  # the file to talk to the agent
PR_SET_PDEATHSIG = 1
MPOL_BIND, MPOL_PREFERRED_MANY = 2, 5

libc = ctypes.CDLL(None, use_errno=True)


# --- Forking.


def call_itself(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)


class Worker:
    """What a forked process needs to become a worker."""

    def __init__(self, order, files, agent_pid):
        self.order = order
        *self.files, self.go = files
        self.agent_pid = agent_pid

    def settle(self, kept_files, name):
        os.setsid()
        for file, standard in zip(self.files, (1, 2)):
            os.dup2(file, standard)
        for file in open_files():
            if file not in kept_files and file != self.go:
                os.close(file)
        os.environ.update({decode(key): decode(value)
                           for key, value in self.order["environment"].items()})
        call_itself(name)
        self.take_place()
        self.wait_until_adopted()
        run_hook()
        draw_fresh_numbers()

    def take_place(self):
        """May it run on those CPUs at all? Its memory's place is a wish."""
        cpus, nodes = self.order["cpus"], self.order["memory_nodes"]
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)
        except OSError as error:
            os.write(2, f"ddprun: cannot run on CPUs {cpus}: {error.strerror}\n".encode())
            os._exit(126)
        if not nodes:
            return
        bits = 8 * ctypes.sizeof(ctypes.c_ulong)
        mask = (ctypes.c_ulong * (max(nodes) // bits + 2))()
        for node in nodes:
            mask[node // bits] |= 1 << node % bits
        for mode in (MPOL_PREFERRED_MANY, MPOL_BIND):  # kernels before 5.15 know the second only
            if libc.syscall(ctypes.c_long(self.order["set_mempolicy"]), ctypes.c_long(mode), mask,
                            ctypes.c_ulong(8 * ctypes.sizeof(mask))) == 0:
                return

    def wait_until_adopted(self):
        if not os.read(self.go, 1):
            os._exit(127)  # nobody wants it any more
        os.close(self.go)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.agent_pid:
            os._exit(127)


def run_hook():
    """What the interpreter runs in workers that are not forked: see agent/introspection."""
    place = os.environ.get("DDPRUN_INTROSPECTION")
    if not place:
        return
    path = os.path.join(os.path.dirname(place), "sitecustomize.py")
    try:
        with io.open_code(path) as file:
            code = compile(file.read(), path, "exec")
    except OSError:
        return
    exec(code, {"__name__": "ddprun_hook", "__file__": path})


def draw_fresh_numbers():
    """What every process of its own draws as it imports these; `random` does it after a fork."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)


def end_with(parent):
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(127)


def deliver(agent, agent_pid, count):
    """The midwife: forks the workers of one start, each of which returns from here. Of each it counts the start."""
    while True:
        order, files = receive(agent)
        if order is None:
            os._exit(1)
        pid = os.fork()
        if pid == 0:
            return Worker(order, files, agent_pid)
        for file in files:
            os.close(file)
        os.write(count, b"%d " % order["start"])
        send(agent, event="forked", start=order["start"], worker=order["worker"], pid=pid)
        if order["last"]:
            os._exit(0)


def serve(agent, agent_pid):
    """Round after round; returns in the workers."""
    fork_server = os.getpid()
    while True:
        counted, count = os.pipe()
        midwife = os.fork()
        if midwife == 0:
            os.close(counted)
            end_with(fork_server)
            call_itself("dpr-midwife")
            return deliver(agent, agent_pid, count)
        os.close(count)
        if os.waitpid(midwife, 0)[1] != 0:
            os._exit(1)  # the agent lets nobody go whom it was not told of
        starts = b"".join(iter(lambda: os.read(counted, 4096), b"")).split()
        os.close(counted)
        send(agent, event="delivered", start=int(starts[-1]))  # they are the agent's children now


# --- Being the worker: as `python -u SCRIPT` and `python -u -m MODULE` do it.


def show_as(arguments):
    """What ps shows: this process was started with another command line. See setproctitle(3)."""
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    if len(fields) < 47:  # an emulated kernel says less, as qemu's
        return
    begin, end = int(fields[45]), int(fields[46])
    text = b" ".join(os.fsencode(word) for word in arguments)
    if begin and len(text) + 2 <= end - begin:
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, text, len(text))
        ctypes.memset(end - 1, 1, 1)  # tells the kernel that it is no list of words any more


def fresh_main():
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __package__=None, __spec__=None)
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def run_script(script, main):
    path = os.path.join(os.getcwd(), script)
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file '{path}': [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2)
    compiled = text.startswith(importlib.util.MAGIC_NUMBER)
    loader = importlib.machinery.SourcelessFileLoader if compiled else importlib.machinery.SourceFileLoader
    main.__dict__.update(__file__=path, __cached__=None, __loader__=loader("__main__", path))
    code = pkgutil.read_code(io.BytesIO(text)) if compiled else compile(text, path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def run_program(config, arguments):
    words = [decode(word) for word in arguments]
    if hasattr(sys, "orig_argv"):
        words[0] = sys.orig_argv[0]  # the interpreter itself, where the program only starts it
        sys.orig_argv[:] = words
    show_as(words)
    sys.argv[:] = words[2:]
    if config.is_module:
        del sys.argv[1]
    if config.folder is not None:
        sys.path.insert(0, config.folder)
    main = fresh_main()
    try:
        if config.is_module:
            runpy._run_module_as_main(config.script)
        elif config.folder == config.script:
            runpy._run_module_as_main("__main__", False)
        else:
            run_script(config.script, main)
    except SystemExit:
        raise
    except BaseException as error:
        give_up(error)


def give_up(error):
    """As the interpreter ends with an exception, but without a word of this file."""
    traceback = error.__traceback__
    while traceback and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    if not isinstance(error, KeyboardInterrupt):
        raise SystemExit(1)
    sys.excepthook = lambda *_: None
    raise error  # for the interpreter to end by SIGINT


def begin():
    """Returns in a worker, which runs from here with as few of our frames below it as can be."""
    if sys.path and sys.path[0] == "":
        del sys.path[0]  # which -c has put there
    agent_pid = os.getppid()
    config = Config(sys.argv[1])
    agent = socket.socket(fileno=SOCKET)
    with open("/proc/self/comm") as comm:
        name = comm.read().strip()
    call_itself("dpr-nursery")  # `killall python3` is not meant for it
    show_as(["ddprun-nursery:", *config.arguments])
    began = time.monotonic()
    files_before = set(open_files()) - {SOCKET, PROGRAM}
    thresholds = gc.get_threshold()
    gc.set_threshold(0)  # there is little garbage, and looking for it takes a tenth of the time
    imported = import_all(config, agent)
    kept_files = (files_before | set(open_files())) - {SOCKET, PROGRAM}
    send(agent, event="ready", modules=imported, seconds=time.monotonic() - began)
    gc.freeze()  # whatever a worker's garbage collector does not touch stays shared
    if gc.get_threshold()[0] == 0:  # no module has set its own
        gc.set_threshold(*thresholds)
    worker = serve(agent, agent_pid)
    agent.detach()  # settle() closes it
    worker.settle(kept_files, name)

    return config, worker.order["arguments"]


run_program(*begin())
