# Finds torch and what a script imports without importing any of it: a line of JSON, a part of a reading.
import ast, glob, importlib.util, json, os, re, sys


def find(name):
    try:
        return importlib.util.find_spec(name)
    except Exception:
        return None


def torch_facts():
    spec = find("torch")
    if not spec or not spec.origin:
        return {}
    folder = os.path.dirname(spec.origin)
    with open(os.path.join(folder, "version.py")) as file:
        found = dict(re.findall(r"^(__version__|cuda)\b[^=\n]*= *'([^'\n]*)'", file.read(), re.M))
    facts = {"torch": found.get("__version__", "of an unknown version"), "cuda": found.get("cuda", "")}
    packages = glob.glob(os.path.join(os.path.dirname(folder), "nvidia_nccl_*.dist-info"))
    if packages:
        facts["nccl"] = os.path.basename(packages[0])[:-len(".dist-info")].rpartition("-")[2]
    return facts


def imported(script):
    # An import within `try` or `if` may be missing on purpose, so only those that always happen count.
    with open(script, "rb") as file:
        body = ast.parse(file.read()).body
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            yield statement.module.partition(".")[0]


def missing(script):
    try:
        return [name for name in dict.fromkeys(imported(script)) if name not in sys.modules and not find(name)]
    except (OSError, SyntaxError, ValueError):
        return []


script = sys.argv[1] if len(sys.argv) > 1 else ""
if script:
    sys.path[0] = os.path.dirname(os.path.abspath(script))
else:
    del sys.path[0]
python = {"path": sys.executable, "version": sys.version.split()[0]}
try:
    python.update(torch_facts())
except OSError:
    pass
answer = {"python": python}
if script:
    answer["script"] = {"missing_modules": missing(script)}
print(json.dumps(answer))
