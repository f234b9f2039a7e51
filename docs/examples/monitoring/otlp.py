"""Sends a trace of a job to OpenTelemetry, out of its event log: the job with its rounds, restarts and hangs.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
    python3 otlp.py events.jsonl             # a trace for each run in the log; the last one is followed to its end
    python3 otlp.py --next 60 events.jsonl   # those that begin later, within 60 s; in a batch script:

        python3 otlp.py --next 60 "events-$(uname -n).jsonl" &
        srun ddprun --event-log 'events-${hostname}.jsonl' train.py
        wait

OTEL_EXPORTER_OTLP_ENDPOINT has the address of the collector (http://localhost:4318). The log of one node is enough: it
has all rounds. A span is sent when it has ended, the job's own one last. If the collector was away for some time, send
the log again: that makes a new trace.
"""

import argparse
import json
import logging
import os
import signal
import sys
import time
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

POLL_S, LAST_WORDS_S, LINE_BYTES_MAX = 0.5, 60, 1 << 22
PARTS = {"detected_ms": "noticed", "stopped_ms": "stopped", "sealed_ms": "sealed", "started_ms": "started",
         "first_step_ms": "first step"}  # the parts of a restart, one after the other


def attributes(event):
    out = {f"ddprun.{name}": value if isinstance(value, (str, bool, int, float)) else json.dumps(value)
           for name, value in event.items() if name not in ("time", "kind", "schema", "node", "exception")}
    return out | {f"exception.{name}": value for name, value in event.get("exception", {}).items()}


class Run:
    """The trace of a run, from agent_began to agent_ended. Times are nanoseconds, as OpenTelemetry has them."""

    def __init__(self, began):
        resource = Resource.create({"service.name": "ddprun", "host.name": began["node"]})
        self.provider = TracerProvider(resource=resource, span_limits=SpanLimits(max_attribute_length=1 << 14))
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), max_queue_size=8192))
        self.began, self.now, self.open, self.stops, self.late = began, round(began["time"] * 1e9), {}, {}, None
        self.outcome, self.why, self.was_there = "", "", self.is_there()
        self.job = self.start("job", began)
        self.start("rendezvous")
        print(f"otlp.py: job {began['job']} is trace {self.job.context.trace_id:032x}", file=sys.stderr, flush=True)

    def is_there(self):
        return self.began["node"] != os.uname().nodename or os.path.exists(f"/proc/{self.began['pid']}")

    def start(self, name, event=None, when=None, parent="job", error=""):
        within = trace.set_span_in_context(self.open.get(parent, trace.INVALID_SPAN))
        self.open[name] = span = self.provider.get_tracer("ddprun").start_span(
            name, within, attributes=attributes(event or {}), start_time=when or self.now)
        if error:
            span.set_status(trace.StatusCode.ERROR, error)
        return span

    def end(self, *names, when=None):
        for name in [name for name in names if name in self.open]:
            self.open.pop(name).end(when or self.now)

    def take(self, event):
        kind, self.now = event["kind"], round(event["time"] * 1e9)
        if kind == "round_started":
            self.end("hang", "round", "rendezvous")
            self.start("round", event)
            self.job.set_attribute("ddprun.world_size", event["world_size"])
        elif kind == "round_stopped":
            self.end("hang", "round")
            self.start("rendezvous")
        elif kind in ("hang", "hang_over"):
            self.end("hang")  # it comes again when more is known
            if kind == "hang":
                since = self.now - event["silent_ms"] * 1_000_000
                self.start("hang", event, since, "round", event["sentence"])
        elif kind == "restart":
            self.late = event
            if not event.get("awaits_step"):  # else it comes once more
                self.end_restart()
        elif kind in ("times", "verdict", "job_ended", "agent_ended"):
            self.job.set_attributes(attributes(event))
            self.why = self.why or event.get("sentence") or event.get("message", "")
            self.outcome = event["outcome"] if kind == "agent_ended" else ""
        elif kind not in ("worker_started", "signal_sent"):
            self.happened(event)

    def happened(self, event):
        """Workers that end well, or because they are stopped, would hide those that fail."""
        if event["kind"] == "round_stopping":
            self.stops[event["round"]] = self.now
        ended_well = event["kind"] == "worker_ended" and (event.get("exit_code") == 0 or event["round"] in self.stops)
        if "exception" in event or not ended_well:
            name = "exception" if "exception" in event else event["kind"]
            self.open.get("round", self.job).add_event(name, attributes(event), self.now)

    def end_restart(self):
        event, self.late = self.late, None
        name, error = ("change", "") if event.get("nobody_lost") else ("restart", event["reason"])
        when = self.stops.get(event["from_round"], self.now) - round(event.get("detected_ms", 0) * 1e6)
        self.start(name, event, when, error=error)
        for field in filter(event.__contains__, PARTS):
            self.start(PARTS[field], None, when, name)
            when += round(event[field] * 1e6)
            self.end(PARTS[field], when=when)
        self.end(name, when=when)

    def close(self):
        if self.late:
            self.end_restart()
        if not self.outcome and self.was_there:  # it was killed after its last event
            self.now = time.time_ns()
        if self.outcome not in ("finished", "stopped", "preempted"):
            self.job.set_status(trace.StatusCode.ERROR, self.why or self.outcome or "the log has no end")
        self.end(*reversed(self.open))
        self.provider.shutdown()  # sends what is left, for a limited time


def events(log):
    while (line := log.readline(LINE_BYTES_MAX)).endswith(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:  # it was cut off, and another run's line follows
            pass
    log.seek(-len(line), os.SEEK_CUR)  # it is not complete


def began_at():
    """When this process did, in seconds since 1970."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("log", help="what `ddprun --event-log` writes")
    parser.add_argument("--next", type=float, default=0, metavar="SECONDS", help="the run that begins within that time")
    options = parser.parse_args()
    logging.basicConfig(format="otlp.py: %(message)s")  # the exporter tells why it cannot send
    signals, begin_by = [], time.monotonic() + options.next
    for number in (signal.SIGINT, signal.SIGTERM):  # ddprun gets it, too, and its end is still to come
        signal.signal(number, lambda *_: signals.append(time.monotonic()))
    after = began_at() if options.next else 0
    run, is_over = None, False
    with open(options.log, "ab+" if options.next else "rb") as log:  # ddprun appends to it
        log.seek(0)
        while not is_over:
            gone = run if run and not run.is_there() else None  # it may have written more before it ended
            for event in events(log):
                if event["kind"] == "agent_began" and event["time"] >= after:
                    if run:
                        run.close()
                    run = Run(event)
                elif run:
                    run.take(event)
            is_over = bool(run.outcome) or run is gone if run else time.monotonic() > begin_by
            if signals and (not run or time.monotonic() > signals[0] + LAST_WORDS_S):
                break
            time.sleep(POLL_S)
    if not run:
        return f"otlp.py: no run in {options.log}"
    run.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
