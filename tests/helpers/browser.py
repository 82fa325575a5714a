"""A page in Debian's chromium, spoken to through its debugging pipe: no other tool is needed."""

import itertools
import json
import os
import subprocess
import time
from contextlib import contextmanager

from docs import screenshots

_TALK = ("Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")


class Page:
    """A page that is open."""

    def __init__(self, reader, writer):
        self._reader, self._writer, self._rest = reader, writer, b""
        self._numbers, self.session = itertools.count(1), None
        self.console, self.requests = [], []

    def ask(self, method, **parameters):
        """Return the answer of the browser; what the console says and what is fetched is kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session is not None and not method.startswith(("Browser.", "Target.")):
            message["sessionId"] = self.session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            if answer.get("method") in _TALK:
                self.console.append(answer["params"])
            if answer.get("method") == "Network.requestWillBeSent":
                self._note(answer["params"]["request"]["url"])
        assert "error" not in answer, answer
        return answer["result"]

    def _note(self, url):
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.requests.append(url)

    def _next(self):
        while b"\0" not in self._rest:
            self._rest += os.read(self._reader, 2**16)
        one, _, self._rest = self._rest.partition(b"\0")
        return json.loads(one)

    def open(self, path):
        """Show a file, and wait until it is there."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        for _ in range(200):
            if self.value("document.readyState") == "complete":
                return
            time.sleep(0.05)
        raise AssertionError("the page does not load")

    def value(self, script):
        """Return what a script says in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def resize(self, width, height=900):
        """Give the window another size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip


@contextmanager
def browser(folder):
    """Yield a page of a browser whose files go to a folder."""
    to_read, to_write = os.pipe(), os.pipe()
    command = f'exec "$@" 3<&{to_read[0]} 4>&{to_write[1]}'
    options = [*screenshots._OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={folder}/own"]
    process = subprocess.Popen(
        ["bash", "-c", command, "bash", screenshots.chromium(), *options, "about:blank"],
        pass_fds=(to_read[0], to_write[1]), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    page = Page(to_write[0], to_read[1])
    try:
        target = next(one for one in page.ask("Target.getTargets")["targetInfos"]
                      if one["type"] == "page")  # fmt: skip
        answer = page.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page.session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        yield page
    finally:
        process.terminate()
        process.wait(timeout=20)
        for end in (*to_read, *to_write):
            os.close(end)
