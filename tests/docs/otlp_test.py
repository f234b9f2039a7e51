#!/usr/bin/env python3
"""docs/examples/monitoring/otlp.py makes a trace of a job, which a collector can parse: otlp_test.py DDPRUN"""

import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from markdown import PROJECT
from packages import run_again_or_skip

try:
    import opentelemetry.exporter.otlp.proto.http  # noqa: F401  what the example needs
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as wire
except ImportError as lacking:
    run_again_or_skip(lacking)

PROGRAM = PROJECT / "docs" / "examples" / "monitoring" / "otlp.py"
SECONDS = 300
ERROR = 2  # the protocol's number
WORKER = """
import os, sys, time, ddprun
attempt, rank = ddprun.restart_count(), int(os.environ["RANK"])
for step in range(20):
    ddprun.heartbeat(step)
    time.sleep(0.02)
    if rank == 1 and step == 10:
        if attempt == 0 or sys.argv[1:] == ["fails"]:
            sys.exit(3)
        while attempt == 1:
            time.sleep(1)
"""
HANGS_AT = WORKER[:WORKER.index("time.sleep(1)")].count("\n") + 1


class Collector:
    """Takes what is sent to it, and keeps the spans."""

    def __enter__(self):
        spans = self.spans = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = wire.ExportTraceServiceRequest.FromString(body)
                spans.extend(span for of in request.resource_spans for each in of.scope_spans for span in each.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def named(self, name):
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)


def facts(of):
    """The attributes of a span or an event, without `ddprun.`."""
    return {each.key.removeprefix("ddprun."): getattr(each.value, each.value.WhichOneof("value"))
            for each in of.attributes}


def run_job(log, *options, arguments=()):
    environment = os.environ | {"PYTHONPATH": str(PROJECT / "worker_sdk" / "python"), "PYTHON_EXEC": sys.executable}
    command = [DDPRUN, "--nproc-per-node", "2", "--rdzv-id", "job7", "--event-log", log, *options, "--no-python",
               sys.executable, "-c", WORKER, *arguments]
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)


def start_sender(address, *arguments):
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    return subprocess.Popen([sys.executable, PROGRAM, *arguments], env=environment, stderr=subprocess.PIPE, text=True)


class OtlpTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = str(Path(folder.name, "events.jsonl"))

    def send(self, address, *arguments):
        sender = start_sender(address, *arguments, self.log)
        said = sender.communicate(timeout=SECONDS)[1]
        return sender.returncode, said

    def check_tree(self, spans):
        """One trace, in which each span lies within its parent; returns its root."""
        self.assertEqual(len({span.trace_id for span in spans}), 1)
        by_id = {span.span_id: span for span in spans}
        self.assertEqual(len(by_id), len(spans))
        for span in spans:
            self.assertLessEqual(span.start_time_unix_nano, span.end_time_unix_nano, span.name)
            if parent := by_id[span.parent_span_id] if span.parent_span_id else None:
                self.assertLessEqual(parent.start_time_unix_nano, span.start_time_unix_nano, span.name)
                self.assertLessEqual(span.end_time_unix_nano, parent.end_time_unix_nano, span.name)
        root, = (span for span in spans if not span.parent_span_id)
        return root

    def test_a_job_is_followed_to_its_end(self):
        with Collector() as collector:
            sender = start_sender(collector.address, "--next", "60", self.log)
            done = run_job(self.log, "--max-restarts", "2", "--hang-timeout", "2", "--on-hang", "restart",
                           arguments=["--token", "hunter2"])
            said = sender.communicate(timeout=SECONDS)[1]
        self.assertEqual((done.returncode, sender.returncode), (0, 0), done.stderr + said)
        job = self.check_tree(collector.spans)
        self.assertIn(f"job job7 is trace {job.trace_id.hex()}", said)
        self.assertEqual(job.name, "job")
        self.assertNotEqual(job.status.code, ERROR)
        for name, value in {"job": "job7", "world_size": 2, "outcome": "finished", "restarts": 2}.items():
            self.assertEqual(facts(job)[name], value, name)
        self.assertRegex(facts(job)["command"], r"(?s)--max-restarts 2 .* --token '?\*\*\*'?$")

        events = [json.loads(line) for line in Path(self.log).read_text().splitlines()]
        began = [event["time"] for event in events if event["kind"] == "round_started"]
        rounds = collector.named("round")
        self.assertEqual([facts(span)["round"] for span in rounds], [1, 2, 3])
        for time, span in zip(began, rounds):
            self.assertAlmostEqual(span.start_time_unix_nano / 1e9, time, places=3)
        failed, = (event for event in rounds[0].events if event.name == "worker_ended")
        self.assertEqual((facts(failed)["rank"], facts(failed)["exit_code"]), (1, 3))

        first, second = collector.named("restart")
        self.assertIn("rank 1 exited with code 3", first.status.message)
        self.assertIn("hang", second.status.message)
        for part in ("noticed", "stopped", "sealed", "started", "first step"):
            self.assertEqual([span.parent_span_id for span in collector.named(part)],
                             [first.span_id, second.span_id], part)
        hang, = collector.named("hang")
        self.assertEqual(hang.parent_span_id, rounds[1].span_id)
        self.assertEqual((hang.status.code, hang.status.message), (ERROR, facts(hang)["sentence"]))
        self.assertIn("rank 1", facts(hang)["sentence"])
        self.assertIn(HANGS_AT, [frame.get("line") for stack in json.loads(facts(hang)["stacks"])
                                 if stack["ranks"] == [1] for frame in stack["frames"]])
        self.assertGreater(hang.end_time_unix_nano - hang.start_time_unix_nano, 1_900_000_000)

    def test_a_log_is_sent_after_the_fact_and_a_failed_job_is_an_error(self):
        self.assertEqual(run_job(self.log, arguments=["fails"]).returncode, 3)
        with Collector() as collector:
            self.assertEqual(self.send(collector.address)[0], 0)
        job = self.check_tree(collector.spans)
        self.assertEqual((job.status.code, job.status.message),
                         (ERROR, f"rank 1 on {os.uname().nodename} exited with code 3"))
        self.assertEqual((facts(job)["outcome"], facts(job)["exit_code"]), ("failed", 3))

        with self.subTest("whose end is missing, because ddprun was killed; a line was cut off"):
            lines = Path(self.log).read_text().splitlines(keepends=True)
            ended = next(i for i, line in enumerate(lines) if '"worker_ended"' in line)
            Path(self.log).write_text("".join(lines[:ended]) + '{"time":1')
            with Collector() as collector:
                self.assertEqual(self.send(collector.address)[0], 0)
            job = self.check_tree(collector.spans)
            self.assertEqual((job.status.code, job.status.message), (ERROR, "the log has no end"))

    def test_without_a_collector_or_a_job_it_says_so_and_ends(self):
        self.assertEqual(run_job(self.log, arguments=["fails"]).returncode, 3)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        self.assertIn("Failed to export", self.send(nobody)[1])
        status, said = self.send(nobody, "--next", "0.1")
        self.assertEqual((status, said), (1, f"otlp.py: no run in {self.log}\n"))


if __name__ == "__main__":
    DDPRUN = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
