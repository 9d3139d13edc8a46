#!/usr/bin/env python3
"""The report in a browser: what it shows beside what the database holds, that it works by mouse and keyboard, in light
and dark, on narrow screens, with ten thousand runs; no errors, nothing from a network.

usage: tests/report/browser.py build/release/bin/gpumux                     the tests
       tests/report/browser.py build/release/bin/gpumux --pictures FOLDER [DB]   report-light.png, -dark.png, -narrow.png
                                                                  of experiments/basics/pairs.toml, or of DB (with fonts-inter)

Debian packages: chromium chromium-driver python3-selenium. Without them the tests are skipped (exit code 77), unless
GPUMUX_NEED_BROWSER is set.
"""
import base64
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = ""

SWEEP = """
name = "browser"
machines = ["dai18-maxwell"]
policies = ["leftover", "spatial", "even", "even,warps=lrr"]
apps = ["hotspot", "kmeans", "stream", "sgemm"]
combine = "pairs"
cycles = 3000
[set]
"l1.size" = ["24K", "48K"]
"""
# As `gpumux reproduce --json` writes it.
REPRODUCTION = {
    "schema": "gpumux.reproduce/1", "scale": "quick",
    "claims": [{"id": f"paper.fig{i}", "paper": 1.0 + i / 10, "ours": None if i == 4 else 1.1 + i / 10, "unit": "ratio",
                "direction_agrees": [True, True, False, True, None][i], "size_agrees": [True, False, False, True, None][i],
                "note": "", "what": f"claim {i}", "source": "Figure 1"} for i in range(5)],
    "trends": [{"id": "paper.trend", "paper": "a > b", "ours": "a > b", "unit": None, "direction_agrees": True,
                "size_agrees": None, "note": "", "what": "a before b"}],
    "papers": [{"paper": "paper", "title": "A paper about sharing"}],
}
PAGES = ["overview", "policies", "pairs", "trends", "distributions", "runs", "applications", "papers"]


def browser(downloads, width=1280, height=860):
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1"  # the driver is no matter of a proxy
    options = Options()
    options.binary_location = CHROMIUM
    # Chromium refuses to sandbox for root, which containers run as; /dev/shm is small there.
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                     f"--window-size={width},{height}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    driver.set_script_timeout(60)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": downloads})
    return driver


def size(driver, width, height=860):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def scheme(driver, name):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})


def wait(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"timed out: {what}")


def frame(driver):
    """Until what was changed has been drawn."""
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));")


def go(driver, page):
    driver.execute_script("location.hash = arguments[0]", page)
    wait(lambda: driver.execute_script("return shownPage === '#' + arguments[0]", page), page)
    frame(driver)


def table(driver, name):
    """Headings and the cells that are in the page."""
    return driver.execute_script("""
        const node = document.querySelector(arguments[0]);
        const rows = [...node.querySelectorAll('tbody tr:not(.space)')];
        return {headings: [...node.querySelectorAll('thead th')].map((th) => th.innerText.replace(/[↑↓]/g, '').trim()),
                rows: rows.map((tr) => [...tr.children].map((cell) => cell.innerText)),
                count: Number(node.querySelector('table').getAttribute('aria-rowcount')) - 1};""", name)


def columns(driver, name):
    """{heading: cells}"""
    found = table(driver, name)
    return {heading: [row[i] for row in found["rows"]] for i, heading in enumerate(found["headings"])}


def chart_table(driver, chart):
    """The values that a chart shows, from its table."""
    node = driver.find_element(By.CSS_SELECTOR, f'figure[data-chart="{chart}"]')
    button = node.find_element(By.XPATH, ".//button[text()='Table']")
    driver.execute_script("if (arguments[0].getAttribute('aria-expanded') === 'false') arguments[0].click()", button)
    return table(driver, f'figure[data-chart="{chart}"] .table')


def decimal(value):
    """As the page writes measurements."""
    if value is None:
        return "–"
    magnitude = abs(value)
    if magnitude >= 10000:
        return f"{round(value):,}".replace(",", " ")
    if 0 < magnitude < 0.0005:
        return None  # in exponents, of which there is more than one way
    return f"{value:.{0 if magnitude >= 1000 else 1 if magnitude >= 100 else 2 if magnitude >= 10 else 3}f}"


class Values:
    """What the database says, worked out apart from the page."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)

    def all(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.all(sql, *values)[0][0]

    def stall_share(self, isolated_run):
        stalls, cycles, sms = self.all(
            "SELECT m.value, r.cycles, 16 FROM metrics m JOIN counters c ON c.id = m.counter_id JOIN runs r ON r.id = m.run_id "
            "WHERE c.scope = 'app' AND c.name = 'lsu_stall_cycles' AND m.app = 0 AND m.run_id = ?", isolated_run)[0]
        return stalls / (cycles * sms)

    def workload_class(self, run):
        isolated = [row[0] for row in self.all("SELECT isolated_run_id FROM apps WHERE run_id = ?", run)]
        return "+".join(sorted("M" if self.stall_share(i) > 0.2 else "C" for i in isolated))


SHARED = "SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1"


def make_database(path, folder):
    sweep = os.path.join(folder, "browser.toml")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(SWEEP)
    subprocess.run([PROGRAM, "sweep", sweep, "--db", path, "--jobs", "2"], check=True, cwd=folder,
                   stdout=subprocess.DEVNULL)
    db = sqlite3.connect(path)
    run = db.execute(f"SELECT max(run_id) FROM ({SHARED})").fetchone()[0]
    # What `gpumux run --db` keeps of a run over time.
    db.execute("CREATE TABLE IF NOT EXISTS series (run_id INTEGER, app INTEGER, counter_id INTEGER, interval INTEGER, samples TEXT)")
    db.execute("CREATE TABLE IF NOT EXISTS timelines (run_id INTEGER, trace TEXT)")
    counters = {(scope, name): number for number, scope, name in db.execute("SELECT id, scope, name FROM counters")}
    for app in (0, 1):
        samples = [round(1000 + 900 * math.sin(i / 9 + app)) for i in range(300)]
        db.execute("INSERT INTO series VALUES (?, ?, ?, 10, ?)", (run, app, counters["app", "warp_instructions"], json.dumps(samples)))
    for k, name in enumerate(["issued", "scoreboard_memory", "pipeline_memory"]):
        samples = [10 + (i * (k + 3)) % 50 for i in range(300)]
        db.execute("INSERT INTO series VALUES (?, -1, ?, 10, ?)", (run, counters["schedulers", name], json.dumps(samples)))
    db.execute("INSERT INTO timelines VALUES (?, ?)", (run, json.dumps(trace(100000))))
    db.commit()
    db.close()
    return run


def trace(spans):
    """Blocks on 16 SMs of 4 places each, in the form of `gpumux run --timeline`."""
    events = []
    for sm in range(16):
        events.append({"ph": "M", "name": "process_name", "pid": sm, "args": {"name": f"SM {sm}"}})
        for place in range(4):
            events.append({"ph": "M", "name": "thread_name", "pid": sm, "tid": place, "args": {"name": f"block slot {place}"}})
    for i in range(spans):
        lane, nth = i % 64, i // 64
        events.append({"ph": "X", "cat": "block", "name": ["hotspot", "kmeans", "stream"][(lane + nth // 7) % 3], "pid": lane // 4,
                       "tid": lane % 4, "ts": nth * 10 + lane % 5, "dur": 5 + (i * 7) % 5,
                       "args": {"block": i, "begin_cycle": nth * 10 + lane % 5, "end_cycle": nth * 10 + lane % 5 + 5 + (i * 7) % 5}})
    return {"otherData": {"core_mhz": 1400}, "traceEvents": events}


def multiply(path, runs):
    """The same runs with other seeds, until there are so many."""
    db = sqlite3.connect(path)
    have, most = db.execute("SELECT count(*), max(id) FROM runs").fetchone()
    copies = -(-runs // have) - 1
    for k in range(1, copies + 1):
        shift = k * most
        db.execute(f"INSERT INTO runs SELECT id + {shift}, hash || '-{k}', state, machine_id, policy, seed + {k}, cycle_limit, program, cycles, "
                   f"weighted_speedup * (1 + (id * 7 + {k} * 13) % 50 * 0.002), antt, stp, fairness, result, exit_code, error, wall_seconds, "
                   f"finished_at FROM runs WHERE id <= {most} AND id + {shift} <= {runs}")
        for name, values in [("apps", "position, app, identity, seed, isolated_run_id"), ("overrides", "position, key, value"), ("metrics", "app, counter_id, value")]:
            shifted = values.replace("isolated_run_id", f"isolated_run_id + {shift}")
            db.execute(f"INSERT INTO {name} (run_id, {values}{', ipc, ipc_isolated, normalized_ipc, completions' if name == 'apps' else ''}) SELECT run_id + {shift}, "
                       f"{shifted}{', ipc, ipc_isolated, normalized_ipc, completions' if name == 'apps' else ''} FROM {name} WHERE run_id <= {most} AND run_id + {shift} <= {runs}")
    db.execute("DELETE FROM timelines")
    db.commit()
    db.close()


def write_report(db, page, *options):
    began = time.monotonic()
    subprocess.run([PROGRAM, "report", db, "-o", page, *options], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def load(driver, page):
    """Until everything that is in sight has been drawn."""
    driver.get("about:blank")
    driver.get("file://" + page)
    wait(lambda: driver.execute_script("return document.documentElement.dataset.ready"), "the page is ready")
    frame(driver)


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumux-report-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.db = os.path.join(cls.folder, "browser.sqlite")
        cls.page = os.path.join(cls.folder, "report.html")
        cls.last_run = make_database(cls.db, cls.folder)
        reproduction = os.path.join(cls.folder, "reproduction.json")
        with open(reproduction, "w", encoding="utf-8") as file:
            json.dump(REPRODUCTION, file)
        write_report(cls.db, cls.page, "--reproduction", reproduction)
        cls.values = Values(cls.db)
        cls.downloads = os.path.join(cls.folder, "downloads")
        os.mkdir(cls.downloads)
        cls.driver = browser(cls.downloads)
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self):
        size(self.driver, 1280)
        scheme(self.driver, "light")
        load(self.driver, self.page)

    def tearDown(self):
        self.check_quiet()

    def check_quiet(self):
        """No errors in the console, and nothing asked of a network."""
        self.assertEqual([entry for entry in self.driver.get_log("browser") if entry["level"] != "DEBUG"], [])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:", "data:", "blob:", "about:")), url)

    # --- numbers ------------------------------------------------------------------------------------------------

    def test_overview_has_the_counts_and_means_of_the_database(self):
        tiles = self.driver.execute_script("return Object.fromEntries([...document.querySelectorAll('.tiles div')].map((d) => [d.children[0].innerText, d.children[1].innerText]))")
        self.assertEqual(int(tiles["Runs ended"]), self.values.one("SELECT count(*) FROM runs WHERE state = 'done'"))
        self.assertEqual(tiles["Policies"], "4")
        self.assertEqual(tiles["Applications"], "4")
        means = columns(self.driver, '[data-table="policies"]')
        expected = self.values.all(f"SELECT policy, count(*), avg(weighted_speedup), avg(antt), avg(fairness) FROM runs WHERE id IN ({SHARED}) GROUP BY policy ORDER BY min(id)")
        self.assertEqual(means["Policy"], [row[0] for row in expected])
        self.assertEqual(means["Workloads"], [str(row[1]) for row in expected])
        for i, heading in enumerate(["Weighted speedup", "ANTT", "Fairness"], 2):
            self.assertEqual(means[heading], [decimal(row[i]) for row in expected], heading)
        self.assertEqual(sorted({row[0] for row in chart_table(self.driver, "class-weighted_speedup")["rows"]} - {"All"}),
                         sorted({self.values.workload_class(run) for (run,) in self.values.all(SHARED)}))

    def test_class_means_are_those_of_the_database(self):
        go(self.driver, "policies")
        groups = {}
        for run, policy, speedup in self.values.all(f"SELECT id, policy, weighted_speedup FROM runs WHERE id IN ({SHARED})"):
            for kind in (self.values.workload_class(run), "All"):
                groups.setdefault((kind, policy), []).append(speedup)
        rows = chart_table(self.driver, "class-weighted_speedup")["rows"]
        self.assertEqual(len(rows), len(groups))
        for kind, policy, count, mean in rows:
            self.assertEqual(int(count), len(groups[kind, policy]))
            self.assertEqual(mean, decimal(sum(groups[kind, policy]) / len(groups[kind, policy])), (kind, policy))
        self.assertGreater(len({kind for kind, _ in groups}), 2)

    def test_bars_are_as_high_as_their_values(self):
        heights, values = self.driver.execute_script("""
            const figure = document.querySelector('figure[data-chart="class-weighted_speedup"]');
            const key = [...figure.querySelectorAll('rect[rx]')].length;
            const bars = [...figure.querySelectorAll('rect:not([rx])')].map((rect) => rect.height.baseVal.value);
            return [bars, key];""")
        rows = chart_table(self.driver, "class-weighted_speedup")["rows"]
        self.assertEqual(values, 4)
        self.assertEqual(len(heights), len(rows))
        for height, row in zip(heights, rows):
            self.assertAlmostEqual(height / heights[0], float(row[3]) / float(rows[0][3]), delta=0.01)

    def test_pairs_are_those_of_the_database(self):
        go(self.driver, "pairs")
        expected = {}
        for run, speedup in self.values.all(f"SELECT id, weighted_speedup FROM runs WHERE policy = 'spatial' AND id IN ({SHARED})"):
            apps = [row[0] for row in self.values.all("SELECT app FROM apps WHERE run_id = ? ORDER BY position", run)]
            expected.setdefault(tuple(sorted(apps)), []).append(speedup)
        rows = chart_table(self.driver, "pairs-spatial")["rows"]
        self.assertEqual(len(rows), 2 * len(expected))
        for a, b, mean in rows:
            values = expected[tuple(sorted((a, b)))]
            self.assertEqual(mean, decimal(sum(values) / len(values)))

    def test_trends_follow_the_machine_key_that_changes(self):
        go(self.driver, "trends")
        rows = chart_table(self.driver, "trend")["rows"]
        expected = {(value, policy): mean for value, policy, mean in self.values.all(
            f"SELECT o.value, r.policy, avg(r.weighted_speedup) FROM runs r JOIN overrides o ON o.run_id = r.id AND o.key = 'l1.size' WHERE r.id IN ({SHARED}) GROUP BY 1, 2")}
        self.assertEqual({(value, policy): mean for value, policy, mean in rows}, {key: decimal(mean) for key, mean in expected.items()})
        self.assertEqual(len(chart_table(self.driver, "surface")["rows"]), 8)

    def test_distributions_have_their_quantiles(self):
        go(self.driver, "distributions")
        for policy, count, smallest, *_ in chart_table(self.driver, "distribution")["rows"]:
            values = sorted(row[0] for row in self.values.all(f"SELECT weighted_speedup FROM runs WHERE policy = ? AND id IN ({SHARED})", policy))
            self.assertEqual(int(count), len(values))
            self.assertEqual(smallest, decimal(values[0]))
        select = self.driver.find_element(By.XPATH, "//label[starts-with(., 'As')]/select")
        select.send_keys("Histograms")
        frame(self.driver)
        self.assertIn("Each bar counts runs", self.driver.find_element(By.CSS_SELECTOR, "figure .note").text)

    def test_applications_have_the_stalls_of_their_isolated_runs(self):
        go(self.driver, "applications")
        shown = columns(self.driver, '[data-table="applications"]')
        expected = {f"{100 * self.values.stall_share(run):.1f}%" for (run,) in self.values.all("SELECT DISTINCT isolated_run_id FROM apps WHERE isolated_run_id IS NOT NULL")}
        self.assertEqual(set(shown["LSU stalled"]), expected)
        self.assertEqual({kind for kind, share in zip(shown["Class"], shown["LSU stalled"]) if float(share[:-1]) >= 20}, {"M"})

    def test_a_run_has_all_its_counters(self):
        go(self.driver, f"run/{self.last_run}")
        shown = columns(self.driver, '[data-table="counters"]')
        expected = self.values.all("SELECT c.name, m.value FROM metrics m JOIN counters c ON c.id = m.counter_id WHERE m.run_id = ? ORDER BY 1, 2", self.last_run)
        self.assertEqual(sorted((name, int(value.replace(" ", ""))) for name, value in zip(shown["Counter"], shown["Value"])), expected)

    # --- use ----------------------------------------------------------------------------------------------------

    def test_runs_sort_filter_and_scroll(self):
        go(self.driver, "runs")
        name = '[data-table="runs"]'
        everything = self.values.all(f"SELECT id, weighted_speedup FROM runs WHERE id IN ({SHARED}) ORDER BY weighted_speedup DESC, id")
        self.assertEqual(table(self.driver, name)["count"], len(everything))
        heading = self.driver.find_element(By.XPATH, f"//div[@data-table='runs']//th/button[contains(., 'Weighted speedup')]")
        heading.send_keys(Keys.ENTER)  # by the keyboard
        self.assertEqual(heading.find_element(By.XPATH, "..").get_attribute("aria-sort"), "descending")
        self.assertEqual(columns(self.driver, name)["Weighted speedup"], [decimal(speedup) for _, speedup in everything])
        heading.click()
        self.assertEqual(heading.find_element(By.XPATH, "..").get_attribute("aria-sort"), "ascending")
        self.assertEqual(columns(self.driver, name)["Weighted speedup"], [decimal(speedup) for _, speedup in reversed(everything)])
        self.driver.find_element(By.CSS_SELECTOR, f"{name} input[type=search]").send_keys("hotspot lrr")
        expected = self.values.one("SELECT count(*) FROM runs WHERE policy LIKE '%lrr' AND id IN (SELECT run_id FROM apps WHERE app = 'hotspot') "
                                   f"AND id IN ({SHARED})")
        self.assertEqual(table(self.driver, name)["count"], expected)
        self.assertGreater(expected, 0)

    def test_filters_hold_for_all_pages(self):
        go(self.driver, "policies")
        self.driver.find_element(By.XPATH, "//button[@aria-pressed][text()='leftover']").click()
        frame(self.driver)
        self.assertEqual({row[1] for row in chart_table(self.driver, "class-weighted_speedup")["rows"]}, {"spatial", "even", "even,warps=lrr"})
        go(self.driver, "runs")
        self.assertEqual(table(self.driver, '[data-table="runs"]')["count"],
                         self.values.one(f"SELECT count(*) FROM runs WHERE policy != 'leftover' AND id IN ({SHARED})"))

    def test_charts_answer_to_pointer_and_keyboard(self):
        plot = self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="class-weighted_speedup"] .plot')
        self.assertIn("Weighted speedup by workload class", plot.get_attribute("aria-label"))
        plot.send_keys(Keys.ARROW_RIGHT)
        tip = self.driver.find_element(By.ID, "tip")
        self.assertTrue(tip.is_displayed())
        self.assertIn("Weighted speedup: ", tip.text)
        self.assertEqual(self.driver.find_element(By.ID, "live").get_attribute("textContent"), tip.get_attribute("textContent"))
        first = tip.text
        plot.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(tip.text, first)
        plot.send_keys(Keys.ESCAPE)
        self.assertFalse(tip.is_displayed())
        webdriver.ActionChains(self.driver).move_to_element(plot.find_elements(By.CSS_SELECTOR, "rect:not([rx])")[0]).perform()
        self.assertTrue(tip.is_displayed())

    def test_charts_are_saved_as_svg_and_png(self):
        for kind in ("SVG", "PNG"):
            self.driver.find_element(By.XPATH, f"//figure[@data-chart='class-weighted_speedup']//button[text()='{kind}']").click()
        svg = wait(lambda: self.downloaded("overview.svg"), "the SVG")
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertIn("Weighted speedup by workload class", "".join(root.itertext()))
        self.assertGreater(len(root.findall(".//{http://www.w3.org/2000/svg}rect")), 10)
        png = wait(lambda: self.downloaded("overview.png"), "the PNG")
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(png[16:20], "big"), 2 * int(root.get("width")))
        self.assertGreater(len(png), 5000)
        self.driver.find_element(By.XPATH, "//div[@data-table='policies']//button[text()='CSV']").click()
        csv = wait(lambda: self.downloaded("policies.csv"), "the CSV").decode()
        self.assertEqual(len(csv.splitlines()), 5)

    def downloaded(self, name):
        path = os.path.join(self.downloads, name)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return file.read()

    def test_series_and_states_over_time(self):
        go(self.driver, f"run/{self.last_run}")
        rows = chart_table(self.driver, "series-warp_instructions")
        self.assertEqual(rows["count"], 600)
        states = chart_table(self.driver, "states")
        self.assertEqual(states["count"], 300)
        self.assertEqual(states["rows"][2], ["20", "16", "18", "20"])
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, 'figure[data-chart="states"] path')), 3)
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, 'figure[data-chart="series-warp_instructions"] path')), 2)

    def test_timeline_of_a_hundred_thousand_spans(self):
        go(self.driver, f"run/{self.last_run}")
        self.assertIn("100 000 spans; time in core cycles", self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="timeline"] .note').text)
        colours = """const canvas = document.querySelector('figure[data-chart="timeline"] canvas');
            const context = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
            context.drawImage(canvas, 0, 0);
            const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(pixels).size;"""
        self.assertGreater(self.driver.execute_script(colours), 4)
        view = "const {view} = document.querySelector('figure[data-chart=\"timeline\"]').timeline; return [view.from, view.to];"
        begin, end = self.driver.execute_script(view)
        plot = self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="timeline"] .plot')
        for key in "++++":
            plot.send_keys(key)
        plot.send_keys(Keys.ARROW_RIGHT)
        frame(self.driver)
        low, high = self.driver.execute_script(view)
        self.assertAlmostEqual(high - low, (end - begin) / 16)
        self.assertGreater(low, begin)
        self.assertGreater(self.driver.execute_script(colours), 4)
        milliseconds = self.driver.execute_script("""
            const {data, view} = document.querySelector('figure[data-chart="timeline"]').timeline;
            const context = document.createElement('canvas').getContext('2d');
            const surface = {rect(x, y, w, h, c) { context.fillStyle = c; context.fillRect(x, y, w, h); }, text(x, y, t) { context.fillText(t, x, y); }};
            const began = performance.now();
            for (let i = 0; i < 10; ++i) drawTimeline(surface, data, {from: 0, to: view.to * 20, top: 0}, 1200, 560, 180);
            return (performance.now() - began) / 10;""")
        print(f"timeline of 100 000 spans: {milliseconds:.1f} ms for a whole redraw", file=sys.stderr)

    def test_reproductions(self):
        go(self.driver, "papers")
        self.assertEqual(self.driver.find_element(By.TAG_NAME, "h1").text, "A paper about sharing")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".lead").text,
                         "3 of 4 directions agree; 2 of 4 sizes agree. 1 claim of 5 not judged; the notes say why. 1 of 1 trends agree.")
        shown = columns(self.driver, '[data-table="claims"]')
        self.assertEqual(shown["Ours"], ["1.100", "1.200", "1.300", "1.400", "–"])
        self.assertEqual(shown["Paper"], ["1.000", "1.100", "1.200", "1.300", "1.400"])
        self.assertEqual(shown["Direction"], ["agrees", "agrees", "differs", "agrees", "–"])
        self.assertEqual(columns(self.driver, '[data-table="trends"]')["Paper"], ["a > b"])

    # --- where it is read ---------------------------------------------------------------------------------------

    def all_pages(self):
        return PAGES + [f"run/{self.last_run}"]

    def background(self):
        return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")

    def test_dark_follows_the_system_and_the_switch(self):
        self.assertEqual(self.background(), "rgb(255, 255, 255)")
        light = self.driver.execute_script("return document.querySelector('figure svg').outerHTML")
        scheme(self.driver, "dark")
        frame(self.driver)
        self.assertEqual(self.background(), "rgb(19, 21, 24)")
        self.assertNotEqual(self.driver.execute_script("return document.querySelector('figure svg').outerHTML"), light)
        switch = self.driver.find_element(By.ID, "theme")
        self.assertEqual(switch.text, "Light")
        switch.click()
        self.assertEqual(self.background(), "rgb(255, 255, 255)")
        self.driver.execute_script("localStorage.clear(); themeChoice = 'auto'; applyTheme();")
        for page in self.all_pages():
            go(self.driver, page)

    def test_narrow_screens_scroll_down_only(self):
        for width in (360, 768):
            size(self.driver, width)
            for page in self.all_pages():
                go(self.driver, page)
                self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width, page)

    def test_everything_has_a_name(self):
        for page in self.all_pages():
            go(self.driver, page)
            nameless = self.driver.execute_script("""
                const nameless = [...document.querySelectorAll('button, a, select, input')].filter((node) =>
                    !(node.innerText || '').trim() && !node.getAttribute('aria-label') && !node.labels?.length);
                const tables = [...document.querySelectorAll('table')].filter((node) => !node.caption);
                const charts = [...document.querySelectorAll('.plot')].filter((node) => !node.getAttribute('aria-label'));
                return nameless.concat(tables, charts).map((node) => node.outerHTML.slice(0, 200));""")
            self.assertEqual(nameless, [], page)
            self.assertEqual(self.driver.execute_script("return document.querySelectorAll('h1').length"), 1, page)
            self.assertEqual(self.driver.execute_script("return document.querySelectorAll('nav [aria-current=page]').length"), 1, page)

    def test_policy_lets_nothing_in(self):
        violated = self.driver.execute_async_script("""
            const done = arguments[0];
            const seen = [];
            document.addEventListener('securitypolicyviolation', (event) => { seen.push(event.effectiveDirective); if (seen.length === 3) done(seen.sort()); });
            fetch('http://127.0.0.1:9/').catch(() => {});
            new Image().src = 'http://127.0.0.1:9/x.png';
            const script = document.createElement('script');
            script.textContent = 'window.intruded = true';
            document.body.append(script);
            setTimeout(() => done(seen), 5000);""")
        self.assertEqual(violated, ["connect-src", "img-src", "script-src-elem"])
        self.assertIsNone(self.driver.execute_script("return window.intruded"))
        self.driver.get_log("browser")  # these errors are meant
        self.driver.get_log("performance")

    def test_errors_are_one_line_and_leave_the_old_page(self):
        old = os.path.join(self.folder, "old.html")
        with open(old, "w", encoding="utf-8") as file:
            file.write("old")
        broken = os.path.join(self.folder, "broken.json")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("{\n  \"claims\": [,\n")
        for arguments, message in [(["none.sqlite", "-o", old], "none.sqlite: error: does not exist"),
                                   ([broken, "-o", old], "broken.json: error: "),
                                   ([self.db, "-o", old, "--reproduction", broken], "broken.json:2:14: error: is no JSON"),
                                   ([self.db, "-o", self.folder], ": error: is a folder; a file name was expected"),
                                   ([self.db, "-o", self.db], "would be overwritten by a result"),
                                   ([self.db, "-o", self.db + "-wal"], "would be overwritten by a result"),
                                   ([self.db, "-o", broken, "--reproduction", broken], "would be overwritten by a result"),
                                   ([self.db], "error: ")]:
            outcome = subprocess.run([PROGRAM, "report", *arguments], capture_output=True, text=True, cwd=self.folder, check=False)
            self.assertEqual(outcome.returncode, 2, arguments)
            self.assertIn(message, outcome.stderr)
            self.assertEqual(outcome.stderr.count("\n"), 1, outcome.stderr)
        with open(old, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.folder) if ".part." in name or ".tmp." in name], [])

    def test_ten_thousand_runs(self):
        many = os.path.join(self.folder, "many.sqlite")
        shutil.copy(self.db, many)
        multiply(many, 10000)
        page = os.path.join(self.folder, "many.html")
        written = write_report(many, page)
        began = time.monotonic()
        load(self.driver, page)
        drawn = time.monotonic() - began
        paint = self.driver.execute_script("return performance.getEntriesByType('paint').find(({name}) => name === 'first-contentful-paint')?.startTime")
        print(f"10 000 runs: written in {written:.2f} s, {os.path.getsize(page) / 1e6:.1f} MB; first frame "
              f"after {(paint or 0) / 1000:.2f} s, overview drawn after {drawn:.2f} s", file=sys.stderr)
        values = Values(many)
        self.assertEqual(values.one("SELECT count(*) FROM runs"), 10000)
        means = columns(self.driver, '[data-table="policies"]')
        for policy, mean in zip(means["Policy"], means["Weighted speedup"]):
            exact = values.one(f"SELECT avg(weighted_speedup) FROM runs WHERE policy = ? AND id IN ({SHARED})", policy)
            self.assertAlmostEqual(float(mean), exact, delta=0.003)  # workloads that lack a policy are left out
        times = []
        for name in PAGES[:-1]:
            began = time.monotonic()
            go(self.driver, name)
            times.append(f"{name} {time.monotonic() - began:.2f} s")
        print("pages of 10 000 runs: " + ", ".join(times), file=sys.stderr)
        go(self.driver, "runs")
        shared = values.one(f"SELECT count(*) FROM ({SHARED})")
        shown = table(self.driver, '[data-table="runs"]')
        self.assertEqual(shown["count"], shared)
        self.assertLess(len(shown["rows"]), 120)
        self.driver.execute_script("const node = document.querySelector('[data-table=runs] .scroll'); node.scrollTop = node.scrollHeight")
        frame(self.driver)
        last = values.one(f"SELECT max(run_id) FROM ({SHARED})")
        self.assertEqual(table(self.driver, '[data-table="runs"]')["rows"][-1][0], str(last))


def save(driver, path):
    """What is in view."""
    shown = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    with open(path, "wb") as file:
        file.write(base64.b64decode(shown["data"]))


def pictures(folder, db=None):
    with tempfile.TemporaryDirectory(prefix="gpumux-report-") as temporary:
        page = os.path.join(temporary, "report.html")
        if not db:
            db = os.path.join(temporary, "pairs.sqlite")
            subprocess.run([PROGRAM, "sweep", os.path.join(SOURCE, "experiments/basics/pairs.toml"), "--scale", "quick", "--db", db], check=True)
        write_report(db, page)
        driver = browser(temporary)
        try:
            for name, colours, width, height, shown in [("light", "light", 1280, 1245, "policies"), ("dark", "dark", 1280, 1040, "pairs"),
                                                        ("narrow", "light", 390, 1100, "overview")]:
                size(driver, width, height)
                scheme(driver, colours)
                load(driver, page)
                go(driver, shown)
                save(driver, os.path.join(folder, f"report-{name}.png"))
        finally:
            driver.quit()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if not (webdriver and CHROMIUM and DRIVER):
        print("needs the packages chromium, chromium-driver and python3-selenium", file=sys.stderr)
        sys.exit(1 if os.environ.get("GPUMUX_NEED_BROWSER") else 77)
    if sys.argv[1:2] == ["--pictures"]:
        pictures(*sys.argv[2:])
    else:
        unittest.main(verbosity=2)
