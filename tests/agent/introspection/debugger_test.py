"""The hook of Python workers lets debuggers in, and is in nobody's way.

    debugger_test.py FOLDER_OF_THE_HOOK
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCES = ("sitecustomize.py", "rank_debugger.py", "debug_orders.py")
ASK = signal.SIGRTMIN + 14
# A program that reads a pipe, or waits for a lock, carries out no order before it has what it waits for.
WAIT = """
import os, time
while not os.path.exists(os.path.join(os.environ["FOLDER"], "go on")):
    time.sleep(0.01)
"""


class Worker:
    """A program that runs with the hook, and says a line when it is asked to go on."""

    def __init__(self, folder, program):
        for source in SOURCES:
            shutil.copy(pathlib.Path(HOOK) / source, folder)
        self.place = pathlib.Path(folder) / "1.0"
        environment = {**os.environ, "PYTHONPATH": str(folder), "DDPRUN_INTROSPECTION": str(self.place), "RANK": "3",
                       "FOLDER": str(folder)}
        self.process = subprocess.Popen([sys.executable, "-c", program], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def let_go_on(self):
        (self.place.parent / "go on").touch()

    def close(self):
        self.process.kill()
        self.process.communicate()

    def order(self, kind, **fields):
        file = pathlib.Path("%s.%d.%s" % (self.place, self.process.pid, kind))
        file.with_suffix(".new").write_text(json.dumps({"type": kind, **fields}))
        file.with_suffix(".new").rename(file)
        self.process.send_signal(ASK)

    def says(self, line):
        said = self.process.stdout.readline()
        assert said == line + "\n", (said, self.process.stderr.read() if not said else "")


class Terminal:
    """What `ddprun debug` is for a worker."""

    def __init__(self, folder):
        self.path = str(pathlib.Path(folder) / "terminal")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(60)
        self.connection = None

    def close(self):
        self.listener.close()
        if self.connection:
            self.connection.close()

    def accept(self):
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(60)
        self.read = ""
        return self.reads_until("\n").strip()

    def say(self, command):
        self.connection.sendall(command.encode() + b"\n")

    def reads_until(self, text):
        """Returns what comes up to the end of that text."""
        while text not in self.read:
            more = self.connection.recv(4096).decode()
            assert more, self.read
            self.read += more
        end = self.read.index(text) + len(text)
        said, self.read = self.read[:end], self.read[end:]
        return said


class DebuggerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, program):
        worker = Worker(self.folder.name, program)
        self.addCleanup(worker.close)
        return worker

    def listen(self):
        terminal = Terminal(self.folder.name)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_question_that_comes_at_the_very_end_kills_nobody(self):
        worker = self.start("""
import os, signal, sys
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), ask=signal.SIGRTMIN + 14):
        kill(pid, ask)
        kill(pid, ask - 1)
sys.late = Late()
print("runs", flush=True)
""")
        self.assertEqual(worker.process.communicate(timeout=60), ("runs\n", ""))
        self.assertEqual(worker.process.returncode, 0)

    def test_a_debugger_stops_the_program_and_lets_it_go_on(self):
        worker = self.start("""
secret = 42
print("runs", flush=True)
""" + WAIT + """
print(secret, flush=True)
""")
        worker.says("runs")
        terminal = self.listen()
        worker.order("debug", socket=terminal.path, port=0)
        self.assertEqual(terminal.accept(), "stopped")
        terminal.reads_until("(rank 3) ")
        terminal.say("!secret = 43")
        terminal.reads_until("(rank 3) ")
        terminal.say("continue")
        terminal.reads_until("rank 3 goes on.")
        worker.let_go_on()
        worker.says("43")
        self.assertEqual(worker.process.wait(60), 0)

    def test_the_loss_of_the_terminal_lets_the_program_go_on(self):
        worker = self.start("print('runs', flush=True)" + WAIT + "print('goes on', flush=True)")
        worker.says("runs")
        terminal = self.listen()
        worker.order("debug", socket=terminal.path, port=0)
        terminal.accept()
        terminal.reads_until("(rank 3) ")
        terminal.connection.shutdown(socket.SHUT_RDWR)
        worker.let_go_on()
        worker.says("goes on")

    def test_an_order_for_nobody_harms_nobody(self):
        worker = self.start("print('runs', flush=True)" + WAIT + "print('goes on', flush=True)")
        worker.says("runs")
        worker.order("debug", socket=self.folder.name + "/nobody", port=0)
        worker.order("interrupt")
        worker.order("leave")
        worker.order("timeouts", extended=True)
        worker.let_go_on()
        worker.says("goes on")
        self.assertEqual(worker.process.wait(60), 0)
        self.assertEqual(worker.process.stderr.read(), "")

    def test_a_forked_process_stops_by_itself_at_a_breakpoint(self):
        worker = self.start("""
import os
child = os.fork()
if child == 0:
    breakpoint()
    os._exit(0)
_, status = os.waitpid(child, 0)
print("child", os.WEXITSTATUS(status), flush=True)
""")
        worker.process.stdin.write("continue\n")
        worker.process.stdin.flush()
        out, _ = worker.process.communicate(timeout=60)
        self.assertIn("child 0\n", out)


if __name__ == "__main__":
    HOOK = sys.argv.pop(1)
    unittest.main()
