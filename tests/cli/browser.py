# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium by its own protocol (Chrome DevTools) over two pipes: no port, and no driver program."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium-headless-shell", "chromium")
PATIENCE = 120  # seconds without a message after which the browser counts as hung
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
)


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        assert program, f"no {' or '.join(PROGRAMS)}: tests/setup installs it"
        self.profile = tempfile.TemporaryDirectory(prefix="hybridmem-browser-", ignore_cleanup_errors=True)
        its_input, self.out = os.pipe()
        self.answers, its_output = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        script = f'exec "$0" "$@" 3<&{its_input} 4>&{its_output}'
        words = [program, *SWITCHES, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", script, *words],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self.rest, self.number, self.events = b"", 0, []

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close")
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.answers)
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], PATIENCE)
            assert ready, f"the browser has not said a word in {PATIENCE} s"
            piece = os.read(self.answers, 1 << 16)
            assert piece, "the browser has ended"
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """Sends a command and returns its result. Events that arrive meanwhile are kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def wait(self, method, session, **parameters):
        """Waits for an event with these parameters."""

        def is_it(event):
            return (event.get("method"), event.get("sessionId")) == (method, session) and (
                event["params"].items() >= parameters.items()
            )

        while not any(map(is_it, self.events)):
            self.events.append(self.receive())


class Tab:
    """A tab of the browser, with a size, a colour scheme, and scripts on or off."""

    def __init__(self, browser, width=1200, height=900, scheme="light", has_script=True):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not has_script)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def open(self, path):
        """Opens a document and waits for the event that it is loaded. The event names the document's loader: the page
        before may still send events of its own."""
        going = self.call("Page.navigate", url=path.resolve().as_uri())
        assert "errorText" not in going, f"{path}: {going['errorText']}"
        self.browser.wait("Page.lifecycleEvent", self.session, name="load", loaderId=going["loaderId"])
        return self

    def evaluate(self, expression):
        """The value of an expression in the page; promises are awaited."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, f"{expression}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {"Enter": 13, "Tab": 9}[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def said(self, *methods):
        """The events of this tab that have arrived and whose names (`method`) are among these."""
        return [e for e in self.browser.events if e.get("sessionId") == self.session and e.get("method") in methods]

    def complaints(self):
        """All that is on the console: texts of exceptions and of the browser's own messages; of what scripts write
        there, only the kind ("log", "error")."""
        found = [e["params"]["exceptionDetails"]["text"] for e in self.said("Runtime.exceptionThrown")]
        found += [e["params"]["entry"]["text"] for e in self.said("Log.entryAdded")]
        return found + [e["params"]["type"] for e in self.said("Runtime.consoleAPICalled")]

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.said("Network.requestWillBeSent")]

    def picture(self):
        """The visible part of the page, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
