# A part of ddprun: the debugger that `ddprun debug` opens in a Python worker. It is pdb over a Unix
# socket. Compiled into ddprun before debug_orders.py, which opens it.
import bdb
import os
import pdb
import socket
import sys
import sysconfig


class Line:
    """The connection to `ddprun debug`: a file to read lines from and to write to. Its end is no error."""
    encoding = "utf-8"
    errors = "replace"

    def __init__(self, connection):
        self.connection = connection
        self.reader = connection.makefile("r", encoding="utf-8", errors="replace")
        self.is_open = True

    @classmethod
    def connect(cls, path, mode):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(5)
            connection.connect(path)
            connection.sendall(mode.encode() + b"\n")
            connection.settimeout(None)
            return cls(connection)
        except OSError:  # it has gone meanwhile
            connection.close()
            return None

    def readline(self, limit=-1):
        try:
            text = self.reader.readline(limit) if self.is_open else ""
        except (OSError, ValueError):
            text = ""
        self.is_open = self.is_open and text != ""
        return text

    def write(self, text):
        try:
            self.connection.sendall(text.encode("utf-8", "replace"))
        except OSError:
            self.is_open = False
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False

    def close(self):
        self.is_open = False
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()


def is_own(frame):
    """Whether it is in a file of the user's, and not in one of a library."""
    file = frame.f_code.co_filename
    return not ("site-packages" in file or "dist-packages" in file or file.startswith("<")
                or file.startswith(sysconfig.get_path("stdlib")))


def place_of(frame):
    code = frame.f_code
    return "%s:%d" % (os.path.basename(code.co_filename), frame.f_lineno)


class Commands(pdb.Pdb):
    """pdb over a line. It ends by letting the rank go on, never by ending its program."""

    def __init__(self, debugger, line):
        super().__init__(stdin=line, stdout=line, skip=["ddprun_*", "sitecustomize"], nosigint=True,
                         readrc=False)
        self.debugger = debugger
        self.line = line
        self.asks = False  # for a command
        self.prompt = "(rank %s) " % debugger.rank

    def begin_at_own_frame(self, frame):
        """The first command goes up to the user's own program, where that has called a library."""
        up, own = 0, frame
        while own and not is_own(own):
            up, own = up + 1, own.f_back
        if own and up:
            self.message("Your own line is above %s() of %s; 'down' goes there." %
                         (frame.f_code.co_name, place_of(frame)))
            self.cmdqueue.append("up %d" % up)

    def do_quit(self, arg):
        """q(uit): leave the debugger; the rank goes on."""
        self.detach()
        return 1

    do_q = do_exit = do_detach = do_quit

    def do_EOF(self, arg):
        """EOF: leave the debugger; the rank goes on."""
        return self.do_quit(arg)

    def not_here(self, arg):
        """Not here: the program is run by ddprun."""
        self.error("the program is run by ddprun: ddprun stop ends the job")

    do_run = do_restart = not_here

    def do_interact(self, arg):
        """Not here: !STATEMENT runs a statement."""
        self.error("there is none over this line: !STATEMENT runs a statement")

    def cmdloop(self, intro=None):
        if not self.line.is_open:
            return self.detach()
        self.asks = True
        try:
            return super().cmdloop(intro)
        finally:
            self.asks = False


class RankDebugger(Commands):
    """The debugger of the main thread."""

    def say_stopped(self):
        self.message("rank %s (process %d) is stopped. 'continue' or Ctrl-D lets it go on, 'help' lists "
                     "what else there is." % (self.debugger.rank, self.debugger.pid))

    def stop_at(self, frame):
        """Takes commands at that frame now, and follows the program from there if they want that."""
        sys.settrace(None)
        self.reset()
        self.botframe = outermost(frame)
        self.begin_at_own_frame(frame)
        self.interaction(frame, None)
        if not self.line.is_open:
            return
        wanted = {name: getattr(self, name) for name in
                  ("stopframe", "returnframe", "stoplineno", "stopopcode", "cmdframe", "cmdlineno")
                  if hasattr(self, name)}
        # From its end on, each call of a function in Python would be stopped in.
        bdb.Bdb.set_trace(self, frame)
        self.__dict__.update(wanted)
        # Since Python 3.13 it also asks for a stop at the next instruction of each of these frames.
        while frame and hasattr(frame, "f_trace_opcodes"):
            frame.f_trace_opcodes = False
            frame = frame.f_back

    def stop_at_error(self, error):
        self.reset()
        self.interaction(None, error if sys.version_info >= (3, 13) else error.__traceback__)
        self.detach()

    def do_continue(self, arg):
        """c(ont(inue)): let the rank go on, until it comes to a breakpoint; without one, leave the debugger."""
        if not self.breaks:
            return self.do_quit(arg)
        self.message("rank %s goes on to a breakpoint; Ctrl-C stops it before." % self.debugger.rank)
        return super().do_continue(arg)

    do_c = do_cont = do_continue

    def detach(self):
        self.clear_all_breaks()
        self.set_continue()
        if self.debugger.session is self:
            self.debugger.session = None
        self.message("rank %s goes on." % self.debugger.rank)
        self.line.close()


def outermost(frame):
    while frame.f_back:
        frame = frame.f_back
    return frame


class Onlooker(Commands):
    """Looks at the frames of the main thread while that is in native code."""

    def look(self):
        frame = sys._current_frames().get(self.debugger.main_thread)
        if frame is None:
            return self.line.close()
        self.message("rank %s (process %d) is in native code, at %s. You can look at it; when it comes back, it "
                     "stops." % (self.debugger.rank, self.debugger.pid, place_of(frame)))
        self.begin_at_own_frame(frame)
        self.reset()
        self.interaction(frame, None)

    def not_yet(self, arg):
        """Not while the rank is in native code."""
        self.error("rank %s is in native code and cannot be stopped there; it stops when it comes back"
                   % self.debugger.rank)

    do_step = do_s = do_next = do_n = do_return = do_r = do_until = do_unt = not_yet
    do_jump = do_j = do_continue = do_c = do_cont = not_yet

    def detach(self):
        self.debugger.pending = None
        self.line.close()
