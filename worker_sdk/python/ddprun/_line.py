"""The line between a worker and the agent of its node. A worker in an elastic loop reports that it can stay. Its agent
then asks it to leave its world and to enter the next one, instead of stopping and restarting it. If no worker is lost,
the agent first asks how far the worker is, and then asks it to leave behind a step that all can count.

The agent listens at a Unix socket that DDPRUN_CONTROL names as PATH:LOCAL_RANK. Both sides send lines of JSON:

    worker: hello {local_rank, round, resize} · holding {round, step} · parked {round} · stuck {round} · goodbye {}
    agent:  welcome {patience_s} · hold {round} · leave_after {round, step} · leave {round} · enter {round, environment}

resize: false if the program needs its number of workers, so that it must not go on with another one. holding is the
answer to hold. It comes at once, with the step -1 from a worker that does not train in that round any more. A worker
that is still about to enter that round, or enters it, answers when it begins to train there. If the agent asks it to
leave before that, no answer comes.

Without an agent that listens there is no line, and workers are stopped and restarted as usual.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from ddprun._worker import CONTROL

LINE_BYTES_MAX = 64 << 10
NO_ROUND = 0  # a worker that waits for its first one is of this one
ANSWER_S = 5.0  # the agent is on this machine, and answers to hello within that time

_open_lines: List["AgentLine"] = []


class Entrance(NamedTuple):
    """A worker is to take part in this round: the variables of its environment that differ from before."""

    round: int
    environment: Dict[str, str]


class Orders(NamedTuple):
    """What is done when the agent has said something. All are called in the line's thread."""

    hold: Callable[[int], Optional[int]]  # returns the step to answer for that round; None: holding() is called later
    leave_after: Callable[[int, int], None]  # that round, and its last step
    leave: Callable[["AgentLine", int], None]  # this worker leaves that round at once
    agent_has_gone: Callable[[], None]


class AgentLine:
    """One thread of it reads what the agent says."""

    def __init__(self, connection: socket.socket, orders: Orders) -> None:
        self._connection = connection
        self._orders = orders
        self._news = threading.Condition()
        self._patience: Optional[float] = None
        self._entrance: Optional[Entrance] = None
        self._is_open = True
        self._thread = threading.Thread(target=self._read, name="ddprun agent", daemon=True)
        _open_lines.append(self)
        self._thread.start()

    @classmethod
    def connect(cls, round_number: int, resize: bool, orders: Orders) -> Optional[AgentLine]:
        """Tells the agent that this worker can stay when members of that round change, and whether it can do so when
        their number does.

        None where no agent listens, or it does not answer.
        """
        path, _, local_rank = os.environ.get(CONTROL, "").rpartition(":")
        if not (path and local_rank.isdigit()):
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
        except OSError:  # a container of the worker's own hides the folder
            connection.close()
            return None
        line = cls(connection, orders)
        line._say(type="hello", local_rank=int(local_rank), round=round_number, resize=resize)
        with line._news:
            if line._news.wait_for(lambda: line._patience is not None or not line._is_open, ANSWER_S):
                if line._patience is not None:
                    return line
        line.close()
        return None

    def first_entrance(self) -> Entrance:
        """For a worker that was started beside a round, without a place in one: waits until it gets one.

        Raises RuntimeError where the agent has gone.
        """
        self.parked(NO_ROUND)
        entrance = self.await_entrance(lambda: True)
        if entrance is None:
            raise RuntimeError(
                "this worker was started beside a round, and its agent has gone before it could enter one"
            )
        return entrance

    @property
    def patience(self) -> float:
        """For how many seconds an order may take to come, behind the loss that it follows from."""
        assert self._patience is not None
        return self._patience

    def holding(self, round_number: int, step: int) -> None:
        """The answer for that round."""
        self._say(type="holding", round=round_number, step=step)

    def parked(self, round_number: int) -> None:
        """This worker has left that round, and does nothing until its agent lets it enter another one."""
        self._say(type="parked", round=round_number)

    def stuck(self, round_number: int) -> None:
        """This worker is to leave that round, and waits for members of it without an end."""
        self._say(type="stuck", round=round_number)

    def await_entrance(self, is_told: Callable[[], bool]) -> Optional[Entrance]:
        """Waits for the agent's order to enter a round, as long as the agent's patience allows. If `is_told` returns
        that the agent has asked this worker to leave, it waits without end, as the agent decides. None: no order has
        come.
        """
        ends = time.monotonic() + self.patience
        with self._news:
            while self._entrance is None and self._is_open:
                left = None if is_told() else ends - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._news.wait(left)
            entrance, self._entrance = self._entrance, None
        return entrance

    def close(self) -> None:
        """This worker does not stay any more when members change."""
        if self not in _open_lines:
            return
        _open_lines.remove(self)
        self._say(type="goodbye")
        try:
            self._connection.shutdown(socket.SHUT_RDWR)  # which ends the thread's reading
        except OSError:
            pass  # the agent has gone
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._connection.close()

    def _say(self, **message: Any) -> None:
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the agent has gone, and with it goes this worker

    def _read(self) -> None:
        with self._connection.makefile("rb") as lines:
            while self._hear(lines):
                pass
        with self._news:
            self._is_open = False
            self._news.notify_all()
        self._orders.agent_has_gone()

    def _hear(self, lines: Any) -> bool:
        try:
            text = lines.readline(LINE_BYTES_MAX)
        except OSError:
            return False
        if not text.endswith(b"\n"):
            return False
        self._follow(json.loads(text))
        return True

    def _follow(self, message: Dict[str, Any]) -> None:
        if message["type"] == "hold":
            step = self._orders.hold(message["round"])
            if step is not None:
                self.holding(message["round"], step)
        elif message["type"] == "leave_after":
            self._orders.leave_after(message["round"], message["step"])
        elif message["type"] == "leave":
            self._orders.leave(self, message["round"])
        with self._news:
            if message["type"] == "welcome":
                self._patience = float(message["patience_s"])
            elif message["type"] == "enter":
                self._entrance = Entrance(message["round"], message["environment"])
            self._news.notify_all()


def _forget() -> None:
    """A process that the worker has forked, such as one of a data loader, has no line."""
    for line in _open_lines:
        line._connection.close()
    _open_lines.clear()


os.register_at_fork(after_in_child=_forget)
