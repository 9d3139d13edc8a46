#!/usr/bin/env python3
"""Programs of public suites under gpumux beside what they print on a GPU: validation/cuda-programs.json.

usage: docs/results/cuda-programs.py record FOLDER [--only REGEX]
       docs/results/cuda-programs.py check FOLDER build/release/bin/gpumux [--only REGEX] [--seconds N] [--jobs N] [--long] [--write]
  record   on a machine with an NVIDIA GPU: runs each program twice, and keeps a digest of each line; those that check
           their results themselves ("expects") need none
  check    runs them with `gpumux capture`, those that launch no kernel with `gpumux run`; --write: into cuda-programs.md, where --only leaves the others' rows
FOLDER has the suites as published, each in the folder that validation/cuda-programs.json gives for it. What is not built yet
is built with the commands there. --seconds: for each program (200). --long: those, too, that are marked as not through in 200 s.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPECTED = ROOT / "validation" / "cuda-programs.json"
PAGE = ROOT / "docs" / "results" / "cuda-programs.md"
MACHINE = "h100-measured"
# Numbers on lines with one of these words are times, or follow from times.
OF_TIME = re.compile(r"time|[GMT]i?B/s|flop|bandwidth|throughput|second|\bms\b|\bus\b|\bns\b|msec|usec|speed|clock|perf|latency|"
                     r"\brate\b|elapsed|duration|/sec|/s\b|iterations while", re.I)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|\binf\b|-?\bnan\b")
DEVICE = re.compile(rf"NVIDIA [A-Z]+\d+|{MACHINE}")
OF_HOST = re.compile(r"host CPUs|^OS_System_Type|^OS Info")


def masked(line):
    if OF_HOST.search(line):
        return "HOST"
    line = DEVICE.sub("DEVICE", line)
    return re.sub(r"[\s:]+", " ", NUMBER.sub("#", line)) if OF_TIME.search(line) else line.rstrip()


def lines_of(text):
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()]


def digests(text):
    return [hashlib.sha256(masked(line).encode()).hexdigest()[:12] for line in lines_of(text)]


def execute(command, folder, seconds):
    """Exit code (None: not through), standard output and error, seconds."""
    began = time.monotonic()
    run = subprocess.run(["timeout", "-k", "2", str(seconds), "bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = [stream.decode("latin1") for stream in (run.stdout, run.stderr)]
    return None if run.returncode in (124, 137) else run.returncode, *text, time.monotonic() - began


def built(program, folder):
    where = folder / program["folder"]
    file = where / program["run"].split()[0]
    if not file.exists() and where.exists():
        execute(program["build"], where, 600)
    return file.exists()


def record(arguments, programs):
    for program in programs:
        if "expects" in program:
            continue
        if not built(program, arguments.folder):
            print(f"{program['name']}: does not compile", flush=True)
            continue
        runs = [execute(program["run"], arguments.folder / program["folder"], arguments.seconds) for _ in range(2)]
        if runs[0][0] is None:
            print(f"{program['name']}: not through", flush=True)
            continue
        program.update(expectation(runs[0][0], [run[1] for run in runs]))
        print(f"{program['name']}: exit {program['exit']}, {len(program['lines'])} lines", flush=True)


def expectation(code, outputs):
    first, second = digests(outputs[0]), digests(outputs[-1])
    varying = [i for i, (a, b) in enumerate(zip(first, second)) if a != b] if len(first) == len(second) else None
    return {"exit": code, "lines": first, "varying": varying}


def verdict(program, arguments):
    if program.get("long") and not arguments.long:
        return "not tried", "executes more than 200 s allow", 0
    folder = arguments.folder / program["folder"]
    if "data" in program and not (folder / program["data"]).exists():
        return "not tried", "its data are not in the folder", 0
    if not built(program, arguments.folder):
        return "does not compile", "", 0
    with tempfile.TemporaryDirectory() as scratch:
        bundle = os.path.join(scratch, "a.gmx")
        code, out, err, seconds = execute(f"exec {arguments.gpumux} capture --machine {MACHINE} -o {bundle} -- {program['run']}",
                                          folder, arguments.seconds)
        if code == 2 and "launched no kernel" in err:
            code, out, err, seconds = execute(f"exec {arguments.gpumux} run --quiet --machine {MACHINE} -- {program['run']}", folder,
                                              arguments.seconds)
    said = [line for line in err.strip().splitlines() if not line.startswith(("captured ", "note: "))]
    if code is None:
        return "not through", "", seconds
    if "expects" in program:
        if code == 0 and re.search(program["expects"], out):
            return "same", "; ".join(["checks its results itself", *([program["note"]] if "note" in program else [])]), seconds
        return ("ends", re.sub(r"^.*?error: ", "", said[-1])[:150], seconds) if said else ("differs", "its check fails", seconds)
    ours = digests(out)
    if code == program["exit"] and len(ours) == len(program["lines"]) and program["varying"] is not None:
        other = [i for i, (a, b) in enumerate(zip(ours, program["lines"])) if a != b]
        if not other:
            return "same", "", seconds
        if set(other) <= set(program["varying"]):
            return "same", "but for lines that two runs on a GPU print differently", seconds
    if program["varying"] is None and code == program["exit"]:
        return "same", "two runs on a GPU print different numbers of lines; the exit code is the same", seconds
    if said and (code != program["exit"] or len(ours) < len(program["lines"])):
        return "ends", re.sub(r"^.*?error: ", "", said[-1])[:150], seconds
    missing = [line for line, digest in zip(lines_of(out), ours) if digest not in program["lines"]]
    return "differs", (missing[0].strip()[:100] if missing else f"{len(ours)} lines in place of {len(program['lines'])}"), seconds


def of_page(programs):
    """What the page says of them."""
    rows = [re.fullmatch(r"\| (\S+) \| `(.*)` \| ([a-z ]+) \| (.*) \|", line) for line in PAGE.read_text().splitlines()]
    said = {row[1]: (row[3], row[4], 0) for row in rows if row}
    return [(program, said[name]) for program in programs if (name := f"{program['suite']}/{program['name']}") in said]


def check(arguments, programs, others):
    known = [program for program in programs if "exit" in program or "expects" in program]

    def one(program):
        result = verdict(program, arguments)
        print(f"{program['suite']:13} {program['name']:28} {result[2]:6.1f} s  {result[0]:12} {result[1]}", flush=True)
        return program, result
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(one, known))
    version = subprocess.run([arguments.gpumux, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if arguments.write and arguments.only:
        if version not in PAGE.read_text():
            sys.exit(f"error: {PAGE.name} is not by {version}: write it without --only")
        results += of_page(others)
    count = collections.Counter(result[0] for _, result in results)
    done = len(results) - count["does not compile"] - count["not tried"]
    summary = (f"{count['same']} of {done} print what they print on a GPU, {count['differs']} print something else, {count['ends']} end with an "
               f"error, {count['not through']} were not through in {arguments.seconds} s; {count['not tried']} that take longer, or have no data here, were not tried.")
    print(summary)
    if not arguments.write:
        return
    text = ["# Programs of public suites", "",
            f"Made by `docs/results/cuda-programs.py` with {version}, machine `{MACHINE}`, beside what each printed on an H200, in two runs (where the program checks its results against a CPU's, that check) "
            f"(`validation/cuda-programs.json`, which has the commands; the suites are not part of this repository). {summary}", "",
            "Times, and what follows from them, and the device's name are not compared. Programs are those of HeCBench in a random order, and all "
            "of the CUDA samples, PolyBench and Rodinia, that need no data from outside and no library; their sizes and repetitions are reduced where that is an argument. Of the "
            "rest of HeCBench there are those that check their results themselves and whose default size, or one that is an argument, executes in half a "
            "minute. Some 220 others are not listed: half of them do not end in so short a time; the rest lack data here, do not compile, or check nothing. "
            "Of SHOC and Altis there are those that check their results and compile with CUDA 13, which has no texture references, by one command; Parboil's "
            "programs need data that are not with them, do not compile so, or check nothing. "
            "`docs/cuda-programs.md` says what is not supported.", "", "| suite | programs | same | differ | end | not through | not tried |",
            "|---|---:|---:|---:|---:|---:|---:|"]
    for suite in sorted({program["suite"] for program, _ in results}):
        of = collections.Counter(result[0] for program, result in results if program["suite"] == suite)
        text.append(f"| {suite} | {sum(of.values())} | {of['same']} | {of['differs']} | {of['ends']} | {of['not through']} | {of['not tried']} |")
    text += ["", "| program | command | verdict | |", "|---|---|---|---|"]
    order = ["differs", "ends", "not through", "does not compile", "not tried", "same"]
    for program, (what, why, _) in sorted(results, key=lambda r: (order.index(r[1][0]), r[0]["suite"], r[0]["name"])):
        why = program.get("note", why) if what in ("differs", "ends") else why
        text.append(f"| {program['suite']}/{program['name']} | `{program['run']}` | {what} | {why.replace('|', '/')} |")
    temporary = PAGE.with_suffix(".tmp")
    temporary.write_text("\n".join(text) + "\n")
    temporary.rename(PAGE)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("what", choices=["record", "check"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("gpumux", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    data = json.loads(EXPECTED.read_text())
    programs = [p for p in data["programs"] if re.search(arguments.only, f"{p['suite']}/{p['name']}")]
    arguments.folder = arguments.folder.resolve()
    if arguments.what == "record":
        record(arguments, programs)
        each = ",\n".join(json.dumps(program, separators=(",", ":")) for program in data["programs"])
        EXPECTED.with_suffix(".tmp").write_text(f'{{"gpu": {json.dumps(data["gpu"])},\n"programs": [\n{each}\n]}}\n')
        EXPECTED.with_suffix(".tmp").rename(EXPECTED)
    elif arguments.gpumux is None:
        parser.error("check needs the program: build/release/bin/gpumux")
    else:
        arguments.gpumux = str(pathlib.Path(arguments.gpumux).resolve())
        check(arguments, programs, [p for p in data["programs"] if p not in programs])


if __name__ == "__main__":
    main()
