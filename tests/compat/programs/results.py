"""What the programs here print for the test to compare."""

import sys


def result(line):
    """The ranks may share one stdout, so a line and its end are written at once."""
    sys.stdout.write(f"RESULT {line}\n")
    sys.stdout.flush()


def checksum(tensors):
    """Tells sets of tensors apart, also those with the same values in another order."""
    total = 0.0
    for tensor in tensors:
        values = tensor.detach().double().flatten()
        total = 0.5 * total + sum((i % 7 + 1) * v for i, v in enumerate(values.tolist()))
    return f"{total:.6f}"
