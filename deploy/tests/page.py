#!/usr/bin/env python3
"""The page of a made fleet in Chromium, at two widths and in both themes: page.py DATASET [-o PAGE]."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import fleets


class Browser:
    """Chromium's debugging protocol over two pipes."""

    def __init__(self, profile):
        (read, self.write), (self.read, write) = os.pipe(), os.pipe()

        def ends():
            # Chromium reads from 3 and writes to 4; either can be one of ours.
            ours = os.dup2(read, 60, inheritable=False), os.dup2(write, 61, inheritable=False)
            os.dup2(ours[0], 3)
            os.dup2(ours[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=ends,
            env={**os.environ, "TMPDIR": str(profile.parent)},
            close_fds=False,
            stderr=subprocess.DEVNULL,
        )
        os.close(read), os.close(write)
        self.count, self.buffer, self.session, self.events = 0, b"", {}, set()

    def do(self, method, **params):
        self.count += 1
        os.write(
            self.write,
            json.dumps({"id": self.count, "method": method, "params": params, **self.session}).encode() + b"\0",
        )
        while True:
            answer = json.loads(self.message())
            self.events.add(answer.get("method"))
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def load(self, url):
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.do("Page.enable")
        self.events.clear()
        self.do("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.events.add(json.loads(self.message()).get("method"))

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read, 65536)
            if not part:
                raise SystemExit("Chromium ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return message

    def value(self, expression):
        return self.do("Runtime.evaluate", expression=expression)["result"].get("value")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        page = pathlib.Path(sys.argv[sys.argv.index("-o") + 1] if "-o" in sys.argv else folder / "fleet.html").resolve()
        template = fleets.Template(sys.argv[1])
        runs, shifts, slow = fleets.real_fleet(template, 1000, seed=1)
        for run in runs:
            run["host"] = f"web{run['host'][1:].zfill(3)}.rack-7.example.com"
            run["cpu"] = f"Intel(R) Xeon(R) Platinum {run['cpu']} @ 2.90GHz, 64 CPUs, KVM"
            for finding in run["findings"]:
                finding["text"] += " than the others, and that for as long as it was measured, since it was too hot"
        dataset = template.write(folder / "fleet", runs, shifts, rounds=3)
        subprocess.run([sys.executable, fleets.PAGE, dataset, "-o", page], check=True)
        browser = Browser(folder / "profile")
        # A browser that hangs is ended, and the read from it with it.
        watch = threading.Timer(300, browser.process.kill)
        watch.start()
        try:
            browser.load(page.as_uri())
            papers = set()
            for width in (390, 1280):
                for theme in ("light", "dark"):
                    browser.do(
                        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
                    )
                    browser.do(
                        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
                    )
                    wide, room = (
                        browser.value(f"document.documentElement.{what}") for what in ("scrollWidth", "clientWidth")
                    )
                    paper, ink = (
                        browser.value(f"getComputedStyle(document.body).{what}")
                        for what in ("backgroundColor", "color")
                    )
                    papers.add(paper)
                    print(f"{width} px, {theme}: {wide} px in {room}, {ink} on {paper}")
                    assert wide <= room
                    # A word is broken where it has more lines than its hyphens explain.
                    broken = browser.value("""[...document.querySelectorAll('.list th, .list td[data-head=host]')]
                        .filter(cell => cell.getClientRects().length && (range => {
                            range.selectNodeContents(cell); return new Set([...range.getClientRects()]
                                .map(line => line.top)).size > 1 + cell.innerText.split(/[- ]/).length - 1 })(new Range()))
                        .length""")
                    assert broken == 0, f"{broken} cells have broken words"
            assert len(papers) == 2, "both themes look alike"
            # The text of a finding has a tag in it.
            assert (
                browser.value("document.querySelector('ran') === null && document.body.innerText.includes('<ran>')")
                is True
            )
            rows = browser.value("document.querySelectorAll('.list tr').length")
            print(f"{page.stat().st_size} bytes, {rows} rows, texts are escaped")
            assert rows > len(slow) / 2
            browser.session = {}
            browser.do("Browser.close")
            browser.process.wait(timeout=60)
        finally:
            watch.cancel()
            browser.process.kill()
            browser.process.wait()


if __name__ == "__main__":
    main()
