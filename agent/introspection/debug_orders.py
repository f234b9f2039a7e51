# A part of ddprun. The hook of Python workers, sitecustomize.py, runs this behind rank_debugger.py, whose
# names it uses, when the first order comes for its worker: to let somebody into it with a debugger, or to
# give torch's process groups more time while another rank is debugged.
#
# An order is a file: the name of the worker's files and one of the hook's ORDERS, with JSON in it. Either the main
# thread takes it, between two of its instructions, when a signal asks; or, where torch is used, a thread
# of the hook's takes it, which also answers while the main thread is in native code.
import datetime
import json
import os
import select
import signal
import sys
import threading
import time
import traceback

LONGER = datetime.timedelta(days=1)  # torch's time for a collective while a rank is debugged
# Other ranks are in collectives that have the shorter time still. So the rank goes on until it has
# begun this many more, or begins none for that long; no longer than that on the whole.
COLLECTIVES_BEFORE = 16
SECONDS_WITHOUT = 0.5
SECONDS_BEFORE = 3
# The main thread stops within this time, or is in native code.
SECONDS_TO_STOP = 0.3


class Debugger:
    """What the debuggers of one process have in common."""

    def __init__(self, place, files):
        self.place = place
        self.files = files
        self.pid = os.getpid()
        self.rank = os.environ.get("RANK", "?")
        self.main_thread = threading.main_thread().ident
        self.session = None  # the main thread's
        self.pending = None  # an order that the main thread is to take
        self.wait = None     # for a debugger
        self.obeys = False   # the main thread carries out orders
        self.later = False   # a thread waits until it has done so
        self.timeouts = {}   # those that groups had before, by group
        os.register_at_fork(after_in_child=leave_traces)

    def obey(self, frame):
        """Carries out orders in the main thread, which is at that frame."""
        if self.is_busy():
            self.taken("interrupt")  # it stands still
            return self.obey_later()
        self.obeys = True
        orders, self.pending = [self.pending] if self.pending else [], None
        orders += [order for kind in ORDERS for order in [self.taken(kind)] if order]
        try:
            for order in orders:
                self.obey_in_main_thread(order, outside(frame))
        except Exception:  # a fault of ours; the program goes on
            traceback.print_exc()
        finally:
            self.obeys = False

    def is_busy(self):
        """Whether the main thread is in a debugger, or about to be."""
        return self.obeys or self.session is not None and self.session.asks

    def obey_later(self):
        if self.later:
            return
        self.later = True
        threading.Thread(target=self.ask_when_free, daemon=True).start()

    def ask_when_free(self):
        while self.is_busy():
            time.sleep(0.02)
        self.later = False
        signal.pthread_kill(self.main_thread, SIGNAL)

    def obey_in_main_thread(self, order, frame):
        kind = order["type"]
        if kind == "timeouts":
            self.extend_timeouts(order["extended"])
        elif kind == "debug":
            self.open_session(order, frame)
        elif kind == "interrupt" and self.session:
            self.session.stop_at(frame)
        elif kind == "leave" and self.session:
            self.session.detach()

    def open_session(self, order, frame):
        line = Line.connect(order["socket"], "stopped")
        if line is None:
            return
        if order["port"]:
            return serve_debugpy(line, order["port"], frame)
        if self.session:
            self.session.detach()
        self.session = RankDebugger(self, line)
        if self.wait:
            self.wait.open(self.session)
        else:
            self.session.say_stopped()
            self.session.stop_at(frame)

    def obey_beside(self):
        """Carries out orders in a thread beside the main one."""
        timeouts = self.taken("timeouts")
        if timeouts:
            self.extend_timeouts(timeouts["extended"])
        order = self.taken("debug")
        if order:
            threading.Thread(target=self.stop_main_thread, args=[order], daemon=True).start()

    def stop_main_thread(self, order):
        self.extend_timeouts(True)
        if not self.wait:
            let_collectives_pass()
        self.pending = order
        signal.pthread_kill(self.main_thread, SIGNAL)
        ends = time.monotonic() + SECONDS_TO_STOP
        while self.pending and time.monotonic() < ends:
            time.sleep(0.005)
        if not self.pending or order["port"]:
            return
        line = Line.connect(order["socket"], "looks")
        if line:
            Onlooker(self, line).look()

    def taken(self, kind):
        """Returns the order of that kind, at most once; None: there is none."""
        path = "%s.%s" % (self.files, kind)
        own = "%s.%d" % (path, threading.get_ident())
        try:
            os.rename(path, own)
            with open(own) as file:
                order = json.load(file)
            os.unlink(own)
            return order
        except (OSError, ValueError):
            return None

    def extend_timeouts(self, extended):
        for group, backend in backends():
            try:
                if extended and group not in self.timeouts:
                    self.timeouts[group] = backend.options._timeout
                    backend._set_default_timeout(LONGER)
                elif not extended and group in self.timeouts:
                    backend._set_default_timeout(self.timeouts.pop(group))
            except Exception:  # a backend that has no such time, or a torch that is too old
                pass

    def wait_at_breakpoint(self, frame, seconds):
        at = place_of(frame)
        sessions = []
        if not Wait(self, "breakpoint(), at most %g s" % seconds, at, sessions.append).last(seconds):
            return say("rank %s goes on: no debugger has come." % self.rank)
        sessions[0].say_stopped()
        sessions[0].stop_at(frame)

    def wait_with_error(self, error, seconds):
        last = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)][-1]
        at = "%s:%d" % (os.path.basename(last[0].f_code.co_filename), last[1])
        why = traceback.format_exception_only(type(error), error)[-1].strip()[:200]
        Wait(self, "%s, at most %g s" % (why, seconds), at, lambda session: session.stop_at_error(error)).last(seconds)


def outside(frame):
    """The frame of the program below all of ours: a signal may come while another one is answered."""
    found = frame
    while frame.f_back:
        if frame.f_globals.get("__name__") in ("ddprun_debugger", "ddprun_hook", "sitecustomize"):
            found = frame.f_back
        frame = frame.f_back
    return found


def torch_groups():
    """torch's process groups of this rank."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    return list(module._world.pg_map) if module else []


def backends():
    for group in torch_groups():
        import torch
        for device in ("cpu", "cuda"):
            try:
                backend = group._get_backend(torch.device(device))
            except Exception:
                continue
            yield (group, type(backend).__name__), backend


def begun_collectives():
    try:
        return sum(group._get_sequence_number_for_group() for group in torch_groups())
    except Exception:  # a group that does not count
        return 0


def let_collectives_pass():
    last = begun_collectives()
    enough = last + COLLECTIVES_BEFORE
    now = began = newer = time.monotonic()
    while torch_groups() and last < enough and now - newer < SECONDS_WITHOUT and now - began < SECONDS_BEFORE:
        time.sleep(0.01)
        now, before, last = time.monotonic(), last, begun_collectives()
        if last != before:
            newer = now


def leave_traces():
    """A forked process has no debugger: that of its parent has the line."""
    sys.settrace(None)


class Wait:
    """The main thread waits for a debugger."""

    def __init__(self, debugger, why, at, open_session):
        self.debugger = debugger
        self.told = {"why": why, "at": at}
        self.path = debugger.place + ".waits"
        self.open_session = open_session
        self.over, self.end = os.pipe()

    def open(self, session):
        self.open_session(session)
        os.write(self.end, b".")

    def last(self, seconds):
        """Returns whether a debugger came."""
        self.tell()
        self.debugger.wait = self
        try:
            return bool(select.select([self.over], [], [], seconds)[0])
        finally:
            self.debugger.wait = None
            self.tell_end()
            os.close(self.over)
            os.close(self.end)

    def tell(self):
        try:
            with open(self.path + ".new", "w") as file:
                json.dump(self.told, file)
            os.rename(self.path + ".new", self.path)
        except OSError:  # nobody hears of it, and it waits all the same
            pass

    def tell_end(self):
        try:
            os.unlink(self.path)
        except OSError:
            pass


def say(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def serve_debugpy(line, port, frame):
    """Lets an editor in, and stops at that frame. The line is open as long as somebody is to be let in, or is there."""
    try:
        import debugpy
    except ImportError:
        line.write("debugpy is not there: python -m pip install debugpy, in the environment of the workers\n")
        return line.close()
    try:
        debugpy.listen(("127.0.0.1", port))
    except Exception as error:  # it listens already, or the port is taken
        line.write("debugpy cannot listen at port %d: %s\n" % (port, error))
        return line.close()

    def leave():
        line.readline()
        debugpy.wait_for_client.cancel()

    def outlast_editor():
        while debugpy.is_client_connected():
            time.sleep(0.2)
        line.write("the editor has gone\n")
        line.close()

    line.write("debugpy listens at 127.0.0.1:%d, and the rank waits for your editor; Ctrl-C ends that\n" % port)
    threading.Thread(target=leave, daemon=True).start()
    debugpy.wait_for_client()
    if debugpy.is_client_connected():
        line.write("an editor is there\n")
        threading.Thread(target=outlast_editor, daemon=True).start()
        import pydevd  # a part of debugpy, which is there since it listens
        # As debugpy.breakpoint(), which would stop in this function's caller.
        pydevd.settrace(suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame)
