"""TensorBoard reads what MetricsLog writes, and after a resume sees each step once.

    tensorboard_test.py METRICS_WRITER
"""

import struct
import subprocess
import sys
import tempfile
import time

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    print("skipped: this Python has no tensorboard; run scripts/setup --tests")
    sys.exit(77)


def float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def main():
    writer = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.time()
        # It was killed after step 30, and goes on after the checkpoint of step 20.
        subprocess.run([writer, folder, "1", "30", "8"], check=True, timeout=60)
        subprocess.run([writer, folder, "21", "300", "16"], check=True, timeout=60)
        seen = EventAccumulator(folder, size_guidance={"scalars": 0}).Reload()
    assert sorted(seen.Tags()["scalars"]) == ["loss", "rate/lr"], seen.Tags()
    losses, rates = seen.Scalars("loss"), seen.Scalars("rate/lr")
    assert [one.step for one in losses] == list(range(1, 301)), [one.step for one in losses]
    assert [one.value for one in losses] == [
        float32((8 if step <= 20 else 16) / step) for step in range(1, 301)]
    assert [one.value for one in rates] == [float32(1e-3 * step) for step in range(1, 301)]
    assert all(begun <= one.wall_time <= time.time() for one in losses)


if __name__ == "__main__":
    main()
