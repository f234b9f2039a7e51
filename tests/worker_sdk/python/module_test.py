#!/usr/bin/env python3
"""The module ddprun for Python, with the standard library alone: module_test.py [unittest's arguments]"""

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

PROJECT = Path(__file__).resolve().parents[3]
MODULE = PROJECT / "worker_sdk" / "python"
sys.path.insert(0, str(MODULE))

import ddprun  # noqa: E402
from ddprun import _heartbeat, _worker  # noqa: E402

SECOND = 1_000_000_000


class Board:
    """What the agent has: memory of slots, here a file."""

    def __init__(self, slots):
        self.file = tempfile.NamedTemporaryFile()
        self.file.truncate(slots * _heartbeat.SLOT_BYTES)

    def address(self, slot):
        return f"{self.file.name}:{slot}"

    def read(self, slot):
        """(step, loss, samples per second, time) that was written last; None when nothing was."""
        memory = os.pread(self.file.fileno(), _heartbeat.SLOT_BYTES, slot * _heartbeat.SLOT_BYTES)
        count, *numbers = struct.unpack("=QqddqqddqQ", memory[:8 + 2 * 32 + 8])
        return tuple(numbers[4 * (count % 2):][:4]) if count else None

    def total_steps(self, slot):
        return struct.unpack("=q", os.pread(self.file.fileno(), 8, slot * _heartbeat.SLOT_BYTES + 72))[0]

    def first(self):
        """The round to which the first heartbeat belongs, its step and its time."""
        return struct.unpack("=qqq", os.pread(self.file.fileno(), 24, 88))


def run(script, **variables):
    """What the script prints, in a Python of its own that ends within a minute."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DDPRUN_", "TORCHELASTIC_"))}
    environment |= {"PYTHONPATH": str(MODULE), **variables}
    done = subprocess.run([sys.executable, "-c", script], env=environment, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class HeartbeatTest(unittest.TestCase):
    def test_steps_of_the_elastic_loop_are_told_unless_the_program_does_so(self):
        board = Board(1)
        with mock.patch.dict(os.environ, {"DDPRUN_HEARTBEAT": board.address(0)}), \
                mock.patch.object(_heartbeat, "_heart", None), \
                mock.patch.object(_heartbeat, "_program_beats", False):
            _heartbeat.step_done(7, 64, 0.25)
            self.assertEqual(board.read(0)[:2], (7, 0.25))
            ddprun.heartbeat(8, loss=0.5)
            _heartbeat.step_done(9)
            self.assertEqual(board.read(0)[:2], (8, 0.5))

    def test_the_first_heartbeat_of_each_round_is_kept(self):
        board = Board(1)
        heart = _heartbeat.Heart(board.address(0))
        for number, step in ((1, 20), (2, 10)):
            os.pwrite(board.file.fileno(), struct.pack("=q", number), 80)
            heart.beat(step * 10, step, 0, 0.5)
            heart.beat(step * 10 + 1, step + 1, 0, 0.5)
            self.assertEqual(board.first(), (number, step, step * 10))

    def test_the_loop_says_how_many_steps_there_are_unless_the_program_does_so(self):
        board = Board(1)
        with mock.patch.dict(os.environ, {"DDPRUN_HEARTBEAT": board.address(0)}), \
                mock.patch.multiple(_heartbeat, _heart=None, _program_beats=False, _program_expects=False):
            _heartbeat.expect_steps(100)
            self.assertEqual(board.total_steps(0), 100)
            ddprun.heartbeat(1, steps=90)
            _heartbeat.expect_steps(80)
            self.assertEqual(board.total_steps(0), 90)

    def test_a_heartbeat_arrives_in_its_own_slot(self):
        board = Board(3)
        with mock.patch.dict(os.environ, {"DDPRUN_HEARTBEAT": board.address(1)}), \
                mock.patch.object(_heartbeat, "_heart", None):
            before = _heartbeat.time.monotonic_ns()
            ddprun.heartbeat(120, loss=0.31, samples=64)
            step, loss, rate, when = board.read(1)
            self.assertEqual((step, loss), (120, 0.31))
            self.assertEqual(rate, 0, "nobody knows how long the first step took")
            self.assertTrue(before <= when <= _heartbeat.time.monotonic_ns())
            ddprun.heartbeat(121, steps=1000)
            self.assertEqual(board.read(1)[0], 121)
            self.assertEqual(board.total_steps(1), 1000)
            self.assertNotEqual(board.read(1)[1], board.read(1)[1], "a loss that is not told is no number")
        self.assertEqual([board.read(0), board.read(2)], [None, None])

    def test_a_loss_that_gradients_flow_through_is_detached_as_torch_warns_otherwise(self):
        class Loss:
            def __float__(self):
                raise AssertionError("torch would warn")

            def detach(self):
                return 0.25

        board = Board(1)
        with mock.patch.object(_heartbeat, "_heart", _heartbeat.Heart(board.address(0))):
            ddprun.heartbeat(3, loss=Loss())
        self.assertEqual(board.read(0)[:2], (3, 0.25))

    def test_samples_per_second_are_those_of_the_last_full_second(self):
        board = Board(1)
        heart = _heartbeat.Heart(board.address(0))
        begin = _heartbeat.time.monotonic_ns()
        heart.beat(begin, 0, 12_000_000, 0)
        self.assertEqual(board.read(0)[2], 0)
        heart.beat(begin + SECOND // 2, 1, 100, 0)
        self.assertEqual(board.read(0)[2], 200)
        heart.beat(begin + SECOND, 2, 100, 0)
        self.assertEqual(board.read(0)[2], 200)
        heart.beat(begin + SECOND + 1, 3, 1_000, 0)
        self.assertEqual(board.read(0)[2], 200)
        heart.beat(begin + 3 * SECOND, 4, 1_000, 0)
        self.assertEqual(board.read(0)[2], 1_000)

    def test_nothing_happens_without_an_agent_whatever_the_arguments(self):
        board = Board(2)
        for address in ("", "nonsense", ":0", f"{board.file.name}:", f"{board.file.name}:-1",
                        f"{board.file.name}:x", board.address(2), board.address(10**30), "/nowhere:0",
                        "/dev/null:0", "/:0"):
            with mock.patch.dict(os.environ, {"DDPRUN_HEARTBEAT": address}), \
                    mock.patch.object(_heartbeat, "_heart", None):
                ddprun.heartbeat("no number", loss=object())
                self.assertFalse(_heartbeat._heart.connected, address)
        self.assertEqual([board.read(0), board.read(1)], [None, None])

    def test_arguments_that_are_no_numbers_are_refused_and_the_heartbeat_before_stays(self):
        board = Board(1)
        heart = _heartbeat.Heart(board.address(0))
        heart.beat(_heartbeat.time.monotonic_ns(), 7, 0, 0.5)
        with mock.patch.object(_heartbeat, "_heart", heart):
            for arguments in (("x",), (2**63,), (1, "x"), (1, 0.5, "x")):
                with self.assertRaises((TypeError, ValueError)):
                    ddprun.heartbeat(*arguments)
            self.assertEqual(board.read(0)[:2], (7, 0.5))
            ddprun.heartbeat(8, 0.25)
            self.assertEqual(board.read(0)[:2], (8, 0.25))

    def test_a_reader_never_sees_half_of_a_heartbeat(self):
        board = Board(1)
        child = os.fork()
        if child == 0:
            heart = _heartbeat.Heart(board.address(0))
            for i in range(1, 1_000_000_000):  # until it is killed
                heart.beat(i, i, 0, float(i))
        try:
            seen = set()
            while len(seen) < 1_000:
                # One after the other, as HeartbeatSlot::read() does: within a call the kernel copies
                # in any order.
                count, = struct.unpack("=Q", os.pread(board.file.fileno(), 8, 0))
                entry = os.pread(board.file.fileno(), 32, 8 + 32 * (count % 2))
                after, = struct.unpack("=Q", os.pread(board.file.fileno(), 8, 0))
                if count and count == after:
                    step, loss, _, when = struct.unpack("=qdqq", entry)
                    self.assertEqual((count, count, count), (step, loss, when))
                    seen.add(count)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def test_threads_may_beat_side_by_side(self):
        board = Board(1)
        heart = _heartbeat.Heart(board.address(0))
        begin = _heartbeat.time.monotonic_ns()
        threads = [threading.Thread(target=lambda: [heart.beat(begin, i, 0, i) for i in range(2_000)])
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        step, loss, _, _ = board.read(0)
        self.assertEqual(step, loss)

    def test_a_forked_child_leaves_the_slot_to_its_parent(self):
        board = Board(1)
        code, _ = run("import ddprun, os\nddprun.heartbeat(1)\npid = os.fork()\n"
                      "if pid == 0: ddprun.heartbeat(2); os._exit(0)\n"
                      "os.waitpid(pid, 0)\n", DDPRUN_HEARTBEAT=board.address(0))
        self.assertEqual((code, board.read(0)[0]), (0, 1))

    def test_a_worker_that_was_forked_before_the_first_heartbeat_finds_its_own_slot(self):
        board = Board(2)
        code, _ = run("import ddprun, os\nddprun.heartbeat(1)\npid = os.fork()\n"
                      f"if pid == 0: os.environ['DDPRUN_HEARTBEAT'] = '{board.address(1)}'; "
                      "ddprun.heartbeat(5); os._exit(0)\n"
                      "os.waitpid(pid, 0)\n")
        self.assertEqual((code, board.read(1)[0]), (0, 5))


class CheckpointRequestTest(unittest.TestCase):
    def assert_prints(self, expected, script, **variables):
        code, out = run("import ddprun, os, signal, sys\n" + script, **variables)
        self.assertEqual((code, out.split()), (0, expected.split()), out)

    def test_functions_are_called_once_in_order_and_then_the_handler_that_was_there(self):
        self.assert_prints("before False one two previous after True previous", """
signal.signal(signal.SIGUSR1, lambda number, frame: print("previous"))
ddprun.on_checkpoint_request(lambda: print("one"))
@ddprun.on_checkpoint_request
def two():
    print("two")
assert callable(two)
print("before", ddprun.checkpoint_requested())
signal.raise_signal(signal.SIGUSR1)
print("after", ddprun.checkpoint_requested())
signal.raise_signal(signal.SIGUSR1)
""")

    def test_a_handler_that_comes_later_may_hand_the_signal_on(self):
        self.assert_prints("mine asked", """
ddprun.on_checkpoint_request(lambda: print("asked"))
before = signal.getsignal(signal.SIGUSR1)
signal.signal(signal.SIGUSR1, lambda *arguments: (print("mine"), before(*arguments)))
signal.raise_signal(signal.SIGUSR1)
""")

    def test_one_that_raises_does_not_keep_the_others_from_running(self):
        self.assert_prints("other previous raised", """
signal.signal(signal.SIGUSR1, lambda *_: print("previous"))
def fail():
    raise KeyError
ddprun.on_checkpoint_request(fail)
ddprun.on_checkpoint_request(lambda: print("other"))
try:
    signal.raise_signal(signal.SIGUSR1)
except KeyError:
    print("raised")
""")

    def test_who_comes_after_the_request_is_called_at_once(self):
        self.assert_prints("False True late", """
print(ddprun.checkpoint_requested())
signal.raise_signal(signal.SIGUSR1)
print(ddprun.checkpoint_requested())
ddprun.on_checkpoint_request(lambda: print("late"))
signal.raise_signal(signal.SIGUSR1)
""")

    def test_the_signal_is_the_one_that_ddprun_has_named(self):
        self.assert_prints("asked", """
ddprun.on_checkpoint_request(lambda: print("asked"))
assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
signal.raise_signal(signal.SIGRTMIN)
""", DDPRUN_CHECKPOINT_SIGNAL=str(int(signal.SIGRTMIN)))

    def test_a_variable_that_names_no_such_signal_is_told(self):
        for text in ("SIGUSR1", "-1", "1.5", "0", "9", "1000"):
            code, out = run("import ddprun; ddprun.checkpoint_requested()",
                            DDPRUN_CHECKPOINT_SIGNAL=text)
            self.assertEqual(code, 1)
            self.assertIn(f"DDPRUN_CHECKPOINT_SIGNAL is '{text}', expected", out)

    def test_ignored_signals_and_unset_handlers_are_no_trouble(self):
        self.assert_prints("True", """
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
ddprun.checkpoint_requested()
signal.raise_signal(signal.SIGUSR1)
print(ddprun.checkpoint_requested())
""", DDPRUN_CHECKPOINT_SIGNAL="")

    def test_a_child_that_was_forked_is_not_asked(self):
        self.assert_prints("child 0 parent", """
ddprun.on_checkpoint_request(lambda: print("parent", flush=True))
pid = os.fork()
if pid == 0:
    signal.raise_signal(signal.SIGUSR1)
    os._exit(0)
print("child", os.waitpid(pid, 0)[1], flush=True)
signal.raise_signal(signal.SIGUSR1)
""")

    def test_a_system_call_of_the_training_does_not_fail(self):
        self.assert_prints("asked b'x'", """
import ctypes, threading
ddprun.on_checkpoint_request(lambda: print("asked"))
read, write = os.pipe()
def ask():
    with open(f"/proc/self/task/{os.getpid()}/stat") as stat:  # until the main thread waits
        while stat.read().rpartition(")")[2].split()[0] != "S":
            stat.seek(0)
    os.kill(os.getpid(), signal.SIGUSR1)
    os.write(write, b"x")
threading.Thread(target=ask).start()
buffer = ctypes.create_string_buffer(1)
assert ctypes.CDLL(None).read(read, buffer, 1) == 1
print(buffer.raw)
""")

    def test_the_first_call_must_come_from_the_main_thread(self):
        self.assert_prints("refused accepted", """
import threading
def register(word):
    try:
        ddprun.on_checkpoint_request(lambda: None)
        print(word)
    except RuntimeError as error:
        assert "main thread" in str(error)
        print("refused")
def in_thread(word):
    thread = threading.Thread(target=register, args=[word])
    thread.start()
    thread.join()
in_thread("too early")
ddprun.checkpoint_requested()
in_thread("accepted")
""")

    def test_what_cannot_be_called_is_refused(self):
        with self.assertRaisesRegex(TypeError, "not int"):
            ddprun.on_checkpoint_request(7)


class WorkerTest(unittest.TestCase):
    def test_the_restart_count_is_that_of_the_launcher(self):
        for value, expected in (("3", 3), ("0", 0), ("", 0)):
            with mock.patch.dict(os.environ, {"TORCHELASTIC_RESTART_COUNT": value}):
                self.assertEqual(ddprun.restart_count(), expected)
        with mock.patch.dict(os.environ):
            os.environ.pop("TORCHELASTIC_RESTART_COUNT", None)
            self.assertEqual(ddprun.restart_count(), 0)

    def test_a_restart_count_that_is_no_number_is_told(self):
        for value in ("-1", "x", "1 ", "\u0661"):
            with mock.patch.dict(os.environ, {"TORCHELASTIC_RESTART_COUNT": value}):
                with self.assertRaisesRegex(ValueError, f"TORCHELASTIC_RESTART_COUNT is '{value}'"):
                    ddprun.restart_count()

    def test_the_names_are_those_that_the_agent_writes(self):
        header = (PROJECT / "worker_sdk" / "include" / "ddprun" / "worker_env.hpp").read_text()
        listed = set(re.findall(r'kn?\w+\[\] = "(\w+)"', header))
        ours = {value for name, value in vars(_worker).items() if name.isupper()}
        self.assertEqual(len(ours), 8)
        self.assertEqual(ours - listed, set())

    def test_the_module_says_what_it_has(self):
        self.assertEqual(sorted(ddprun.__all__), [
            "Batches", "ElasticRun", "Job", "LaunchError", "World",
            "checkpoint_requested", "heartbeat", "launch", "on_checkpoint_request", "restart_count", "start"])
        for name in ddprun.__all__:
            self.assertTrue(getattr(ddprun, name).__doc__, name)
        self.assertIsInstance(ddprun.__version__, str)
        with self.assertRaises(AttributeError):
            ddprun.nothing_of_the_kind

    def test_importing_it_imports_little_and_changes_nothing(self):
        code, out = run("import signal, sys; before = set(sys.modules)\nimport ddprun\n"
                        "print(*sorted(m for m in set(sys.modules) - before if '.' not in m))\n"
                        "print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)")
        self.assertEqual(code, 0)
        self.assertIn("True", out)
        self.assertNotIn("importlib.metadata", out)
        self.assertNotIn("torch", out)
        self.assertNotIn("hashlib", out)


class ProgramTest(unittest.TestCase):
    """python -m ddprun, in a checkout: the program is that of the PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        program = Path(self.folder) / "ddprun"
        program.write_text("#!/bin/sh\necho \"program $*\"; exit 7\n")
        program.chmod(0o755)

    def test_it_becomes_the_program(self):
        code, out = run("import runpy, sys; sys.argv[1:] = ['--nproc-per-node', '2', 'a b']\n"
                        "runpy.run_module('ddprun', run_name='__main__')",
                        PATH=f"{self.folder}:/usr/bin:/bin")
        self.assertEqual((code, out), (7, "program --nproc-per-node 2 a b\n"))

    def test_without_a_program_it_says_so(self):
        code, out = run("from ddprun.__main__ import main; main()", PATH="/nowhere")
        self.assertEqual(code, 1)
        self.assertIn("is not in PATH", out)


if __name__ == "__main__":
    unittest.main()
