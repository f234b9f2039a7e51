"""The manifests in docs/examples as the test sees them: their documents, and the mistakes in these.

Kubernetes' own schemas come from kubernetes-validate, those of JobSet and Kubeflow Trainer from
kubeflow-trainer-api, which the Kubeflow project publishes on PyPI."""

import re

import kubernetes_validate
import pydantic
import yaml
from kubeflow_trainer_api import models

from markdown import PROJECT

EXAMPLES = PROJECT / "docs" / "examples"
MODELS = {"jobset.x-k8s.io/v1alpha2 JobSet": models.JobsetV1alpha2JobSet,
          "trainer.kubeflow.org/v1alpha1 TrainingRuntime": models.TrainerV1alpha1TrainingRuntime,
          "trainer.kubeflow.org/v1alpha1 TrainJob": models.TrainerV1alpha1TrainJob}
# What the page says about a code, and what a cluster has to do with a pod that ends with it.
IGNORED = {"the scheduler announced the end"}
HOPELESS = {"the command line is invalid", "the program cannot be executed"}
FAILED_BY_POLICY = "PodFailurePolicy"  # the reason of a Job that a FailJob has ended


def documents(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def jobs(document):
    """The Jobs that a document describes, as documents of their own."""
    if document["kind"] == "Job":
        return [document]
    spec = document["spec"]
    for name in ("template", "spec") if document["kind"] == "TrainingRuntime" else ():
        spec = spec[name]
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": each["name"]},
             "spec": each["template"]["spec"]} for each in spec.get("replicatedJobs", ())]


def schema_mistakes(document):
    """What the published schemas say against a document and the Jobs in it."""
    model = MODELS.get(f"{document['apiVersion']} {document['kind']}")
    try:
        if not model:
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
            return []
        found = list(lost(document, model.from_dict(document).to_dict()))
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as wrong:
        return [wrong.message]
    except pydantic.ValidationError as wrong:
        return [str(wrong)]
    return found or [mistake for job in jobs(document) for mistake in schema_mistakes(job)]


def lost(ours, theirs, where=""):
    """The fields that a model has left out or changed: it drops those that it does not know, without a word."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            yield from lost(value, theirs.get(name), f"{where}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs)):
            yield from lost(*pair, f"{where}[{number}]")
    elif ours != theirs:
        yield f"{where}: {ours!r} has become {theirs!r}"


def exit_codes():
    """The table of the page: each code with its meaning."""
    page = (PROJECT / "docs" / "report.md").read_text()
    rows = re.findall(r"^\| ([\d, ]+) \| (.*) \|$", page.split("## Exit codes")[1].split("\n## ")[0], re.MULTILINE)
    return {int(code): meaning for codes, meaning in rows for code in codes.split(",")}


def codes_that_mean(beginnings):
    return sorted(code for code, meaning in exit_codes().items() if meaning.startswith(tuple(beginnings)))


def policy_mistakes(job):
    """What Kubernetes, or the page with the exit codes, says against the rules for pods that fail."""
    pod = job["spec"]["template"]["spec"]
    rules = job["spec"]["podFailurePolicy"]["rules"]
    if pod["restartPolicy"] != "Never":
        yield "a podFailurePolicy needs the restartPolicy Never"
    codes = {}
    for rule in rules:
        if rule["action"] not in words_about(models.IoK8sApiBatchV1PodFailurePolicyRule, "action"):
            yield f"there is no action {rule['action']}"
        if len(rule.keys() & {"onExitCodes", "onPodConditions"}) != 1:
            yield "a rule looks either at exit codes or at conditions"
        if on := rule.get("onExitCodes"):
            codes[rule["action"]] = on["values"]
            if on["containerName"] not in [each["name"] for each in pod["containers"]]:
                yield f"there is no container {on['containerName']}"
            if on["operator"] != "In" or on["values"] != sorted({*on["values"]} - {0}):
                yield f"{on['values']}: expected In, and codes but 0 in their order"
    if codes != {"Ignore": codes_that_mean(IGNORED), "FailJob": codes_that_mean(HOPELESS)}:
        yield f"{codes} are not those of the page"
    if rules[0] != {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}:
        yield "the code of an evicted pod says nothing: its condition comes first"


def set_policy_mistakes(spec):
    """The same for the rules of a JobSet, which decide after those of its Jobs."""
    rule, = spec["failurePolicy"]["rules"]
    if rule["action"] not in words_about(models.JobsetV1alpha2FailurePolicyRule, "action"):
        yield f"there is no action {rule['action']}"
    if (rule["action"], rule["onJobFailureReasons"]) != ("FailJobSet", [FAILED_BY_POLICY]):
        yield "a Job that a FailJob has ended would be restarted"
    if not re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", rule["name"]):
        yield f"{rule['name']} is no name of a rule"


def words_about(model, field):
    """The schemas list the values of such a field only in its description."""
    return re.findall(r"\w+", model.model_fields[field].description)
