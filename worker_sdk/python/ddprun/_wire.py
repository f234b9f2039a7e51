"""Messages between the process that starts a job from Python and the workers that it starts.

Both know a key, which the workers have from their environment. Every message is signed with it, so that
nothing is unpickled that somebody else has written: pickle runs whatever it is given. Messages are not
encrypted.

On the wire, one side after it has accepted a connection: 16 random bytes. Then each message of either
side: its length (8 bytes, the first one the highest), its signature (32 bytes) and its bytes. The
signature is HMAC-SHA256, by RFC 2104, of the random bytes, the side's letter, the message's number on this
side (8 bytes, from 0) and the message.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from typing import Optional

NONCE_BYTES = 16
SIGNATURE_BYTES = hashlib.sha256().digest_size
MESSAGE_BYTES_MAX = 1 << 32
_LENGTH = struct.Struct(">Q")


KEEP_ALIVE_SECONDS = 60  # a firewall may forget a connection on which nothing goes for long


def keep_alive(connection: socket.socket) -> None:
    """Shows that the other side is there, also where it has nothing to say for hours."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEP_ALIVE_SECONDS)


class WireError(RuntimeError):
    """The other side has written something that it should not have."""


class Wire:
    """One side of a connection. One thread may send while another one receives."""

    def __init__(self, connection: socket.socket, key: bytes, nonce: bytes, side: bytes) -> None:
        self._connection = connection
        self._key = key
        self._nonce = nonce
        self._side = side  # b"s" of the starting process, b"w" of a worker
        self._sent = 0
        self._received = 0

    @classmethod
    def accept(cls, connection: socket.socket, key: bytes) -> Wire:
        """The side of the process that has started the job."""
        nonce = os.urandom(NONCE_BYTES)
        connection.sendall(nonce)
        return cls(connection, key, nonce, b"s")

    @classmethod
    def connect(cls, connection: socket.socket, key: bytes) -> Wire:
        """The side of a worker. Raises WireError if the other side does not answer."""
        wire = cls(connection, key, b"", b"w")
        nonce = wire._read(NONCE_BYTES)
        if nonce is None:
            raise WireError("the process that has started this job has closed the connection")
        wire._nonce = nonce
        return wire

    def send(self, message: bytes) -> None:
        """Raises ValueError for a message that is too long."""
        if len(message) > MESSAGE_BYTES_MAX:
            raise ValueError(f"{len(message)} bytes are too many to send: at most {MESSAGE_BYTES_MAX}")
        signature = self._signature(self._side, self._sent, message)
        self._sent += 1
        self._connection.sendall(_LENGTH.pack(len(message)) + signature)
        self._connection.sendall(message)

    def receive(self, bytes_max: int = MESSAGE_BYTES_MAX) -> Optional[bytes]:
        """The next message; None where the other side has closed the connection. Raises WireError."""
        head = self._read(_LENGTH.size + SIGNATURE_BYTES)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head[: _LENGTH.size])
        if length > bytes_max:
            raise WireError(f"a message of {length} bytes is too long: at most {bytes_max} were expected")
        message = self._read(length)
        if message is None:
            raise WireError("the connection has ended within a message")
        other = b"w" if self._side == b"s" else b"s"
        if not hmac.compare_digest(head[_LENGTH.size :], self._signature(other, self._received, message)):
            raise WireError("a message was not signed with the key of this job")
        self._received += 1
        return message

    def close(self) -> None:
        self._connection.close()

    def _signature(self, side: bytes, number: int, message: bytes) -> bytes:
        signer = hmac.new(self._key, self._nonce + side + _LENGTH.pack(number), hashlib.sha256)
        signer.update(message)
        return signer.digest()

    def _read(self, size: int) -> Optional[bytes]:
        """That many bytes; None if the connection has ended before the first of them."""
        read = bytearray()
        while len(read) < size:
            chunk = self._connection.recv(min(size - len(read), 1 << 20))
            if not chunk:
                if not read:
                    return None
                raise WireError("the connection has ended within a message")
            read += chunk
        return bytes(read)
