"""Workers that stay when one of them is killed, over NCCL: what they end with, and how long a change takes."""

import json
import re
import tempfile
from pathlib import Path

from .pack import ELASTIC_LOOP
from .runs import expect

HERE = Path(__file__).resolve().parent
# A folder of --pack has the same places.
PYTHON_LOOP = next(path for path in (HERE.parent / ELASTIC_LOOP, HERE.parent.parent / ELASTIC_LOOP) if path.exists())

WORKERS = 3
DEATHS = [[1, 9], [0, 13], [2, 17]]
COMPARE = """
import json, struct, sys, torch
def tensors(path):
    if path.endswith(".pt"):
        return torch.load(path, map_location="cpu")["model"]
    content = open(path, "rb").read()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: torch.frombuffer(bytearray(content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]),
                                   dtype=torch.float32)
            for name, entry in json.loads(content[8:begin]).items()
            if name.startswith("model/") and entry["dtype"] == "F32"}
one, other = (tensors(path) for path in sys.argv[1:])
assert one.keys() == other.keys()
# Running means are each rank's own until those of rank 0 come with the next forward pass.
print(max((one[name].double() - other[name].double()).abs().max().item() for name in one if "running" not in name))
"""


class Loop:
    """The elastic loop in one language."""

    def __init__(self, runs, language):
        self.runs, self.language = runs, language
        self.ending = "end.0.pt" if language == "Python" else "end.0.safetensors"

    def program(self, folder, options):
        told = [folder, json.dumps({"device": "cuda:0" if self.runs.on_gpu else "cpu", **options})]
        if self.language == "Python":
            return [*self.runs.python_on_one_gpu(PYTHON_LOOP), *told]
        return self.runs.on_one_gpu("elastic_worker", *told)

    def train(self, what, folder, judge, *options, **loop):
        folder.mkdir()
        return self.runs.run(f"{what}, {self.language}", ["--nproc-per-node", WORKERS, *options],
                             self.program(folder, loop), judge)

    def processes(self, folder, rank):
        """The process ids that a rank has had in its worlds."""
        return [json.loads(line)[0] for line in (folder / f"open.{rank}").read_text().splitlines()]

    def difference(self, one, other):
        """The greatest one between the weights that two trainings have ended with."""
        done = self.runs.output_of([self.runs.python, "-c", COMPARE, one / self.ending, other / self.ending])
        return float(done)


def loop(runs, language):
    deaths = DEATHS
    this = Loop(runs, language)
    with tempfile.TemporaryDirectory() as folder:
        undisturbed, disturbed = Path(folder) / "undisturbed", Path(folder) / "disturbed"
        if not this.train("elastic loop, undisturbed", undisturbed, lambda out, err: {})["passed"]:
            return

        def judge(out, err):
            seen = [this.processes(disturbed, rank) for rank in range(WORKERS)]
            expect([len(pids) for pids in seen] == [1 + len(deaths)] * WORKERS, f"worlds of each rank: {seen}\n{err}")
            expect([len(set(pids)) for pids in seen] == [2] * WORKERS, f"processes of each rank: {seen}\n{err}")
            difference = this.difference(undisturbed, disturbed)
            expect(difference < 1e-3, f"weights differ by {difference}")
            changes = re.findall(r"round \d+ . \d+ in place.*", err) or re.findall(r".*in place.*", err)
            return {"difference": difference, "changes": changes}
        this.train(f"elastic loop, {len(deaths)} of {WORKERS} workers killed", disturbed, judge,
                   "--max-restarts", len(deaths), dies=deaths, where="before backward")


def elastic(runs, workers):
    for language in ("C++", "Python"):
        loop(runs, language)
