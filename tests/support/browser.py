"""A headless Chromium that tests and scripts/screenshot drive by the DevTools protocol.

The protocol goes over two pipes (--remote-debugging-pipe), so nothing listens on a port, and Python needs no
package for it. https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 60  # the busiest machine needs less, unless something is broken

# Resolves as soon as CONDITION holds in the page: it is looked at whenever the page changes.
WAIT = """new Promise((resolve) => {
  const holds = () => { try { return CONDITION; } catch { return false; } };
  if (holds()) return resolve(true);
  const watch = new MutationObserver(() => { if (holds()) { watch.disconnect(); resolve(true); } });
  watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})"""


def find():
    """The path of a Chromium; None: there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="ddprun_browser_")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, find(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, "TMPDIR": self.profile.name})
        os.close(to_browser)
        os.close(from_browser)
        self.received, self.count, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.profile.cleanup()

    def call(self, method, **params):
        """Calls a method of the protocol, and returns its result."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.receive(deadline - time.monotonic(), method)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, patience_s, what):
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.input], [], [], max(0, patience_s))
            if not ready:
                raise TimeoutError(f"the browser does not answer to {what}; the page says: {self.last_words()}")
            data = os.read(self.input, 65536)
            if not data:
                raise RuntimeError("the browser has ended")
            self.received += data
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def last_words(self):
        return getattr(self, "text", "(not looked at)")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        """The value of an expression in the page; of a promise, what it resolves to."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, condition):
        """Waits until a condition, an expression of JavaScript, holds in the page."""
        self.text = self.evaluate("document.body ? document.body.innerText : ''")
        self.evaluate(WAIT.replace("CONDITION", condition))

    def look(self, width, height, dark=False):
        """Makes the window so large, and the system's colours light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path):
        image = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
