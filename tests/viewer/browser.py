"""A real browser without a window, asked through the DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: software rendering in a box of its own: works without a screen, as root, and in containers
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-smooth-scrolling", "--disable-gpu-compositing", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--remote-debugging-pipe",
)  # fmt: skip


def find_browser() -> str | None:
    """The program, or None: `$DALEMBERT_BROWSER`, or what the system has. Pipes by number need a POSIX system."""
    if os.name != "posix":
        return None
    chosen = os.environ.get("DALEMBERT_BROWSER")
    found = (shutil.which(name) for name in ((chosen,) if chosen else CANDIDATES))
    return next(filter(None, found), None)


class Browser:
    """One process of the browser; `open` gives pages."""

    def __init__(self, program: str, profile: Path, *flags: str):
        import fcntl  # not on every system

        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # the protocol uses file descriptors 3 and 4; ours must be others
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (to_read, to_write)]
        redirected = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]} {ends[0]}<&- {ends[1]}>&-'
        command = [program, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", redirected, "browser", *command],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for one in (to_read, to_write, *ends):
            os.close(one)
        self._number, self._buffer, self.events = 0, b"", []

    def ask(self, method: str, session: str | None = None, timeout: float = 60.0, **parameters):
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while True:
            answer = self._next(end - time.monotonic())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, timeout: float) -> dict:
        while b"\0" not in self._buffer:
            if timeout <= 0 or not select.select([self._from], [], [], timeout)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def open(
        self,
        path: Path,
        *,
        width: int = 1100,
        height: int = 700,
        mobile: bool = False,
        dark: bool = False,
        still: bool = True,
        scripts: bool = True,
        before: str = "",
    ) -> Page:
        """A page from a file, of this size.

        `still`: the reader wants reduced motion. `before`: a script that runs before those of the page.
        """
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        wishes = {"prefers-color-scheme": "dark" if dark else "light"}
        wishes["prefers-reduced-motion"] = "reduce" if still else "no-preference"
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        page.ask("Emulation.setEmulatedMedia", features=features)
        if not scripts:
            page.ask("Emulation.setScriptExecutionDisabled", value=True)
        if mobile:
            page.ask("Emulation.setTouchEmulationEnabled", enabled=True)
        if before:
            page.ask("Page.addScriptToEvaluateOnNewDocument", source=before)
        page.ask("Page.navigate", url=Path(path).resolve().as_uri())
        return page

    def close(self) -> None:
        try:
            self.ask("Browser.close", timeout=5)
            self._process.wait(5)
        except (TimeoutError, RuntimeError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(20)
        os.close(self._to)
        os.close(self._from)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, target: str, session: str):
        self.browser, self.target, self.session = browser, target, session

    def ask(self, method: str, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def run(self, expression: str):
        """The value of an expression of JavaScript; promises are awaited."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression: str, timeout: float = 20.0) -> None:
        """Until an expression is true."""
        end = time.monotonic() + timeout
        while not self.run(f"!!({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression} has not become true; complaints: {self.complaints()}")
            time.sleep(0.03)

    def loaded(self, timeout: float = 20.0) -> None:
        """Until the browser says so: of pages without scripts nothing can be asked."""
        end = time.monotonic() + timeout
        while not any(
            event.get("sessionId") == self.session and event["method"] == "Page.loadEventFired"
            for event in self.browser.events
        ):
            if time.monotonic() > end:
                raise TimeoutError("the page has not been loaded")
            self.browser.ask("Browser.getVersion")
            time.sleep(0.03)

    def ready(self) -> Page:
        """Until everything on the page has started."""
        self.wait("document.readyState === 'complete'")
        self.wait("[...document.querySelectorAll('.da-player, .da-figures')].every((one) => one.dataset.ready)")
        return self

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and everything that was asked from elsewhere."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, given = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(given["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(one.get("value", one.get("description"))) for one in given["args"]))
            elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
                text = given["entry"]["text"]
                if "GL Driver Message" not in text:  # remarks of the software renderer about itself
                    found.append(text)
            elif method == "Network.requestWillBeSent" and not given["request"]["url"].startswith(("file:", "data:")):
                found.append(f"asked for {given['request']['url']}")
        return found

    def middle(self, selector: str) -> tuple[float, float]:
        """Of an element, scrolled into view; it must not be covered by another."""
        x, y, seen = self.run(
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'nearest'}});"
            "const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;"
            "const top = document.elementFromPoint(x, y);"
            "return [x, y, e.contains(top) || !!(top && top.contains(e) && e.closest('label'))]; })()"
        )
        if not seen:
            raise RuntimeError(f"{selector} is covered by something else, or outside of the window")
        return x, y

    def click(self, selector: str) -> None:
        """With the mouse, where the element is."""
        self.mouse(*self.middle(selector))

    def tap(self, selector: str) -> None:
        """With a finger."""
        self.touch([self.middle(selector)])

    def mouse(
        self, x: float, y: float, to: tuple[float, float] | None = None, button: str = "left", *, double: bool = False
    ) -> None:
        """Press at a point, move to another, release; twice for a double click."""
        if double:
            self.mouse(x, y)
        buttons = {"left": 1, "right": 2, "middle": 4}[button]
        common = {"button": button, "clickCount": 2 if double else 1}
        self.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, buttons=buttons, **common)
        if to is not None:
            for k in (1, 2, 3):
                at = (x + (to[0] - x) * k / 3, y + (to[1] - y) * k / 3)
                held = {"button": button, "buttons": buttons}
                self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1], **held)
            x, y = to
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, buttons=0, **common)

    def wheel(self, x: float, y: float, delta: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def touch(self, *fingers: list[tuple[float, float]]) -> None:
        """Fingers that move together, each along its list of points."""
        for k, points in enumerate(zip(*fingers, strict=True)):
            touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
            self.ask("Input.dispatchTouchEvent", type="touchMove" if k else "touchStart", touchPoints=touches)
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key: str, modifiers: int = 0) -> None:
        """Press and release; modifiers: 1 alt, 2 control, 4 meta, 8 shift."""
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, " ": 32}
        codes |= {"Tab": 9, "Enter": 13, "Escape": 27}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": modifiers}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        data = base64.b64decode(found["data"])
        if path is not None:
            Path(path).write_bytes(data)
        return data

    def close(self) -> None:
        self.browser.ask("Target.closeTarget", targetId=self.target)
