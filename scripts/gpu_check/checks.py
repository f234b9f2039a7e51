"""What gpu-check runs. Each function is one subject; all are run in the order of ALL."""

import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from .elastic import elastic
from .runs import LIMIT_S, expect, last_json
from .transformer import transformer

HERE = Path(__file__).resolve().parent
WORKER = HERE / "worker.py"
# In a folder of --pack it lies beside gpu-check.
STEPS = next(path for path in (HERE.parent / "ddp_steps.py",
                               HERE.parent.parent / "tests" / "worker_sdk" / "ddp_steps.py")
             if path.exists())
GAVE_UP_HANG = 86  # ddprun's exit code for a job that it has ended because it hung


def lines(output):
    """The JSON lines of workers, by rank and attempt."""
    told = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return sorted(told, key=lambda line: (line["attempt"], line["rank"]))


# --- the SDK's tests ---


def tests_on_devices(runs, workers):
    runs.run(f"tests on the device, {workers} workers", ["--nproc-per-node", workers],
             runs.program("sdk_device_tests"))


def collectives(runs, workers):
    """The collectives with one GPU for each rank, and with 2 and 4 ranks on one GPU."""
    if runs.gpus > 1:
        runs.run(f"collectives, {workers} workers", ["--nproc-per-node", workers],
                 runs.program("sdk_collective_tests"))
    where = "one GPU" if runs.on_gpu else "the CPU"
    for ranks in (2, 4):
        for program in ("sdk_collective_tests", "sdk_device_tests"):
            runs.run(f"{program}, {ranks} ranks on {where}", ["--nproc-per-node", ranks],
                     runs.on_one_gpu(program))


# --- training ---


def digits(runs, workers):
    """The demo's training, in one go and in two: the second begins with the checkpoint of the first."""
    data = runs.about["digits"]
    if not data:
        return runs.leave_out("the demo's training", "there is no digits.csv.gz, which scikit-learn has")
    def accuracy(out, err):
        percent = float(out.split("final test accuracy ")[1].split()[0])
        expect(percent >= 95, f"test accuracy {percent} %, expected 95 % or more")
        return {"accuracy_percent": percent}
    backend = [] if runs.on_gpu else ["--backend", "gloo"]
    def train(what, folder, epochs, state):
        return runs.run(what, ["--nproc-per-node", workers], [
            *runs.program("train_digits"), "--data", data, "--checkpoint-dir", folder,
            *backend, "--epochs", epochs, "--final-state", state],
            accuracy if epochs == 30 else lambda out, err: {})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        train(f"the demo's training, {workers} workers", place / "whole", 30,
              place / "whole.safetensors")
        train("checkpoints: the first five epochs", place / "parts", 5, place / "five.safetensors")
        train("checkpoints: the other 25", place / "parts", 30, place / "parts.safetensors")
        what = "checkpoints: interrupted and whole training end alike"
        try:
            same = (place / "whole.safetensors").read_bytes() == (place / "parts.safetensors").read_bytes()
            # Kernels on GPUs may add in another order from run to run.
            runs.note(what, same or runs.on_gpu, said="to the bit" if same else "not to the bit")
        except OSError as error:
            runs.note(what, False, error=str(error))


def same_losses(runs, workers, options, tolerance, share_gpu=False):
    """The same steps in C++ and in Python: losses and times. With `share_gpu`, all on the first GPU."""
    what = f"DDP steps, {workers} workers{' on one GPU' if share_gpu else ''}, {' '.join(options)}"
    def figures(out, err):
        told = last_json(out)
        return {"step_ms": round(statistics.median(told["step_ms"]), 4),
                **{key: told[key] for key in ("losses", "device", "backend")}}
    steps = ["--steps", "60", "--warm-up", "20", *options]
    size = ["--nproc-per-node", workers]
    programs = ((runs.on_one_gpu("ddp_steps"), runs.python_on_one_gpu(STEPS)) if share_gpu
                else (runs.program("ddp_steps"), [STEPS]))
    ours, theirs = (runs.run(f"{what}: {language}", size, [*program, *steps], figures)
                    for language, program in zip(("C++", "Python"), programs))
    if not (ours["passed"] and theirs["passed"]):
        return
    worst = max(abs(a - b) for a, b in zip(ours["losses"], theirs["losses"]))
    runs.note(f"{what}: losses agree", worst <= tolerance and ours["device"] == theirs["device"],
              difference=float(f"{worst:.2g}"), allowed=tolerance,
              step_ratio=round(ours["step_ms"] / theirs["step_ms"], 3))


def losses(runs, workers):
    backend = ["--backend", runs.backend]
    for model in ("small", "medium", "large") if runs.on_gpu else ("small", "medium"):
        same_losses(runs, workers, [*backend, "--model", model], 1e-4)
    same_losses(runs, workers, [*backend, "--model", "small", "--optimizer", "adam"], 1e-4)
    for dtype in ("bfloat16", "float16"):
        same_losses(runs, workers, [*backend, "--model", "medium", "--autocast", dtype], 1e-2)
    # What ranks add up differs from what each has: with one GPU, two of them share it.
    for hook, tolerance in ((["--hook", "fp16"], 1e-3), (["--hook", "bf16"], 1e-3),
                            (["--hook", "powersgd"], 1e-4),
                            (["--hook", "powersgd", "--power-sgd-rank", "4"], 1e-4)):
        same_losses(runs, 2, [*backend, "--model", "small", *hook], tolerance, share_gpu=runs.on_gpu)
    # Gloo carries what is on a GPU, too, and lets ranks share one.
    device = "cuda:0" if runs.on_gpu else "cpu"
    same_losses(runs, 2, ["--backend", "gloo", "--device", device, "--model", "small"], 1e-4)


# --- failures ---


def blames(rank, **wanted):
    def judge(report, output):
        cause = report["cause"]
        expect(cause["ranks"] == [rank], f"rank {rank} is not named: {cause}")
        for key, value in wanted.items():
            expect(cause.get(key) == value, f"{key} is not {value}: {cause}")
        return {"said": cause["sentence"]}
    return judge


def failures(runs, workers):
    """An exception, a killed rank and a crash, while the other rank waits in a collective."""
    ways = (("run_worker", 1, {}), ("run_worker", 0, {}), ("caught", 1, {}), ("uncaught", 134, {}),
            ("kill", 137, {"signal": "SIGKILL"}), ("segv", 139, {"signal": "SIGSEGV"}))
    with tempfile.TemporaryDirectory() as folder:
        for number, (how, code, wanted) in enumerate(ways):
            rank = 0 if number == 1 else 1
            runs.run_and_report(
                f"failure '{how}' of rank {rank} in a collective",
                ["--nproc-per-node", 2, "--shutdown-timeout", 10],
                runs.on_one_gpu("failing_worker", how, rank, Path(folder) / "moment"),
                blames(rank, **wanted), 1 if number == 1 else code)


def hang(runs, workers):
    """A rank that does not reach a collective. Two ranks; what the diagnosis says is kept."""
    def judge(report, output):
        missing = f"rank 1 has not reached {runs.backend}:all_reduce"
        expect(missing in output, f"it does not say that {missing}: {output[-2000:]}")
        return {"said": missing, "diagnosis": output[-4000:]}
    runs.run_and_report("a hung rank is named",
                        ["--nproc-per-node", 2, "--hang-timeout", 5, "--on-hang", "stop",
                         "--shutdown-timeout", 10],
                        runs.on_one_gpu("hang_worker"), judge, GAVE_UP_HANG)


# --- the launcher ---


def warm(runs, workers):
    """Workers that are forked from a process which has imported torch use GPUs, also after a restart."""
    def judge(out, err):
        told = lines(out)
        expect(len(told) == 2 * workers, f"expected {2 * workers} lines: {out}")
        for line in told:
            expect(not line["begun_before"], f"CUDA had begun before the worker: {line}")
            expect(line["sum"] == 1000, f"a wrong sum: {line}")
            expect(line["device"].startswith("cuda") == runs.on_gpu, f"another device: {line}")
        return {}
    runs.run(f"warm workers with a restart, {workers} workers",
             ["--nproc-per-node", workers, "--warm=torch", "--max-restarts", 1],
             [WORKER, "cuda", "fail-once"], judge)


def count_of_gpus(runs, workers):
    """--nproc-per-node gpu is torch's number of devices; without a GPU it is refused."""
    if runs.on_gpu:
        def judge(out, err):
            told = lines(out)
            expect(len(told) == runs.gpus, f"{len(told)} workers for {runs.gpus} GPUs")
            return {"said": f"{runs.gpus} workers"}
        return runs.run("--nproc-per-node gpu", ["--nproc-per-node", "gpu"], [WORKER, "place"], judge)
    return runs.run("--nproc-per-node auto", ["--nproc-per-node", "auto"], [WORKER, "place"],
                    lambda out, err: {"said": f"{len(lines(out))} workers"})


def numbers(cpus):
    """[0, 1, 2, 8] of "0-2,8"."""
    parts = [part.split("-") for part in cpus.split(",") if part]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


def topo(runs, *options):
    done = subprocess.run([runs.programs / "ddprun", "topo", *map(str, options)], text=True,
                          capture_output=True, timeout=LIMIT_S, env=runs.environment)
    expect(done.returncode == 0, f"ddprun topo: {done.stderr}")
    return done.stdout


def numa(runs, workers):
    """Workers run on the CPUs that ddprun topo has foretold."""
    for kind in ("node", "exclusive"):
        count = workers if kind == "node" else 1
        def judge(out, err):
            told = json.loads(topo(runs, "--json", "--nproc-per-node", count, "--numa-binding", kind))
            foretold = [numbers(worker["cpus"]) for worker in told["workers"]]
            seen = [line["cpus"] for line in lines(out)]
            expect(seen == foretold, f"workers are on {seen}, ddprun topo said {foretold}")
            return {"said": "; ".join(f"{worker['gpu'] or 'no GPU'}: CPUs {worker['cpus']}"
                                      for worker in told["workers"])}
        runs.run(f"--numa-binding {kind}, {count} workers",
                 ["--nproc-per-node", count, "--numa-binding", kind], [WORKER, "place"], judge)


def words_between_gpus(text):
    """{("GPU0", "GPU1"): "NV18"} of what nvidia-smi topo -m prints; its heads may be underlined."""
    rows = [line.replace("\x1b[4m", "").replace("\x1b[0m", "").split("\t")
            for line in text.splitlines() if "GPU0" in line or line.startswith("GPU")]
    rows = [[cell.strip() for cell in row] for row in rows]
    if not rows:
        return {}
    names = [name for name in rows[0] if name.startswith("GPU") and name[3:].isdigit()]
    return {(row[0], name): row[1 + place]
            for row in rows[1:] for place, name in enumerate(names)}


def topology(runs, workers):
    """ddprun topo beside nvidia-smi topo -m: both are kept, and the words between GPUs compared."""
    try:
        text = topo(runs, "--nproc-per-node", workers)
        matrix = json.loads(topo(runs, "--json"))["matrix"]
    except (ValueError, subprocess.TimeoutExpired) as error:
        return runs.note("ddprun topo", False, error=str(error))
    runs.note("ddprun topo", True, drawing=text)
    if not (runs.on_gpu and shutil.which("nvidia-smi")):
        return runs.leave_out("ddprun topo beside nvidia-smi", "there is no GPU, or no nvidia-smi")
    theirs = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True,
                            timeout=LIMIT_S).stdout
    words = words_between_gpus(theirs)
    if not words:
        return runs.leave_out("ddprun topo beside nvidia-smi", f"nvidia-smi topo -m tells nothing: {theirs}")
    differ = {f"{a} to {b}": [matrix.get(a, {}).get(b), word] for (a, b), word in words.items()
              if matrix.get(a, {}).get(b) != word}
    return runs.note("ddprun topo beside nvidia-smi", not differ, error=differ, nvidia_smi=theirs)


# First what tells most, should time be short: the report is written after each.
ALL = (elastic, topology, count_of_gpus, numa, tests_on_devices, failures, hang, warm, transformer, collectives,
       losses, digits)
