"""What the workers of an elastic loop have written down, for tests in Python and C++."""

import json
import tempfile
import unittest
from pathlib import Path

import forked_workers  # noqa: F401  which puts the module's folder into the path

from ddprun import _batches

SAMPLES = 50


class Records(unittest.TestCase):
    """What the workers have written into a folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def used(self, folder):
        """The samples of each step, of all workers; a step that was done again counts as it was last."""
        steps, last = {}, {}
        for file in folder.glob("used.*"):
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            last[file.name] = dict(lines)
        for of_worker in last.values():
            for step, indices in of_worker.items():
                steps.setdefault(step, []).extend(indices)
        return [sorted(steps[step]) for step in sorted(steps)]

    def assert_stream(self, steps, seed=7):
        """Each step has used exactly the next samples of the shuffled epochs, one behind the other."""
        stream = []
        for epoch in range(sum(map(len, steps)) // SAMPLES + 1):
            stream += _batches.shuffled(SAMPLES, seed, epoch).tolist()
        begin = 0
        for step in steps:
            self.assertEqual(step, sorted(stream[begin : begin + len(step)]))
            begin += len(step)
