# SPDX-License-Identifier: Apache-2.0
"""Drives headless Chromium by the DevTools protocol, over two pipes (--remote-debugging-pipe)."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds until a browser that does not answer is an error
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The path of a browser, or None."""
    given = os.environ.get("EK_CHROMIUM")
    return given or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page; console, requests and errors are lists of what happened since open()."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        arguments = [path, "--headless", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     f"--user-data-dir={self.profile}", "about:blank"]
        if os.geteuid() == 0:
            arguments.insert(1, "--no-sandbox")  # as root, Chromium has no sandbox
        # A shell gives the pipes their numbers, 3 for what the browser reads and 4 for what it writes.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "-", *arguments],
            pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session = 0, b"", None
        self.console, self.requests, self.loaded = [], [], False
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.to)
        self.process.kill()
        self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self):
        """The next message."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        """Keeps an event."""
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(params["type"] + ": " + json.dumps(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append("exception: " + json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["level"] + ": " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **params):
        """Calls a method of the protocol."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") != self.number:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer.get("result", {})

    def open(self, path, width=1300, height=900, dark=False, media="screen"):
        """Loads a file."""
        self.console, self.requests, self.loaded = [], [], False
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.note(self.read())

    def run(self, expression):
        """The value of an expression of the page's world."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name, code):
        """Presses and releases a key."""
        text = {"Enter": "\r", " ": " "}.get(name, "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **more)

    def type(self, text):
        """Enters text where the focus is."""
        self.call("Input.insertText", text=text)

    def shot(self, path):
        """Writes a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
