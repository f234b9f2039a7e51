"""Does our store answer as torch's own server does?

    python store_parity.py [--classic] COMMAND...    e.g.  python store_parity.py build/ddprun store --port 0

needs torch. COMMAND starts a server and prints `listening on HOST:PORT`. The same random sequence
of operations, by several clients, is sent to both servers through torch's own client; every reply
and the type of every exception must agree. Operations that this torch's client does not have are left
out, and named.

torch has two servers and clients: the newer one, on libuv, and with --classic the one that USE_LIBUV=0 chooses.

Differences that are wanted, and so not compared:
  * the order of list_keys(), which neither server defines;
  * the texts of exceptions, which name ports;
  * whether compare_set() wakes clients that wait for a key it did not create: torch's libuv server does,
    and their next get() is then empty; ours wakes them when the key exists;
  * lengths: torch's classic server has no limits.
"""

import os
import random
import sys
import threading
from datetime import timedelta

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from store_server_process import serving  # noqa: E402

OPERATIONS = 10_000
CLIENTS = 4
SEED = 20_251_121
KEYS = ["", "a", "b", "c", "n", "m", "q", "a/b", "über", "k" * 8190, "with space", "x\0y"]
VALUES = ["", "0", "5", " 12abc", "-3", "text", "é\0z", "9223372036854775807", "v" * 5000]
LIMITS = ["too long a key", "too long a value"]
CLASSIC_HAS_NO = ["queue_push", "queue_pop", "queue_len"]
SHORT = timedelta(milliseconds=2)
LONG = timedelta(seconds=30)


class Clients:
    """The clients of one server; one whose connection was closed connects again."""

    def __init__(self, port, libuv):
        self.port = port
        self.libuv = libuv
        self.stores = [self.connect() for _ in range(CLIENTS)]

    def connect(self):
        return dist.TCPStore("127.0.0.1", self.port, None, False, LONG, use_libuv=self.libuv)

    def reply(self, who, operation):
        try:
            return operation(self, self.stores[who])
        except Exception as error:  # its type is the reply
            if isinstance(error, dist.DistNetworkError):
                self.stores[who] = self.connect()
            return type(error).__name__

    def meet(self, waiter, key, value):
        """One client gets a key that another one sets."""
        got = []
        thread = threading.Thread(target=lambda: got.append(waiter.get(key)))
        thread.start()
        self.stores[0].set(key, value)
        thread.join()
        return got[0]


def get(store, keys, act):
    """Acts on keys that may be missing; only for those it must not wait long."""
    store.set_timeout(LONG if store.check(keys) else SHORT)
    try:
        return act()
    finally:
        store.set_timeout(LONG)


def pop_and_wait(store, key):
    """Waits for an element; a plain key of that name ends the wait as well."""
    store.set_timeout(LONG if store.check([key]) else SHORT)
    try:
        return store.queue_pop(key, True)
    finally:
        store.set_timeout(LONG)


def done(store, unanswered):
    """The server answers nothing to these, and only what it answers after them shows their end."""
    return store.num_keys()


def random_operation(rng, number, left_out):
    key, other = rng.choice(KEYS), rng.choice(KEYS)
    value, expected = rng.choice(VALUES), rng.choice(VALUES)
    amount = rng.choice([0, 1, -1, 7, 2**63 - 1, -(2**63)])
    meeting = f"meet/{number}"
    # fmt: off
    choices = {
        "set": (12, lambda c, s: done(s, s.set(key, value))),
        "get": (8, lambda c, s: get(s, [key], lambda: s.get(key))),
        "add": (10, lambda c, s: s.add(key, amount)),
        "append": (4, lambda c, s: done(s, s.append(key, value[:10]))),
        "check": (8, lambda c, s: s.check([key, other])),
        "check nothing": (1, lambda c, s: s.check([])),
        "wait": (2, lambda c, s: s.wait([key, other], LONG if s.check([key, other]) else SHORT)),
        "wait nothing": (1, lambda c, s: s.wait([], LONG)),
        "compare_set": (10, lambda c, s: s.compare_set(key, expected, value)),
        "compare_set hit": (4, lambda c, s: s.check([key]) and s.compare_set(key, s.get(key).decode(), value)),
        "delete": (8, lambda c, s: s.delete_key(key)),
        "count": (4, lambda c, s: s.num_keys()),
        "list": (2, lambda c, s: sorted(s.list_keys())),
        "multi_set": (4, lambda c, s: done(s, s.multi_set([key, other], [value, expected]))),
        "multi_get": (4, lambda c, s: get(s, [key, other], lambda: s.multi_get([key, other, key]))),
        "push": (6, lambda c, s: done(s, s.queue_push(key, value))),
        "pop": (6, lambda c, s: s.queue_pop(key, False)),
        "pop and wait": (1, lambda c, s: pop_and_wait(s, key)),
        "length": (4, lambda c, s: s.queue_len(key)),
        "barrier of one": (1, lambda c, s: s.barrier(f"barrier/{number}", 1)),
        "barrier too few": (1, lambda c, s: s.barrier(f"barrier/{number}", 2, SHORT)),
        "meet": (1, lambda c, s: c.meet(c.stores[1], meeting, value)),
        "too long a key": (0.1, lambda c, s: s.set("k" * 9000, value) or s.num_keys()),
        "too long a value": (0.02, lambda c, s: s.set(key, "v" * ((8 << 20) + 1)) or s.num_keys()),
        "longest value": (0.02, lambda c, s: (s.set("long", "v" * (8 << 20)), s.get("long"), s.delete_key("long"))[1:]),
    }
    # fmt: on
    names = [name for name in choices if name not in left_out]
    name = rng.choices(names, [choices[name][0] for name in names])[0]
    return name, (key, other, value, expected, amount), choices[name][1]


# The operations that not every version has a method for, by its name.
METHODS = {
    "list_keys": ["list"],  # since 2.11
    "barrier": ["barrier of one", "barrier too few"],  # since 2.12
    "queue_push": ["push"],  # since 2.8, as are those below
    "queue_pop": ["pop", "pop and wait"],
    "queue_len": ["length"],
}


def left_out_of(libuv):
    """The operations that are not compared here; says why."""
    missing = [method for method in METHODS if not hasattr(dist.TCPStore, method)]
    left_out = [name for method in missing for name in METHODS[method]]
    for method in missing:
        print(f"torch {torch.__version__} has no TCPStore.{method}: left out")
    if libuv and torch.__version__.startswith("2.7."):
        print("torch 2.7's own server hangs up at every third value or so of 8 MiB: left out")
        left_out += ["longest value"]
    if not libuv:
        print(f"torch's classic client has no {', '.join(CLASSIC_HAS_NO)}, and its server no limits: left out")
        left_out += LIMITS + [name for method in CLASSIC_HAS_NO for name in METHODS[method]]
    return left_out


def main():
    libuv = "--classic" not in sys.argv[1:2]
    command = sys.argv[1:] if libuv else sys.argv[2:]
    if not command:
        sys.exit(__doc__)
    left_out = left_out_of(libuv)
    torchs_server = dist.TCPStore("127.0.0.1", 0, None, True, LONG, wait_for_workers=False, use_libuv=libuv)
    rng = random.Random(SEED)
    with serving(*command) as port:
        theirs, ours = Clients(torchs_server.port, libuv), Clients(port, libuv)
        seen = {}
        for number in range(OPERATIONS):
            who = rng.randrange(CLIENTS)
            name, arguments, operation = random_operation(rng, number, left_out)
            expected, reply = theirs.reply(who, operation), ours.reply(who, operation)
            kind = expected if isinstance(expected, str) else "answered"
            seen[name, kind] = seen.get((name, kind), 0) + 1
            if expected != reply:
                print(f"operation {number} of client {who}: {name} {arguments!r:.300}")
                sys.exit(f"  torch's server: {expected!r:.200}\n  ours:           {reply!r:.200}")
    for (name, kind), count in sorted(seen.items()):
        print(f"{count:6} {name}: {kind}")
    print(f"torch {torch.__version__}, {'libuv' if libuv else 'classic'}: {OPERATIONS} operations of "
          f"{len({name for name, _ in seen})} kinds by {CLIENTS} clients (seed {SEED}): all replies agree")


if __name__ == "__main__":
    main()
