"""The GPT of the examples beside its Python twin: losses, time of a step, and the share of the GPU's peak."""

import array
import json
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from .runs import expect

HERE = Path(__file__).resolve().parent
# In a folder of --pack it lies beside gpu-check.
TWIN = next(path for path in (HERE.parent / "gpt.py",
                              HERE.parent.parent / "worker_sdk" / "examples" / "gpt.py")
            if path.exists())
PAIRS = 2  # C++ and Python in turn
STEPS, LOG_EVERY = 60, 10
VOCABULARY = 50304

# GPT-2 124M, as nanoGPT trains it; and something that a CPU does in seconds.
ON_GPU = ["--token-bytes", 2, "--vocab-size", VOCABULARY, "--layers", 12, "--heads", 12, "--width", 768,
          "--context", 1024, "--batch-size", 12]
ON_CPU = ["--token-bytes", 2, "--vocab-size", 512, "--layers", 2, "--heads", 4, "--width", 64,
          "--context", 64, "--batch-size", 4, "--accumulate", 2]

# Dense bfloat16 in 10^12 operations a second, by the names that PyTorch gives GPUs, from NVIDIA's data
# sheets. The first that fits counts.
PEAK_TFLOPS = (("H100 PCIe", 756), ("H100 NVL", 835), ("H100", 989), ("H200", 989), ("GH200", 989),
               ("B200", 2250), ("A100", 312), ("A800", 312), ("L40S", 362), ("L40", 181), ("L4", 121),
               ("A10G", 70), ("A10", 125), ("A30", 165), ("A40", 150), ("RTX 4090", 165), ("RTX 3090", 71))


def peak_of(name):
    """Of a GPU; None where it is not known."""
    return next((tflops for part, tflops in PEAK_TFLOPS if part in name), None)


def write_tokens(path, count, vocabulary):
    """Tokens of which the next one can be guessed now and then, so that there is something to learn."""
    dice = random.Random(5)
    tokens = array.array("H", [0])
    while len(tokens) < count:
        tokens.append((tokens[-1] + 1) % vocabulary if dice.random() < 0.5
                      else dice.randrange(vocabulary))
    path.write_bytes(tokens.tobytes())


def figures_of(metrics, tokens_per_step):
    """Of the lines behind the first one, which is about the warm-up, too."""
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    expect(len(lines) == STEPS // LOG_EVERY, f"{len(lines)} lines of metrics: {lines}")
    figures = {"losses": [line["loss"] for line in lines],
               "step_ms_all": [1000 * tokens_per_step / line["tokens_per_second"] for line in lines[1:]]}
    if "tflops_per_device" in lines[-1]:
        figures["tflops_all"] = [line["tflops_per_device"] for line in lines[1:]]
    return figures


class Pair:
    """One training, by the program and by its twin."""

    def __init__(self, runs, workers, options, folder):
        self.runs, self.workers, self.options, self.folder = runs, workers, options, folder
        size = dict(zip(options[::2], options[1::2]))
        self.tokens_per_step = (workers * size["--context"] * size["--batch-size"]
                                * size.get("--accumulate", 1))
        # As many as the training needs, and so few that the steps go through some of them again.
        write_tokens(folder / "tokens", self.tokens_per_step * STEPS // 2, size["--vocab-size"])

    def train(self, what, program, *precision):
        metrics = self.folder / "metrics.jsonl"
        metrics.unlink(missing_ok=True)
        # Both ask for a GPU themselves.
        hidden = {} if self.runs.on_gpu else {"CUDA_VISIBLE_DEVICES": ""}
        return self.runs.run(
            what, ["--nproc-per-node", self.workers],
            [*program, "--data", self.folder / "tokens", "--metrics", metrics, "--steps", STEPS,
             "--log-every", LOG_EVERY, "--warm-up", 20, *self.options, *precision],
            lambda out, err: figures_of(metrics, self.tokens_per_step), **hidden)

    def compare(self, what, tolerance, *precision):
        programs = {"C++": self.runs.program("gpt"), "Python": [TWIN]}
        seen = {name: [] for name in programs}
        for number in range(1, PAIRS + 1):
            for name, program in programs.items():
                seen[name].append(self.train(f"{what}: {name}, run {number}", program, *precision))
        if not all(run["passed"] for of_one in seen.values() for run in of_one):
            return
        worst = max(abs(a - b) for ours in seen["C++"] for theirs in seen["Python"]
                    for a, b in zip(ours["losses"], theirs["losses"]))
        ours, theirs = (statistics.median(ms for run in seen[name] for ms in run["step_ms_all"])
                        for name in programs)
        self.runs.note(f"{what}: beside Python's DDP", worst <= tolerance,
                       difference=float(f"{worst:.2g}"), allowed=tolerance, step_ms=round(ours, 3),
                       python_step_ms=round(theirs, 3), step_ratio=round(ours / theirs, 3),
                       tokens_per_second=round(1000 * self.tokens_per_step / ours),
                       **self.share_of_peak(seen["C++"]))

    def share_of_peak(self, runs):
        tflops = statistics.median(one for run in runs for one in run["tflops_all"])
        facts = {"tflops_per_device": round(tflops, 3)}
        peak = peak_of(self.runs.about["gpus"][0]) if self.runs.on_gpu else None
        if peak:
            facts |= {"peak_tflops": peak, "peak_percent": round(100 * tflops / peak, 1)}
        return facts


def transformer(runs, workers):
    """A GPT in C++ and in Python on the same tokens: losses, times, and how much of the GPU it uses."""
    if subprocess.run([runs.python, "-c", "import numpy"], capture_output=True).returncode != 0:
        return runs.leave_out("a GPT beside Python's DDP", "its Python program needs numpy, which is not there")
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(runs, workers, ON_GPU if runs.on_gpu else ON_CPU, Path(folder))
        # What the comparison leaves out.
        for options in (["--zero"], ["--checkpoint-activations", "--dropout", "0.1"]):
            pair.train(f"a GPT with {' '.join(options)}, {workers} workers", runs.program("gpt"),
                       "--bf16", *options)
        if runs.on_gpu:
            pair.compare(f"GPT-2 124M in bfloat16, {workers} workers", 5e-2, "--bf16")
        else:
            pair.compare(f"a small GPT, {workers} workers", 1e-4)
            pair.compare(f"a small GPT in bfloat16, {workers} workers", 1e-4, "--bf16")
