#!/usr/bin/env python3
"""The report in a browser: what it shows beside what the database holds, that it works by mouse and keyboard, in light
and dark, on narrow screens, with ten thousand runs; no errors, nothing from a network, nothing left behind.

usage: tests/report/browser.py build/release/bin/gpumux [-k PATTERN]        the tests
       tests/report/browser.py build/release/bin/gpumux --pictures FOLDER [DB]   report-light.png, -dark.png, -narrow.png
                                                                  of experiments/basics/pairs.toml, or of DB (with fonts-inter)

Debian packages: chromium chromium-driver python3-selenium. Without them the tests are skipped (exit code 77), unless
GPUMUX_NEED_BROWSER is set.
"""
import ctypes
import os
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # nothing among the sources

import example
import page
import pictures
from report_case import ReportCase

TESTS = ["test_numbers", "test_use", "test_reading", "test_common_set", "test_address", "test_tables", "test_preemption", "test_interference", "test_views", "test_cpus"]


def at_home_in(folder):
    """Chromium and its driver keep what they keep in there."""
    for name, part in [("HOME", "home"), ("XDG_CONFIG_HOME", "home/config"), ("XDG_CACHE_HOME", "home/cache"),
                       ("XDG_DATA_HOME", "home/data"), ("XDG_RUNTIME_DIR", "home/run"), ("TMPDIR", "tmp")]:
        os.environ[name] = os.path.join(folder, part)
        os.makedirs(os.environ[name], mode=0o700, exist_ok=True)
    tempfile.tempdir = None  # asks for TMPDIR again


def left_over(folder):
    """Processes that were started with this home."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if os.fsencode(folder) + b"/home" in file.read():
                    found.append(int(entry))
        except OSError:
            pass  # gone, or another user's
    return found


def adopt_orphans():
    """What Chromium leaves alone becomes a child of this process."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_processes(folder):
    """True when all have ended by themselves."""
    patience = time.monotonic() + 20
    while left_over(folder) and time.monotonic() < patience:
        time.sleep(0.05)
        reap()
    reap()
    left = left_over(folder)
    for process in left:
        print(f"left over: process {process}", file=sys.stderr)
        os.kill(process, signal.SIGKILL)
        reap()
    return not left


def run_tests(options, folder):
    try:
        ReportCase.prepare(folder)
        outcome = unittest.main(module=None, argv=[sys.argv[0], *options, *TESTS], verbosity=2, exit=False)
    finally:
        ReportCase.end()
    return outcome.result.wasSuccessful()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    example.PROGRAM = os.path.abspath(sys.argv[1])
    options = sys.argv[2:]
    if not page.INSTALLED:
        print("needs the packages chromium, chromium-driver and python3-selenium", file=sys.stderr)
        return 1 if os.environ.get("GPUMUX_NEED_BROWSER") else 77
    with tempfile.TemporaryDirectory(prefix="gpumux-report-") as folder:
        at_home_in(folder)
        adopt_orphans()
        if options[:1] == ["--pictures"]:
            pictures.pictures(folder, *options[1:])
            good = True
        else:
            good = run_tests(options, folder)
        good = end_processes(folder) and good
    return 0 if good else 1


sys.exit(main())
