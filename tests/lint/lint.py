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
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "apps", "benchmarks", "papers", "python", "recorder", "cudart", "driver")
INCLUDED_FROM = [ROOT / folder for folder in ("src", *FOLDERS[1:], "tests", ".")]
# What a unit includes are sources: findings in them count, that they are included does not.
TIDY = ["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", r"--header-filter=(%s|include/[a-z0-9]+)/.*\.[ch]pp$" % "|".join(FOLDERS)]
PACKAGES = ["clang-tidy", "libstdc++*-dev", "libfmt-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libcli11-dev", "libgtest-dev"]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
OTHERS = re.compile(r"^#include <([^>]+)>", re.M)
# Names that need their header; those of headers that the standard lets containers bring along are not here.
STANDARD = {
    "algorithm": r"(stable_|partial_)?sort|min|max|minmax|clamp|find(_if(_not)?)?|(any|all|none)_of|count(_if)?|fill(_n)?|"
                 r"copy(_n|_if)?|transform|remove_if|unique|(lower|upper)_bound|equal_range|(min|max|minmax)_element|equal|"
                 r"reverse|rotate|(stable_)?partition|nth_element|generate|replace|search|is_sorted|binary_search|mismatch|"
                 r"for_each|set_(difference|intersection|union)|(push|pop|make)_heap|shuffle|adjacent_find|next_permutation",
    "array": "array",
    "atomic": r"atomic|atomic_ref|atomic_flag|memory_order_\w+",
    "bit": "popcount|count[rl]_(zero|one)|bit_(cast|ceil|floor|width)|has_single_bit|rot[lr]|endian",
    "charconv": "from_chars|to_chars|chars_format",
    "chrono": "chrono",
    "cmath": "sqrt|pow|floor|ceil|l?l?round|log|log2|log10|exp|exp2|fma|isnan|isinf|isfinite|fabs|nearbyint|rint|ldexp|frexp|"
             "sin|cos|tanh|trunc|copysign|fmod|hypot|signbit|scalbn",
    "cstdint": "u?int(8|16|32|64|ptr|max)_t",
    "cstdio": "fprintf|printf|fputs|puts|FILE|fopen|fclose|fread|fwrite|fflush|rename|snprintf|perror|fgets|setvbuf",
    "cstdlib": "getenv|exit|abort|strtoul|strtoull|strtol|malloc|free|system|_Exit|atexit|quick_exit|aligned_alloc",
    "cstring": "mem(cpy|set|cmp|move|chr)|str(len|cmp|ncmp|error|chr|rchr|str)",
    "functional": "function|greater|less|plus|multiplies|reference_wrapper|c?ref|invoke|not_fn|equal_to",
    "iterator": "(back_)?inserter|next|prev|distance|advance|make_move_iterator|istreambuf_iterator",
    "limits": "numeric_limits",
    "memory": "(unique|shared|weak)_ptr|make_(unique|shared)|addressof",
    "mutex": "mutex|(lock|unique|scoped)_(guard|lock)|once_flag|call_once",
    "new": "bad_alloc|nothrow|align_val_t|launder",
    "numbers": "numbers",
    "numeric": "accumulate|iota|gcd|lcm|reduce|midpoint|partial_sum|inner_product|(ex|in)clusive_scan",
    "optional": "optional|nullopt",
    "span": "span|as_(writable_)?bytes|dynamic_extent",
    "sstream": "[io]?stringstream",
    "string": "string|to_string|sto(i|ul|ull)|getline",
    "string_view": "string_view",
    "thread": "j?thread|this_thread",
    "unordered_map": "unordered_map",
    "variant": "variant|visit|holds_alternative|get_if|monostate",
    "vector": "vector",
}
STANDARD = {header: re.compile(rf"\bstd::(?:ranges::)?(?:{names})\b") for header, names in STANDARD.items()}
COMMON = 12  # a header of others that so many sources include is compiled once, but for these: reading them takes longer
NOT_COMMON = {"CLI/CLI.hpp", "filesystem", "nlohmann/json.hpp"}  # than most sources do that do not need them


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
        code = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', re.sub(r"//[^\n]*", "", text))
        reached = set()
        files.reached(path, INCLUDED_FROM, reached)
        included = {header for each in reached for header in OTHERS.findall(files.text(each))}
        for header, names in STANDARD.items():
            if header not in included and (match := names.search(code)):
                line = code.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}:1: error: `{match[0]}` needs <{header}>, which no header of ours includes here")
        for match in re.finditer(r"^using (?:[\w]+::)+(\w+);", code if path.suffix == ".cpp" else "", re.M):
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


class Precompiled:
    """Headers of others that many sources include, compiled when the first source needs it."""

    FLAGS = ["-std=c++20", "-march=x86-64-v3", "-DNDEBUG", "-DFMT_SHARED"]  # as all sources of the program have them

    def __init__(self, paths, files, build):
        count = collections.Counter(header for path in paths for header in OTHERS.findall(files.text(path)))
        self.text = "".join(f"#include <{header}>\n" for header, times in sorted(count.items())
                            if times >= COMMON and header not in NOT_COMMON)
        self.header = build / f"common-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}.hpp"
        self.lock, self.done = threading.Lock(), False

    def command(self, words):
        """A command that reads the headers from here, of one that does not."""
        if "-ffreestanding" in words:
            return words
        kept = [word for word in words if word.startswith(("-I", "-D"))]
        for at, word in enumerate(words):
            kept += words[at:at + 2] if word == "-isystem" else []
        return [words[0], *self.FLAGS, *kept, "-include-pch", f"{self.header}.pch"]

    def build(self):
        with self.lock:
            if not self.done:
                self.header.write_text(self.text)
                subprocess.run(["clang++", *self.FLAGS, "-x", "c++-header", str(self.header), "-o", f"{self.header}.pch"],
                               check=True)
                self.done = True


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

    work = []  # (key, command, folder, sources that it reads)
    alone = {}  # source -> (words, folder); one that several programs share is compiled once
    for unit, words, folder in commands(build):
        inside = [pathlib.Path(name) for name in INCLUDE.findall(files.text(unit) or "")] if build in unit.parents else [unit]
        for path in filter(is_ours, inside):
            alone.setdefault(path, (words, folder))
        if inside and all(is_ours(path) for path in inside):
            command = [*TIDY, "-p", str(build), str(unit)]
            key = [version, configuration, files.digest(unit, words), " ".join(words), " ".join(command)]
            work.append((key, command, folder, len(inside)))
    once = Precompiled(alone, files, build)
    for path, (words, folder) in sorted(alone.items()):
        command = [*once.command(words), "-Wno-everything", "-fsyntax-only", str(path)]
        work.append(([version, files.digest(path, words), " ".join(command)], command, folder, 1))

    def judge(item):
        key, command, folder, _ = item
        place = kept / hashlib.sha256("\0".join(key).encode()).hexdigest()
        if place.exists() and not arguments.fresh:
            place.touch()
            return ""
        once.build()
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode == 0 and "error:" not in run.stdout:
            place.touch()
            return ""
        return (run.stdout + run.stderr).replace(f"{ROOT}/", "")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done, everything = 0, sum(item[3] for item in work)
        for item, said in zip(work, pool.map(judge, work)):
            done += item[3]
            print(f"[{done}/{everything}]", flush=True)
            if said:
                found.append(said.rstrip())
    old = sorted(kept.iterdir(), key=lambda path: path.stat().st_mtime)[:-20000]
    for path in old:
        path.unlink()
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
