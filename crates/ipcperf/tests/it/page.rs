//! Pages in a browser: nothing is asked for, nothing is complained of, and nothing is missing without scripts, on a
//! narrow screen, in the dark or by keyboard. A browser that is found is driven over two pipes, by the DevTools protocol.

use crate::common::{Sandbox, skipped, words};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What happened since it was last asked.
    events: Vec<Value>,
}

impl Browser {
    /// None where there is none.
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let is_here = |name: &&&str| {
            let version = Command::new(name).arg("--version").stderr(Stdio::null()).output();
            version.is_ok_and(|output| output.status.success())
        };
        let name = BROWSERS.iter().find(is_here);
        let Some(name) = name else {
            skipped("chromium", "none of that name, nor Chrome");
            return None;
        };
        let profile = format!("--user-data-dir={}", sandbox.temporary().join("browser").display());
        // The protocol goes over descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1"#, name]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]);
        command.args([
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            &profile,
            "about:blank",
        ]);
        let mut child = sandbox
            .surround(command, &[])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let from = BufReader::new(from);
        let mut browser = Self { child, to, from, session: None, number: 0, events: Vec::new() };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(ToOwned::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn hear(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).expect("the browser speaks");
        message.pop();
        serde_json::from_slice(&message).expect("the browser is still there, and says JSON")
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut question = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            question["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{question}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.hear();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until it is there; everything that the page asked for or complained of.
    fn open(&mut self, file: &str) -> Vec<String> {
        self.events.clear();
        self.ask("Page.navigate", json!({"url": file}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.hear();
            self.events.push(event);
        }
        self.complaints(file)
    }

    fn complaints(&mut self, file: &str) -> Vec<String> {
        // Whatever is on its way comes before the answer.
        self.value("1");
        let is_own = |event: &&Value| {
            event["method"] == "Network.requestWillBeSent"
                && [file, "data:,"]
                    .contains(&event["params"]["request"]["url"].as_str().unwrap_or_default())
        };
        let tells = [
            "Network.requestWillBeSent",
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
        ];
        let told = self
            .events
            .iter()
            .filter(|event| tells.contains(&event["method"].as_str().unwrap_or_default()));
        told.filter(|event| !is_own(event)).map(ToString::to_string).collect()
    }

    /// What an expression is in the page.
    fn value(&mut self, expression: &str) -> Value {
        let answer = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", answer);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    fn screen(&mut self, width: u32, theme: &str) {
        let metrics =
            json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": true});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({"name": "prefers-color-scheme", "value": theme});
        self.ask("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    fn press(&mut self, key: &str) {
        let code = if key == "Tab" { 9 } else { 13 };
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            self.ask("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code}));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What would be a script, an address or an end if it were not only a text.
const HOSTILE: &str = "</script><script>console.log('in')</script><img src=http://localhost/x onerror=console.log('in')>]]>'\"\u{202e}\u{0}";

/// A page of a short run of two sizes, with hostile names among the others.
fn page(sandbox: &Sandbox) -> (String, Value) {
    let line = "run -m pipe,unix-stream,fifo -s 64,4K --place same-cpu --rounds 8 --slice 3ms \
                --warmup 1ms -o result.json -q";
    sandbox.done(&words(line));
    let mut document = sandbox.result("result.json");
    document["host"]["cpu_model"] = json!(HOSTILE);
    document["kernel"]["sysctl"] = json!({HOSTILE: HOSTILE});
    document["invocation"]["argv"] = json!([HOSTILE]);
    document["cells"][0]["knobs"] =
        json!({"pipe.size": {"requested": HOSTILE, "effective": HOSTILE}});
    (shown(sandbox, &document, "page"), document)
}

/// The page of a document.
fn shown(sandbox: &Sandbox, document: &Value, name: &str) -> String {
    let [from, to] = ["json", "html"].map(|ending| format!("{name}.{ending}"));
    std::fs::write(sandbox.home().join(&from), document.to_string()).expect("ours");
    let ended = sandbox.run(&["report", &from, "--format", "html", "-o", &to]);
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), String::new()));
    address(sandbox, &to)
}

fn address(sandbox: &Sandbox, file: &str) -> String {
    format!("file://{}", sandbox.home().join(file).display())
}

/// The same cells as the answer to a question, as an explanation, over two documents that are kept, and of three hosts.
fn others(sandbox: &Sandbox, document: &Value) -> [(String, &'static str); 4] {
    let mut explained = document.clone();
    explained["invocation"]["plan"]["command"] = json!("explain");
    explained["noise"]["grade"] = json!("B");
    let mut chosen = explained.clone();
    chosen["invocation"]["plan"]["command"] = json!("choose");
    chosen["invocation"]["plan"]["requirements"] =
        json!({"sizes": [64, 4096], "by": "p50", "left_out": [HOSTILE]});
    for (at, release) in [(1, "6.1"), (2, HOSTILE)] {
        explained["kernel"]["release"] = json!(release);
        let file = sandbox.home().join(format!("nightly-{at}.json"));
        std::fs::write(file, explained.to_string()).expect("ours");
    }
    let cell = "fifo ping-pong 4K same-cpu";
    let ended = sandbox.run(&[
        "trend",
        "nightly-1.json",
        "nightly-2.json",
        "--cell",
        cell,
        "-o",
        "trend.html",
    ]);
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), String::new()));
    explained["kernel"]["release"] = json!("6.18");
    std::fs::write(sandbox.home().join("third.json"), explained.to_string()).expect("ours");
    let hosts = ["report", "nightly-1.json", "nightly-2.json", "third.json", "-o", "hosts.html"];
    let ended = sandbox.run(&hosts);
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), String::new()));
    [
        (address(sandbox, "trend.html"), cell),
        (address(sandbox, "hosts.html"), "3 hosts in 3 groups by CPU and kernel: too few"),
        (shown(sandbox, &explained, "explained"), "On "),
        (shown(sandbox, &chosen, "chosen"), " for 64 B and 4 KiB with both ends on one CPU"),
    ]
}

/// Each row of the table: its address and the numbers behind its figures.
const ROWS: &str = "[...document.querySelectorAll('#all-rows tbody tr')].map(row => [row.id, ...[...row.cells].map(cell => cell.dataset.v ?? null)])";

/// How wide the first picture is that the window shows, and whether it stands below the heading and above all tables.
const FIRST: &str = "(() => {
  const box = (element) => element.getBoundingClientRect();
  const isSeen = (element) => element.getClientRects().length;
  const [picture] = [...document.querySelectorAll('figure svg')].filter(isSeen);
  const tables = [...document.querySelectorAll('table')].filter(isSeen);
  const isFirst = box(document.querySelector('h1')).bottom <= box(picture).top
    && tables.every((table) => box(picture).bottom <= box(table).top);
  return {width: box(picture).width, is_first: isFirst};
})()";

/// Rows of short texts that are more than two lines high, and texts of stacked rows that end outside of the window.
const CRAMPED: &str = "(() => {
  const isTall = (row) => [...row.cells].every((cell) => cell.className !== 't') && row.offsetHeight > 72;
  const isCut = (cell) => cell.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5;
  return [...document.querySelectorAll('.rows:not(:has(#all-rows)) tbody tr')].filter(isTall)
    .concat(innerWidth < 640 ? [...document.querySelectorAll('.stack td, .stack th')].filter(isCut) : [])
    .map((element) => element.textContent);
})()";

/// Texts of pictures that are cut, or smaller than 11 px, with how many there are at all.
const CUT: &str = "(() => {
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  // Of two drawings the window shows one.
  const all = [...document.querySelectorAll('.chart svg text')].filter((text) => text.getClientRects().length);
  const isCut = (text) => {
    const picture = text.ownerSVGElement, frame = picture.getBoundingClientRect();
    const own = text.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(text).fontSize) * frame.width / picture.viewBox.baseVal.width;
    return !(size >= 11) || own.left < frame.left - 0.5 || own.right > frame.right + 0.5
      || own.top < frame.top - 0.5 || own.bottom > frame.bottom + 0.5
      || own.left < 0 || own.right > document.documentElement.clientWidth;
  };
  return [all.length, all.filter(isCut).map((text) => text.textContent)];
})()";

#[test]
fn a_page_asks_for_nothing_and_has_everything() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Browser::start(&sandbox) else { return };
    let (file, document) = page(&sandbox);
    let cells = document["cells"].as_array().expect("cells").clone();

    // Wide and narrow, light and dark.
    let pages = others(&sandbox, &document);
    let mut grounds = Vec::new();
    for (width, theme) in [
        (1280, "light"),
        (1280, "dark"),
        (1920, "light"),
        (1920, "dark"),
        (768, "light"),
        (360, "light"),
        (360, "dark"),
    ] {
        browser.screen(width, theme);
        for (file, headline) in
            pages.iter().map(|(file, words)| (file, *words)).chain([(&file, "")])
        {
            assert_eq!(browser.open(file), [""; 0], "{file} {width} {theme}");
            let wide = browser.value("document.scrollingElement.scrollWidth");
            let is_within = wide.as_u64().is_some_and(|wide| wide <= u64::from(width));
            assert!(is_within, "{file}: {wide} of {width}");
            let found = "document.querySelector('h1').textContent.replaceAll('\\u00a0', ' ')";
            let found = browser.value(found);
            assert!(found.as_str().is_some_and(|found| found.contains(headline)), "{found}");
            let drawn = browser.value(FIRST);
            assert_eq!(drawn["is_first"], true, "{file}: {drawn}");
            let least = if width >= 1280 { 720.0 } else { 300.0 };
            assert!(drawn["width"].as_f64() >= Some(least), "{file} {width}: {drawn}");
            assert_eq!(browser.value(CRAMPED), json!([]), "{file} {width} {theme}");
        }
        // The last of them has the pictures of a report, which are drawn for any width.
        let cut = browser.value(CUT);
        assert_eq!(cut[1], json!([]), "{width} {theme}");
        assert!(cut[0].as_u64() > Some(4 * cells.len() as u64), "{} texts", cut[0]);
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1], "a dark page is dark");
    assert_eq!(grounds[0], "rgb(255, 255, 255)", "the style is in force");
    browser.screen(1280, "light");
    browser.open(&file);
    assert_eq!(browser.value("document.scripts.length"), 1);
    assert_eq!(browser.value("document.images.length"), 0);

    // The numbers are those of the document, to the last digit.
    let rows = browser.value(ROWS);
    let mut compared = 0;
    for (at, cell) in cells.iter().enumerate() {
        let shown: Vec<f64> = rows[at]
            .as_array()
            .expect("a row")
            .iter()
            .filter_map(|one| one.as_str()?.parse().ok())
            .collect();
        let figures = [
            &cell["size_bytes"],
            &cell["rtt_ns"]["p50"]["value"],
            &cell["rtt_ns"]["p90"]["value"],
            &cell["cpu_ns_per_message"]["total"],
        ];
        for figure in figures.into_iter().filter_map(Value::as_f64) {
            assert!(shown.contains(&figure), "{figure} of {} in {shown:?}", cell["id"]);
            compared += 1;
        }
    }
    assert!(compared > 2 * cells.len(), "{compared} figures of {} cells", cells.len());

    // By keyboard: to the heads of the table, which sort.
    let order =
        "[...document.querySelectorAll('#all-rows tbody tr')].map(row => +row.cells[4].dataset.v)";
    browser.value("document.querySelector('#find').focus()");
    for _ in 0..20 {
        browser.press("Tab");
        if browser.value("document.activeElement.textContent") == "p50" {
            break;
        }
    }
    assert_eq!(browser.value("document.activeElement.textContent"), "p50");
    browser.press("Enter");
    let up: Vec<f64> = serde_json::from_value(browser.value(order)).expect("numbers");
    assert!(up.is_sorted() && up.len() == cells.len(), "{up:?}");
    assert_eq!(browser.value("document.activeElement.closest('th').ariaSort"), "ascending");
    browser.press("Enter");
    let down: Vec<f64> = serde_json::from_value(browser.value(order)).expect("numbers");
    assert!(down.iter().rev().is_sorted(), "{down:?}");

    // The filter leaves what has all of its words, and an address brings back what it hides.
    let shown =
        "[...document.querySelectorAll('#all-rows tbody tr')].filter(row => !row.hidden).length";
    browser.value(
        "{ const find = document.querySelector('#find'); find.value = 'fifo 4 KiB'; find.dispatchEvent(new Event('input')); 0 }",
    );
    assert_eq!(browser.value(shown), 1);
    let id = rows[0][0].as_str().expect("an address").to_owned();
    browser.value(&format!(
        "location.hash = '{id}'; dispatchEvent(new HashChangeEvent('hashchange'))"
    ));
    assert_eq!(browser.value(shown), cells.len() as u64);
    let target = browser
        .value(&format!("getComputedStyle(document.getElementById('{id}')).backgroundColor"));
    assert_ne!(target, "rgba(0, 0, 0, 0)", "what the address names stands out");

    // What the policy forbids does not happen, and is told.
    browser.events.clear();
    browser.value(
        "{ const own = document.createElement('script'); own.append('window.broken = 1'); document.body.append(own); 0 }",
    );
    assert_eq!(browser.value("typeof window.broken"), "undefined");
    assert!(!browser.complaints(&file).is_empty(), "the policy holds");

    // Without scripts everything is there but what only a script can do.
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    assert_eq!(browser.open(&file), [""; 0]);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    assert_eq!(browser.value(ROWS), rows);
    assert_eq!(browser.value("document.querySelectorAll('#find').length"), 0);
    assert!(
        browser.value("document.querySelectorAll('svg').length").as_u64()
            > Some(cells.len() as u64)
    );
}
