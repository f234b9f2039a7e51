"""What the workers of an elastic loop have written down, for tests in Python and C++."""

import json
import tempfile
import unittest
from pathlib import Path

import forked_workers  # noqa: F401  which puts the module's folder into the path

from ddprun import _batches

SAMPLES = 50


def used_in(folder):
    """The samples of each step, of all workers; a step that was done again counts as it was last."""
    steps = {}
    for file in folder.glob("used.*"):
        last = dict(json.loads(line) for line in file.read_text().splitlines())
        for step, indices in last.items():
            steps.setdefault(step, []).extend(indices)
    return steps


def stream_of(count, seed=7):
    """The samples of the shuffled epochs, one behind the other; at least that many."""
    epochs = range(count // SAMPLES + 1)
    return [index for epoch in epochs for index in _batches.shuffled(SAMPLES, seed, epoch).tolist()]


def state_in(file):
    """The bytes of each tensor of a safetensors file, and its texts."""
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    texts = header.pop("__metadata__")
    return {name: content[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
            for name, entry in header.items()}, texts


class Records(unittest.TestCase):
    """What the workers have written into a folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def used(self, folder):
        """The samples of each step, in the order of the steps."""
        steps = used_in(folder)
        return [sorted(steps[step]) for step in sorted(steps)]

    def assert_stream(self, steps, seed=7):
        """Each step has used exactly the next samples of the shuffled epochs, one behind the other."""
        stream = stream_of(sum(map(len, steps)), seed)
        begin = 0
        for step in steps:
            self.assertEqual(step, sorted(stream[begin : begin + len(step)]))
            begin += len(step)
