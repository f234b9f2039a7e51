# A part of ddprun. Python runs this when a worker starts, and ddprun --no-introspection leaves it out.
# It lets ddprun see how far the worker is, and at which line it hangs.
import os
import sys

ORDERS = ("timeouts", "debug", "interrupt", "leave")  # see debug_orders.py


def begin(chained):
    place = os.environ.pop("DDPRUN_INTROSPECTION", None)
    folder = os.path.dirname(place or __file__)
    leave_path(folder)
    if place:
        try:
            worker = Worker(place)
            listen_to_signals(worker)
            wait_for_debuggers(worker)
            watch_for_torch(worker)
        except Exception:  # whatever is wrong with it, the worker runs
            pass
    if chained:
        run_users_own(folder)


def leave_path(folder):
    """Nothing that the worker starts, or looks up, finds this folder."""
    before, separator, users = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if before == folder:
        if separator:
            os.environ["PYTHONPATH"] = users
        else:
            del os.environ["PYTHONPATH"]
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)


def run_users_own(folder):
    import _frozen_importlib
    import _frozen_importlib_external
    spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None:
        return
    module = _frozen_importlib.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class Worker:
    """This process."""

    def __init__(self, place):
        self.pid = os.getpid()
        self.place = place
        self.files = "%s.%d" % (place, self.pid)  # the beginning of their names
        self.loaded = None
        self.loads = False

    def debugger(self):
        """The one of debug_orders.py, which is loaded when it is needed first."""
        if self.loaded is None:
            import _signal
            self.loads = True  # a signal that comes meanwhile finds its order carried out by this call
            names = {"__name__": "ddprun_debugger", "ORDERS": ORDERS, "SIGNAL": _signal.SIGRTMIN + 14}
            for source in ("rank_debugger.py", "debug_orders.py"):
                path = os.path.join(os.path.dirname(self.place), source)
                with open(path) as file:
                    exec(compile(file.read(), path, "exec"), names)
            self.loaded = names["Debugger"](self.place, self.files)
            self.loads = False
        return self.loaded

    def is_this(self):
        """And not one that was forked from it."""
        return os.getpid() == self.pid

    def has_orders(self):
        return self.is_this() and not self.loads and (
            self.loaded and self.loaded.pending
            or any(os.path.exists("%s.%s" % (self.files, kind)) for kind in ORDERS))


def listen_to_signals(worker):
    """A signal that is answered between two instructions of Python, and one that is answered anywhere."""
    import _signal  # the module signal takes two milliseconds
    import atexit
    import faulthandler
    safe, anywhere = _signal.SIGRTMIN + 14, _signal.SIGRTMIN + 13
    if any(_signal.getsignal(number) != _signal.SIG_DFL for number in (safe, anywhere)):
        return
    file = os.open(worker.files + ".stacks", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def tell_stacks(number, frame):
        if worker.has_orders():
            worker.debugger().obey(frame)
        else:
            faulthandler.dump_traceback(file, all_threads=True)

    _signal.signal(safe, tell_stacks)
    _signal.siginterrupt(safe, False)
    # It reads the frames of a thread that may be about to change them. That of the thread which takes
    # the signal stands still when that is in native code.
    faulthandler.register(anywhere, file, all_threads=False)

    def end():
        """Python gives up its handlers at the end, and a signal without one would kill the worker then."""
        faulthandler.unregister(anywhere)
        for number in (safe, anywhere):
            _signal.signal(number, _signal.SIG_IGN)

    atexit.register(end)


def wait_for_debuggers(worker):
    """Where the program would stop for a debugger, one can come over ddprun: a worker has no keyboard."""
    on_error = os.environ.pop("DDPRUN_DEBUG_ON_ERROR", None)
    if on_error:
        end_with_error = sys.excepthook

        def wait_with_error(kind, error, traceback):
            end_with_error(kind, error, traceback)
            if worker.is_this() and issubclass(kind, Exception):
                worker.debugger().wait_with_error(error, float(on_error))

        sys.excepthook = wait_with_error
    if "PYTHONBREAKPOINT" in os.environ or os.isatty(0):
        return
    stop_by_itself = sys.breakpointhook

    def stop(*arguments, **named):
        if not worker.is_this():
            return stop_by_itself(*arguments, **named)
        worker.debugger().wait_at_breakpoint(sys._getframe(1), float(on_error or 600))

    sys.breakpointhook = stop


def watch_for_torch(worker):
    if TorchFinder.NAME in sys.modules:
        open_server(worker)
    else:
        sys.meta_path.insert(0, TorchFinder(worker))


class TorchFinder:
    """Waits among the finders of imports until torch.distributed is imported."""
    NAME = "torch.distributed.distributed_c10d"

    def __init__(self, worker):
        self.worker = worker

    def find_spec(self, name, path=None, target=None):
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self.follow(spec.loader)
                return spec
        return None

    def follow(self, loader):
        execute = loader.exec_module

        def execute_and_open(module):
            execute(module)
            open_server(self.worker)

        loader.exec_module = execute_and_open


def answers(path):
    """Whether torch's worker server serves at that socket."""
    import socket
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(path)
            connection.sendall(b"POST /handler/ping HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return connection.recv(1) != b""
    except OSError:
        return False


def open_server(worker):
    """Opens torch's worker server. Its threads take no signals, and it says nothing on stderr."""
    path = worker.files + ".sock"
    try:
        import atexit
        import ctypes
        import signal
        import time
        import torch
        from torch._C._distributed_c10d import _WorkerServer
        folder = os.path.join(os.path.dirname(torch.__file__), "lib")
        level = ctypes.c_int.in_dll(ctypes.CDLL(os.path.join(folder, "libc10.so")), "FLAGS_caffe2_log_level")
        opened_by = os.getpid()

        def quietly(action):
            before, level.value = level.value, 2
            try:
                return action()
            finally:
                level.value = before

        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            server = quietly(lambda: _WorkerServer(path))
            answer_orders(worker)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        # Its destructor would join threads, also in a forked process, which does not have them.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))

        def close():
            """Nobody may be answered any more while the process is taken apart."""
            if os.getpid() != opened_by:
                return
            # A server whose thread does not serve yet, on a busy machine, does not hear that it is to
            # stop, and shutdown() would wait for that thread forever.
            serves = answers(path)
            try:
                os.unlink(path)
            except OSError:
                pass
            # shutdown() keeps the interpreter's lock, which ddprun's question may be waiting for.
            for _ in range(50):
                if not os.path.exists(path + ".asked"):
                    break
                time.sleep(0.01)
            if serves:
                quietly(server.shutdown)

        atexit.register(close)
    except Exception:  # usually a torch that is too old for it
        pass


def answer_orders(worker):
    """In a thread of its own, which also answers while the main thread is in native code.

    A handler of torch's server would be taken apart behind the interpreter, and crash there."""
    import _thread
    import socket
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(worker.files + ".orders")
        listener.listen()
    except OSError:  # the main thread alone carries out orders, then
        return

    def wait_for_orders():
        while True:
            connection = listener.accept()[0]
            try:
                connection.settimeout(1)
                connection.recv(4096)  # the request
                worker.debugger().obey_beside()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except Exception:  # the agent has gone
                pass
            connection.close()

    _thread.start_new_thread(wait_for_orders, ())


begin(chained=__name__ == "sitecustomize")
