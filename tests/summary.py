#!/usr/bin/env python3
"""The last lines of a test run: what failed, what was skipped and why, and the counts.

usage: tests/summary.py RESULTS.xml      as ctest --output-junit writes it
"""
import collections
import re
import sys
import xml.etree.ElementTree


def reason(case):
    """Why a test was skipped, as it says itself."""
    if case.get("status") == "disabled":
        return "disabled: it prints figures and checks nothing"
    text = case.findtext("system-out") or ""
    if found := re.search(r"Skipped\n+(.*?)\n", text):  # GoogleTest: "file:line: Skipped", and what the test says
        return found[1].strip() or "no reason given"
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def main():
    cases = list(xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    failed = [case for case in cases if case.get("status") == "fail" or case.find("failure") is not None]
    skipped = collections.defaultdict(list)
    for case in cases:
        if case not in failed and (case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")):
            skipped[reason(case)].append(case.get("name"))
    for case in failed:
        print(f"failed: {case.get('name')}")
    for why, names in sorted(skipped.items()):
        print(f"skipped: {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {why}")
    count = sum(len(names) for names in skipped.values())
    print(f"{len(cases) - len(failed) - count} passed, {len(failed)} failed, {count} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
