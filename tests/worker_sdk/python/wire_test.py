#!/usr/bin/env python3
"""Messages between a job that was started from Python and its workers: wire_test.py [unittest's arguments]"""

import random
import socket
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "worker_sdk" / "python"))

from ddprun import _wire  # noqa: E402
from ddprun._wire import Wire, WireError  # noqa: E402

KEY = bytes(range(32))


def sides(worker_key=KEY):
    """Both sides of one connection."""
    a, b = socket.socketpair()
    return Wire.accept(a, KEY), Wire.connect(b, worker_key)


def recorded(*messages):
    """The bytes that a worker sends for these messages, and the nonce that they were signed for."""
    a, b = socket.socketpair()
    Wire.accept(a, KEY)
    wire = Wire.connect(b, KEY)
    for message in messages:
        wire.send(message)
    b.shutdown(socket.SHUT_WR)
    sent = b"".join(iter(lambda: a.recv(1 << 16), b""))
    return sent, wire._nonce


def hears(data, nonce, bytes_max=1000):
    """What the starting process makes of these bytes, until the end."""
    a, b = socket.socketpair()
    wire = Wire(a, KEY, nonce, b"s")
    b.sendall(data)
    b.close()
    return list(iter(lambda: wire.receive(bytes_max), None))


class WireTest(unittest.TestCase):
    def test_messages_of_both_sides_arrive_in_order(self):
        starter, worker = sides()
        worker.send(b"hello")
        self.assertEqual(starter.receive(), b"hello")
        starter.send(b"")
        starter.send(b"call")
        self.assertEqual([worker.receive(), worker.receive()], [b"", b"call"])
        starter.close()
        self.assertIsNone(worker.receive())

    def test_a_large_message_arrives(self):
        starter, worker = sides()
        large = random.Random(1).randbytes(5_000_000)
        sending = threading.Thread(target=worker.send, args=(large,))
        sending.start()
        self.assertEqual(starter.receive(), large)
        sending.join()

    def test_what_was_signed_with_another_key_is_refused(self):
        starter, worker = sides(worker_key=b"another")
        worker.send(b"hello")
        with self.assertRaisesRegex(WireError, "not signed with the key"):
            starter.receive()

    def test_each_byte_that_is_changed_on_the_way_is_noticed(self):
        sent, nonce = recorded(b"hello")
        self.assertEqual(hears(sent, nonce), [b"hello"])
        for place in range(len(sent)):
            changed = bytearray(sent)
            changed[place] ^= 1
            with self.subTest(place=place), self.assertRaises(WireError):
                hears(bytes(changed), nonce)

    def test_a_message_that_is_cut_is_no_message(self):
        sent, nonce = recorded(b"hello")
        for size in range(1, len(sent)):
            with self.subTest(size=size), self.assertRaisesRegex(WireError, "ended within a message"):
                hears(sent[:size], nonce)

    def test_messages_cannot_be_repeated_exchanged_or_taken_from_another_connection(self):
        first, nonce = recorded(b"one")
        both, _ = recorded(b"one", b"two")
        with self.assertRaises(WireError):
            hears(first + first, nonce)
        with self.assertRaises(WireError):
            hears(both, nonce)

    def test_what_this_side_has_sent_does_not_come_back_as_the_others(self):
        a, b = socket.socketpair()
        starter = Wire.accept(a, KEY)
        nonce = b.recv(_wire.NONCE_BYTES)
        starter.send(b"call")
        with self.assertRaises(WireError):
            hears(b.recv(1000), nonce)

    def test_the_length_is_believed_up_to_the_limit_only(self):
        sent, nonce = recorded(b"hello")
        with self.assertRaisesRegex(WireError, "5 bytes is too long: at most 4"):
            hears(sent, nonce, bytes_max=4)

    def test_bytes_of_anybody_are_refused(self):
        chance = random.Random(7)
        for _ in range(300):
            data = chance.randbytes(chance.randint(1, 200))
            with self.assertRaises(WireError):
                hears(data, bytes(_wire.NONCE_BYTES), bytes_max=1 << 63)


if __name__ == "__main__":
    unittest.main()
