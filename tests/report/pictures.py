"""The pictures of docs/report.md."""
import base64
import os
import subprocess

import example
from page import browser, go, load, scheme, size

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def save(driver, path):
    """What is in view."""
    shown = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    with open(path, "wb") as file:
        file.write(base64.b64decode(shown["data"]))


def pictures(temporary, folder, db=None):
    """Into `folder`, of the database, or of that of experiments/basics/pairs.toml, which is made first."""
    page = os.path.join(temporary, "report.html")
    if not db:
        db = os.path.join(temporary, "pairs.sqlite")
        sweep = os.path.join(SOURCE, "experiments/basics/pairs.toml")
        subprocess.run([example.PROGRAM, "sweep", sweep, "--scale", "quick", "--db", db], check=True)
    example.write_report(db, page)
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
