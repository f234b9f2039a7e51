#!/usr/bin/env python3
"""The manifests in docs/examples are what Kubernetes takes, and fit together: manifests_test.py DDPRUN

kubernetes-validate from PyPI brings the schemas of Kubernetes. JobSet's are not among them: its own
fields are checked against the lists below, and its Jobs as Jobs."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from markdown import PROJECT

SKIPPED = 77
EXAMPLES = PROJECT / "docs" / "examples"
# https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2/: fields, and the type of each.
JOBSET_SPEC = {"replicatedJobs": list, "network": dict, "successPolicy": dict, "failurePolicy": dict,
               "startupPolicy": dict, "suspend": bool, "coordinator": dict, "managedBy": str,
               "ttlSecondsAfterFinished": int}
REPLICATED_JOB = {"name": str, "groupName": str, "template": dict, "replicas": int, "dependsOn": list}
NETWORK = {"enableDNSHostnames": bool, "subdomain": str, "publishNotReadyAddresses": bool}
FAILURE_POLICY = {"maxRestarts": int, "restartStrategy": str, "rules": list}

try:
    import kubernetes_validate
    import yaml
except ImportError:
    other = Path(os.environ.get("DDPRUN_TORCH_ENV") or "/nonexistent") / "bin" / "python"
    if other.exists() and "MANIFESTS_TEST" not in os.environ:
        os.execve(other, [str(other), *sys.argv], os.environ | {"MANIFESTS_TEST": "again"})
    print("skipped: kubernetes-validate is not installed (scripts/setup-torch --tests installs it)")
    sys.exit(SKIPPED)


def documents(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def validate(document):
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


class ManifestsTest(unittest.TestCase):
    def has_fields(self, value, fields):
        for name, content in value.items():
            self.assertIn(name, fields)
            self.assertIsInstance(content, fields[name], name)

    def is_right_for_ddprun(self, job):
        """Every pod is a node, hears how many there are, and has a command line that ddprun takes."""
        spec = job["spec"]
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual(spec["completions"], spec["parallelism"])
        pod = spec["template"]["spec"]
        self.assertGreater(pod["terminationGracePeriodSeconds"], 30)
        container, = pod["containers"]
        variables = {entry["name"]: entry.get("value") for entry in container["env"]}
        self.assertEqual(variables["PET_NNODES"], str(spec["completions"]))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "train.py").touch()
            words = [DDPRUN, "--no-cluster", "--dry-run", *container["args"]]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_indexed_job_and_its_service(self):
        service, job = documents("indexed-job.yaml")
        validate(service)
        validate(job)
        self.is_right_for_ddprun(job)
        self.assertEqual(job["spec"]["template"]["spec"]["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertTrue(service["spec"]["publishNotReadyAddresses"])

    def test_the_jobset(self):
        jobset, = documents("jobset.yaml")
        self.has_fields(jobset, {"apiVersion": str, "kind": str, "metadata": dict, "spec": dict})
        self.assertEqual((jobset["apiVersion"], jobset["kind"]), ("jobset.x-k8s.io/v1alpha2", "JobSet"))
        self.has_fields(jobset["spec"], JOBSET_SPEC)
        self.has_fields(jobset["spec"].get("network", {}), NETWORK)
        self.has_fields(jobset["spec"].get("failurePolicy", {}), FAILURE_POLICY)
        replicated, = jobset["spec"]["replicatedJobs"]
        self.has_fields(replicated, REPLICATED_JOB)
        self.assertEqual(replicated["replicas"], 1)  # each of several would have a first pod
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train-workers-0"},
               **replicated["template"]}
        validate(job)
        self.is_right_for_ddprun(job)

    def test_a_mistake_is_found(self):
        _, job = documents("indexed-job.yaml")
        job["spec"]["completion"] = 2
        with self.assertRaises(kubernetes_validate.ValidationError):
            validate(job)


if __name__ == "__main__":
    DDPRUN = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
