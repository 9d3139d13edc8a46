#!/usr/bin/env python3
"""Which results a page of this folder stands on, and whether they are today's.

usage: fingerprint.py PAGE       the line that belongs at the end of the page, e.g. dai18.md
       fingerprint.py --check    names the pages whose fingerprint is not today's, and the command that makes them anew

A fingerprint is a hash over the golden runs (tests/machine/data/golden.txt) of the page's machines, of every policy and
level on wang17-16sm for pages that compare policies, and of the PTX of the applications of the page's papers. A change that
moves no result leaves it as it is; one that moves a golden run or a kernel ages the pages that stand on it.
"""
import hashlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parents[1] / "tests/machine/data/golden.txt"
BENCHMARKS = HERE.parents[1] / "benchmarks"
POLICIES = "wang17-16sm"  # whose golden runs are one of each policy and level
PAPERS = ["awatramani17", "chimera15", "dai18", "kayiran14", "wang17"]

AWATRAMANI = ["awatramani17-m2090", "awatramani17-k20x", "awatramani17-onac32"]
KAYIRAN = ["kayiran14-hetero", "kayiran14-small3x3"]
# page -> (machines, command)
PAGES = {
    "awatramani17.md": (AWATRAMANI + [POLICIES], "docs/results/awatramani17.sh"),
    "chimera15.md": (["chimera15-fermi30", POLICIES], "docs/results/chimera15.sh"),
    "chimera15-table2.md": (["chimera15-fermi30"], "docs/results/chimera15-table2.sh"),
    "dai18.md": (["dai18-maxwell", POLICIES], "docs/results/dai18.sh"),
    "dai18-code.md": (["dai18-maxwell", POLICIES], "docs/results/dai18-code.sh"),
    "dai18-table2.md": (["dai18-maxwell"], "docs/results/dai18-table2.sh"),
    "kayiran14.md": (KAYIRAN + [POLICIES], "docs/results/kayiran14.sh"),
    "ledger.md": (["dai18-maxwell"], "docs/results/ledger.sh"),
    "measured.md": (["v100-measured", "a100-measured", "h100-measured"], "docs/results/measured.sh"),
    "originals.md": (["chimera15-fermi30"], "docs/results/originals.py"),
    "sharing-hardware.md": (["h100-measured"], "docs/results/sharing-hardware.py"),
    "wang17.md": (["wang17-56sm", POLICIES], "docs/results/wang17.sh"),
}
LINE = re.compile(r"^<!-- fingerprint ([0-9a-f]{12}) -->$", re.M)


def fingerprint(page):
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    machines = PAGES[page][0]
    known = {line.split(" ", 1)[0] for line in lines}
    missing = [machine for machine in machines if machine not in known]
    if missing:
        sys.exit(f"error: {GOLDEN.name} has no run on {', '.join(missing)}, on which {page} stands")
    chosen = [line for line in lines if line.split(" ", 1)[0] in machines]
    return hashlib.sha256("\n".join(chosen + kernels(page)).encode()).hexdigest()[:12]


def kernels(page):
    """Hashes of the PTX of the folders that register an application of the page's papers."""
    papers = [paper for paper in PAPERS if any(machine.startswith(paper) for machine in PAGES[page][0] if machine != POLICIES)]
    found = []
    for folder in sorted(path for path in BENCHMARKS.iterdir() if path.is_dir()):
        sources = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.cpp")))
        if any(f'"{paper}/' in sources for paper in papers):
            found += [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.ptx"))]
    return found


def check():
    for page in PAGES:
        found = LINE.search((HERE / page).read_text(encoding="utf-8"))
        if not found:
            print(f"docs/results/{page} has no fingerprint: it may be older than the results of today; {PAGES[page][1]} makes it anew")
        elif found[1] != fingerprint(page):
            print(f"docs/results/{page} is older than the results of today; {PAGES[page][1]} makes it anew")


def main():
    if sys.argv[1:] == ["--check"]:
        check()
    elif len(sys.argv) == 2 and sys.argv[1] in PAGES:
        print(f"<!-- fingerprint {fingerprint(sys.argv[1])} -->")
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
