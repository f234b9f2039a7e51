#!/usr/bin/env python3
"""The dashboard and the alerts in docs/examples/monitoring ask for metrics that a job really has:
monitoring_test.py DDPRUN"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

from markdown import PROJECT
from packages import run_again_or_skip

try:
    import yaml
except ImportError as lacking:
    run_again_or_skip(lacking)

FOLDER = PROJECT / "docs" / "examples" / "monitoring"
SECONDS = 60  # for a job of one worker to show its first step
WORKER = """
import time, ddprun
for step in range(600):
    ddprun.heartbeat(step, loss=0.5, samples=8, steps=600)
    time.sleep(0.1)
"""
# It has no torch, and ddprun keeps no checkpoints of it.
NOT_OF_THIS_JOB = {"ddprun_rank_collectives", "ddprun_rank_late_ratio", "ddprun_checkpoint_bytes",
                   "ddprun_checkpoint_age_seconds", "ddprun_checkpoint_written_bytes",
                   "ddprun_checkpoint_written_age_seconds", "ddprun_checkpoints_put_back"}
OF_GPUS = {"ddprun_node_gpu_ratio", "ddprun_node_gpu_memory_used_bytes", "ddprun_node_gpu_memory_bytes"}
COMES_LATER = ("ddprun_samples_per_second", "ddprun_left_seconds", "ddprun_node_cpu_ratio")


def alerts():
    group, = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def questions():
    """All that is asked of Prometheus, with the place where it is asked."""
    board = json.loads((FOLDER / "dashboard.json").read_text())
    yield from alerts().items()
    for panel in board["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])
    yield from ((each["name"], each["expr"]) for each in board["annotations"]["list"])
    yield from ((each["name"], each["query"]["query"]) for each in board["templating"]["list"] if each["type"] == "query")


def samples(text):
    """(name, labels) of each line of /metrics."""
    return [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)))
            for name, labels in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.MULTILINE)]


def metrics_of_a_job():
    environment = os.environ | {"PYTHONPATH": str(PROJECT / "worker_sdk" / "python"), "PYTHON_EXEC": sys.executable}
    command = [DDPRUN, "--standalone", "--status-addr", "0", "--no-python", sys.executable, "-c", WORKER]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as job:
        try:
            page = next(found[0] for found in (re.search(r"http://\S+", line) for line in job.stderr) if found)
            for _ in range(SECONDS * 2):
                with urllib.request.urlopen(f"{page}metrics", timeout=SECONDS) as answer:
                    text = answer.read().decode()
                if all(name + "{" in text for name in COMES_LATER):
                    break
                time.sleep(0.5)
        finally:
            job.terminate()
        job.stderr.read()
    return samples(text)


class MonitoringTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.there = metrics_of_a_job()

    def test_the_job_has_every_metric_of_the_source(self):
        table = set(re.findall(r'"(ddprun_\w+)"', (PROJECT / "live" / "page" / "metrics.cpp").read_text()))
        self.assertLessEqual(OF_GPUS, table)  # a node without a GPU has none of these
        self.assertEqual({name for name, _ in self.there} - OF_GPUS, table - NOT_OF_THIS_JOB - OF_GPUS)

    def test_every_metric_and_label_that_is_asked_for_is_there(self):
        names = {name for name, _ in self.there} | NOT_OF_THIS_JOB | OF_GPUS
        labels = {label for _, each in self.there for label in each}
        for place, question in questions():
            self.assertLessEqual(set(re.findall(r"\bddprun_\w+", question)), names, place)
            for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", question):
                self.assertLessEqual(set(re.split(r", *", group)), labels, place)
            for selector in re.findall(r"ddprun_\w+\{([^}]*)\}", question):
                self.assertLessEqual(set(re.findall(r'(\w+)=~?"', selector)), labels, place)

    def test_every_state_of_a_job_is_one(self):
        states = {labels["state"] for name, labels in self.there if name == "ddprun_job_state"}
        asked = {state for _, question in questions()
                 for state in re.findall(r'ddprun_job_state\{[^}]*state="(\w+)"', question)}
        self.assertTrue(asked)
        self.assertLessEqual(asked, states)

    def test_every_alert_is_tested_on_and_off(self):
        tests = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
        tried = {(each["alertname"], bool(each["exp_alerts"])) for test in tests for each in test["alert_rule_test"]}
        self.assertEqual(tried, {(name, fires) for name in alerts() for fires in (False, True)})

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool (Debian: prometheus)")
    def test_prometheus_takes_the_rules_and_they_pass_their_tests(self):
        for words in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
            done = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    DDPRUN = sys.argv.pop(1)
    unittest.main()
