"""A headless Chromium, and what a page in it shows."""
import os
import shutil
import time

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = By = Keys = None

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
INSTALLED = bool(webdriver and CHROMIUM and DRIVER)
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


def click(driver, node):
    """A link or a button, wherever it is on the page."""
    driver.execute_script("arguments[0].click()", node)
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


def load(driver, page):
    """Until everything that is in sight has been drawn."""
    driver.get("about:blank")
    driver.get("file://" + page)
    wait(lambda: driver.execute_script("return document.documentElement.dataset.ready"), "the page is ready")
    frame(driver)


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
