#!/usr/bin/env python3
"""The manifests in docs/examples are what Kubernetes, JobSet and Kubeflow Trainer take, and fit together:
manifests_test.py DDPRUN

Their command lines run with --dry-run, each in an imitation of the pod that it is for. There is no cluster."""

import copy
import re
import subprocess
import sys
import unittest
from pathlib import Path

from markdown import PROJECT, blocks
from packages import run_again_or_skip
from pod import Pod

try:
    import yaml

    from manifests import documents, exit_codes, jobs, policy_mistakes, schema_mistakes, set_policy_mistakes
except ImportError as missing:
    run_again_or_skip(missing)

FILES = sorted(path.name for path in (PROJECT / "docs" / "examples").glob("*.yaml"))
SECRET = "5" * 64
# The names of the pods that Kubeflow Trainer makes, and the port that its plugin for torch sets in each of them:
# https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/torch/torch.go
TRAINER_PORT = 29500
TRAINER_POD = "{job}-node-0-{rank}"


def mistakes(document):
    found = schema_mistakes(document)
    for job in [] if found else jobs(document):
        found += policy_mistakes(job)
    spec = document["spec"]
    if not found and document["kind"] in ("JobSet", "TrainingRuntime"):
        found += set_policy_mistakes(spec if document["kind"] == "JobSet" else spec["template"]["spec"])
    return found


def changed(document, path, value):
    """A copy with another value there; `path` has names and numbers between dots."""
    document = copy.deepcopy(document)
    *way, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    place = document
    for word in way:
        place = place[word]
    place[last] = value
    return document


class SchemaTest(unittest.TestCase):
    def test_no_manifest_has_a_mistake(self):
        for name in FILES:
            for document in documents(name):
                self.assertEqual(mistakes(document), [], f"{name}: {document['kind']}")

    def test_a_mistake_in_each_kind_is_found(self):
        in_job = "spec.replicatedJobs.0.template.spec"
        in_runtime = "spec.template.spec.replicatedJobs.0.template.spec"
        for name, number, path, value in [
                ("indexed-job.yaml", 0, "spec.publishUnreadyAddresses", True),
                ("indexed-job.yaml", 1, "spec.completion", 2),
                ("indexed-job.yaml", 1, "spec.podFailurePolicy.rules.1.onExitCodes.value", 85),
                ("jobset.yaml", 0, "spec.failurePolicy.maxRestart", 3),
                ("jobset.yaml", 0, "spec.failurePolicy.maxRestarts", "3"),
                ("jobset.yaml", 0, f"{in_job}.completion", 2),
                ("jobset.yaml", 0, f"{in_job}.template.spec.containers.0.arg", ["train.py"]),
                ("training-runtime.yaml", 0, "spec.mlPolicy.pytorch", {}),
                ("training-runtime.yaml", 0, "spec.mlPolicy.numNodes", "1"),
                ("training-runtime.yaml", 0, f"{in_runtime}.template.spec.restartPolicies", "Never"),
                ("train-job.yaml", 0, "spec.trainer.nodes", 2),
                ("train-job.yaml", 0, "spec.trainer.numNodes", "2"),
                ("train-job.yaml", 0, "spec.runtimeRef.names", "ddprun"),
                ("network-policy.yaml", 0, "spec.policyTypes", "Ingress"),
                ("witness.yaml", 0, "spec.ports.0.ports", 29400),
                ("witness.yaml", 1, "spec.strategy.types", "Recreate")]:
            self.assertTrue(mistakes(changed(documents(name)[number], path, value)), f"{name}: {path}")

    def test_what_the_page_shows_of_a_container_fits_into_one(self):
        shown = [block for block in blocks(PROJECT / "docs" / "containers.md")
                 if block.language == "yaml" and "file" not in block.remarks]
        self.assertEqual(len(shown), 1)
        _, job = documents("indexed-job.yaml")
        for block in shown:
            for field, value in yaml.safe_load(block.text).items():
                path = f"spec.template.spec.containers.0.{field}"
                self.assertEqual(mistakes(changed(job, path, value)), [], block)
                self.assertTrue(mistakes(changed(job, path + "s", value)), block)

    def test_a_policy_that_the_page_with_the_exit_codes_does_not_bear_out_is_found(self):
        job = documents("indexed-job.yaml")[1]
        for path, value in [("1.onExitCodes.values", [84]), ("2.onExitCodes.values", [2, 127]),
                            ("2.onExitCodes.values", [126, 127, 2]), ("2.onExitCodes.containerName", "node"),
                            ("2.action", "FailTheJob"), ("2.onPodConditions", []), ("0.action", "Count")]:
            wrong = changed(job, f"spec.podFailurePolicy.rules.{path}", value)
            self.assertTrue(list(policy_mistakes(wrong)), path)
        self.assertTrue(list(policy_mistakes(changed(job, "spec.template.spec.restartPolicy", "OnFailure"))))
        for path, value in [("action", "FailJob"), ("action", "RestartJobSet"), ("name", "no-dash"),
                            ("onJobFailureReasons", ["BackoffLimitExceeded"])]:
            wrong = changed(documents("jobset.yaml")[0], f"spec.failurePolicy.rules.0.{path}", value)
            self.assertTrue(list(set_policy_mistakes(wrong["spec"])), path)
        self.assertIn(85, exit_codes())


class CommandTest(unittest.TestCase):
    def setUp(self):
        with Pod("pod") as pod:
            if (done := pod.run("true")).returncode:
                self.skipTest(f"no pod can be imitated here: {done.stderr.strip()}")

    def dry_run(self, name, domain, variables, words, secret=SECRET):
        with Pod(name, domain, variables | {"DDPRUN_SECRET": secret, "LOGLEVEL": "INFO"}) as pod:
            done = pod.run(DDPRUN, "--dry-run", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("has no effect", done.stderr)
        return done.stderr + done.stdout

    def meets_as_indexed(self, job, pods, domain, words=None):
        """Its second pod finds the first one, and knows how many there are."""
        spec = job["spec"]
        self.assertEqual((spec["completionMode"], spec["completions"]), ("Indexed", spec["parallelism"]))
        container, = spec["template"]["spec"]["containers"]
        variables = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
        self.assertEqual(variables["PET_NNODES"], str(spec["completions"]))
        said = self.dry_run(f"{pods}-1", domain, variables | {"JOB_COMPLETION_INDEX": "1"}, container["args"])
        place = f"node 1 of 2, coordinator at {pods}-0.{domain}.ml.svc.cluster.local:29400, run id {pods}"
        self.assertIn(f"Kubernetes: {place}", said)

    def test_the_pods_of_the_indexed_job_meet(self):
        service, job = documents("indexed-job.yaml")
        self.assertEqual(job["spec"]["template"]["spec"]["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
        self.assertEqual((service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]), ("None", True))
        self.meets_as_indexed(job, job["metadata"]["name"], service["metadata"]["name"])

    def test_the_pods_of_the_jobset_meet(self):
        jobset, = documents("jobset.yaml")
        replicated, = jobset["spec"]["replicatedJobs"]
        self.assertEqual(replicated["replicas"], 1)  # each of several would have a first pod
        name = jobset["metadata"]["name"]
        self.meets_as_indexed(*jobs(jobset), f"{name}-{replicated['name']}-0", name)
        policy, = documents("network-policy.yaml")
        pods = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}
        self.assertEqual(policy["spec"]["podSelector"], pods)
        self.assertEqual(policy["spec"]["ingress"], [{"from": [{"podSelector": pods}]}])

    def train_job(self):
        """The pods' variables as Trainer sets them, for the second one, and the container as it merges it."""
        runtime, = documents("training-runtime.yaml")
        train_job, = documents("train-job.yaml")
        self.assertEqual(train_job["spec"]["runtimeRef"],
                         {"kind": runtime["kind"], "name": runtime["metadata"]["name"]})
        replicated, = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        self.assertEqual(replicated["template"]["metadata"]["labels"],
                         {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"})
        self.assertEqual(replicated["replicas"], 1)
        container, = replicated["template"]["spec"]["template"]["spec"]["containers"]
        self.assertEqual((replicated["name"], container["name"], container["command"]), ("node", "node", ["ddprun"]))
        name, trainer = train_job["metadata"]["name"], train_job["spec"]["trainer"]
        first = TRAINER_POD.format(job=name, rank=0)
        return name, {"PET_NNODES": str(trainer["numNodes"]), "PET_NPROC_PER_NODE": "auto", "PET_NODE_RANK": "1",
                      "PET_MASTER_ADDR": f"{first}.{name}", "PET_MASTER_PORT": str(TRAINER_PORT),
                      "JOB_COMPLETION_INDEX": "1"}, trainer["args"]

    def test_the_pods_of_the_train_job_meet_where_trainer_says(self):
        name, variables, words = self.train_job()
        pod = TRAINER_POD.format(job=name, rank=1)
        self.assertIn(f"RUN_ID={name}-node-0", self.dry_run(pod, name, variables, words))
        # Without a secret the workers' store is at the place where the pods meet, so that it shows.
        said = self.dry_run(pod, name, variables, words, secret="")
        self.assertIn(f"MASTER_ADDR={variables['PET_MASTER_ADDR']} ", said)

    def test_a_mistake_in_a_command_line_is_found(self):
        name, variables, words = self.train_job()
        with self.assertRaises(AssertionError):
            self.dry_run(TRAINER_POD.format(job=name, rank=1), name, variables, ["--preempt-signals", "TERM", *words])

    def test_the_witness_listens_and_has_the_secret_of_the_job(self):
        service, deployment = documents("witness.yaml")
        spec = deployment["spec"]
        self.assertEqual(spec["selector"]["matchLabels"], service["spec"]["selector"])
        self.assertEqual(spec["template"]["metadata"]["labels"], service["spec"]["selector"])
        pod_spec = spec["template"]["spec"]
        container, = pod_spec["containers"]
        mount, = container["volumeMounts"]
        volume, = pod_spec["volumes"]
        self.assertEqual((mount["name"], mount["subPath"]), (volume["name"], "secret"))
        at = container["args"].index("--secret-dir") + 1
        self.assertEqual(mount["mountPath"], f"{container['args'][at]}/train-workers-0")
        with Pod("witness") as pod:
            folder = pod.path / "secrets"
            folder.mkdir(mode=0o755)
            (folder / "train-workers-0").write_text(SECRET + "\n")
            (folder / "train-workers-0").chmod(volume["secret"]["defaultMode"])
            words = [str(folder) if number == at else word for number, word in enumerate(container["args"])]
            line, warnings = pod.first_line(DDPRUN, *words)
        self.assertRegex(line, rf"^listening on \S+:{service['spec']['ports'][0]['port']}$")
        self.assertNotRegex(warnings, "secret")

    def test_the_command_line_with_the_witness(self):
        """It is in the page, not in a file."""
        page = PROJECT / "docs" / "containers.md"
        shown, = [yaml.safe_load(block.text) for block in blocks(page)
                  if block.language == "yaml" and block.text.startswith("args:")]
        variables = {entry["name"]: entry["value"] for entry in shown["env"]}
        self.dry_run("train-workers-0-1", "train", variables | {"JOB_COMPLETION_INDEX": "1"}, shown["args"])
        endpoint = shown["args"][shown["args"].index("--rdzv-endpoint") + 1]
        self.assertEqual(endpoint, "train-workers-0-0.train:29400,witness:29400")

    def test_pods_have_the_time_for_a_checkpoint_and_for_the_end(self):
        options = subprocess.run([DDPRUN, "--help"], capture_output=True, text=True, check=True).stdout
        checkpoint = int(re.search(r"at most (\d+) after SIGTERM", re.sub(r"\s+", " ", options))[1])
        shutdown = int(re.search(r"--shutdown-timeout SECONDS=(\d+)", options)[1])
        for name in ("jobset.yaml", "indexed-job.yaml", "training-runtime.yaml"):
            job, = jobs(documents(name)[-1])
            self.assertGreater(job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], checkpoint + shutdown)


if __name__ == "__main__":
    DDPRUN = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
