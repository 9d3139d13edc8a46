#!/usr/bin/env python3
"""clang-tidy over the program's sources, each of them compiled by itself, and rules of the text. Verdicts are kept.

usage: tests/lint/lint.py BUILD_FOLDER [--jobs N] [--fresh]
  BUILD_FOLDER  configured for clang (build/lint); its generated headers exist
  --jobs N      compilers at a time (default: the number of processors)
  --fresh       forget the verdicts that are kept

clang-tidy reads the units of the build, each of which includes several sources of a folder: common headers are then read
once. That hides a missing include from it, so each source is compiled alone, too, but only as far as its syntax.

A verdict without a finding is kept in ~/.cache/gpumux/lint (XDG_CACHE_HOME) under a hash of all that it depends on: the
source, every header of ours that it reaches, the command, the configuration, the compiler and the packages it reads.
Exit status 1 when something is found.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "apps", "benchmarks", "papers", "python", "recorder", "cudart", "driver")
# What a unit includes are sources: findings in them count, that they are included does not.
TIDY = ["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", r"--header-filter=(%s|include/[a-z0-9]+)/.*\.[ch]pp$" % "|".join(FOLDERS)]
PACKAGES = ["clang-tidy", "libstdc++*-dev", "libfmt-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libcli11-dev", "libgtest-dev"]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.cpp", "*.hpp"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).exists()]


class Files:
    """Contents, and what a file includes, looked up once."""

    def __init__(self):
        self.texts, self.hashes = {}, {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = path.read_text(errors="replace") if path.is_file() else None
        return self.texts[path]

    def reached(self, path, folders, seen):
        """All files that `path` includes by name in quotes, over others, too."""
        if path in seen or self.text(path) is None:
            return
        seen.add(path)
        for name in INCLUDE.findall(self.text(path)):
            for folder in (path.parent, *folders):
                if self.text(folder / name) is not None:
                    self.reached(pathlib.Path(os.path.normpath(folder / name)), folders, seen)
                    break

    def digest(self, path, words):
        folders = [pathlib.Path(w[2:]) for w in words if w.startswith("-I")]
        seen = set()
        self.reached(path, folders, seen)
        whole = hashlib.sha256()
        for each in sorted(seen):
            whole.update(f"{each}\0{hashlib.sha256(self.text(each).encode()).hexdigest()}\n".encode())
        return whole.hexdigest()


def rules(all_sources, files):
    """Findings that need no compiler: lines "file:line:column: error: text"."""
    found = []
    for path in all_sources:
        text, name = files.text(path), path.relative_to(ROOT)
        for match in re.finditer(r'^#include "[^"]+\.cpp"', text, re.M):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}:1: error: a source is included; what both need belongs into a header")
        if path.suffix != ".cpp":
            continue
        code = re.sub(r"//[^\n]*", "", text)
        for match in re.finditer(r"^using (?:[\w]+::)+(\w+);", code, re.M):
            if len(re.findall(rf"\b{match[1]}\b", code)) == 1:
                line = text[:text.index(match[0])].count("\n") + 1
                found.append(f"{name}:{line}:1: error: nothing uses `{match[0]}`; remove it")
    return found


def commands(build):
    """Unit or source -> words of its command without the output, with whatever names the compiler first."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        while not re.search(r"(clang|g|c)\+\+[-0-9.]*$", words[0]):
            words = words[1:]  # ccache and its settings
        at = words.index("-o")
        found.append((pathlib.Path(entry["file"]), words[:at], entry["directory"]))
    return found


def is_ours(path):
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    files, all_sources = Files(), sources()
    found = rules(all_sources, files)

    packages = subprocess.run(["dpkg-query", "-W", *PACKAGES], capture_output=True, text=True).stdout
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout + packages
    configuration = (ROOT / ".clang-tidy").read_text()
    kept = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gpumux" / "lint"
    kept.mkdir(parents=True, exist_ok=True)

    work = []  # (key, command, folder)
    alone = {}  # source -> (words, folder); one that several programs share is compiled once
    for unit, words, folder in commands(build):
        inside = [pathlib.Path(name) for name in INCLUDE.findall(files.text(unit) or "")] if build in unit.parents else [unit]
        for path in filter(is_ours, inside):
            alone.setdefault(path, (words, folder))
        if inside and all(is_ours(path) for path in inside):
            command = [*TIDY, "-p", str(build), str(unit)]
            key = [version, configuration, files.digest(unit, words), " ".join(words), " ".join(command)]
            work.append((key, command, folder))
    for path, (words, folder) in sorted(alone.items()):
        command = [*words, "-Wno-everything", "-fsyntax-only", str(path)]
        work.append(([version, files.digest(path, words), " ".join(command)], command, folder))

    def judge(item):
        key, command, folder = item
        place = kept / hashlib.sha256("\0".join(key).encode()).hexdigest()
        if place.exists() and not arguments.fresh:
            place.touch()
            return ""
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode == 0 and "error:" not in run.stdout:
            place.touch()
            return ""
        return (run.stdout + run.stderr).replace(f"{ROOT}/", "")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done, said in enumerate(pool.map(judge, work), 1):
            print(f"[{done}/{len(work)}]", flush=True)
            if said:
                found.append(said.rstrip())
    old = sorted(kept.iterdir(), key=lambda path: path.stat().st_mtime)[:-20000]
    for path in old:
        path.unlink()
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
