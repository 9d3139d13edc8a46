#!/usr/bin/env python3
"""What README.md and docs/ show comes out: shown.py [--write] PROGRAM [FILE.md...]

In fenced blocks of a document, in order and in one folder:
  $ command         is run by a shell, with `gpumux` the program; the lines up to the next command, or the block's end,
                    are what it prints. Times of the host ("in 0.28 s") may differ.
  ```pycon          is a Python session (where the module gpumux can be imported).
  ```...            other lines that begin with `gpumux COMMAND` or `build/release/bin/gpumux COMMAND` are not run, but
                    the command and its options exist.
Relative links lead to files that exist. --write puts what comes out now into the documents.
"""
import code
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a slow computer says on the way, every 30 seconds.
PROGRESS = re.compile(r".*: cycle \d+( of \d+)?(, \d+:\d\d(:\d\d)? left)?|\d+ of \d+ runs done.*")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


def masked(text):
    text = re.sub(r"\bin \d+\.\d+ s\b", "in N s", text)
    text = re.sub(r"\d+:\d\d\b", "N:NN", text)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def console(block, folder, env):
    """The block as it comes out now."""
    lines, out = block.split("\n"), []
    at = 0
    while at < len(lines):
        if not lines[at].startswith("$ "):
            at += 1
            continue
        command = [lines[at][2:]]
        while command[-1].endswith("\\"):
            at += 1
            command.append(lines[at])
        out += ["$ " + command[0], *command[1:]]
        done = subprocess.run("\n".join(command), shell=True, cwd=folder, env=env, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")] if done.stdout else []
        out += [line for line in said if not PROGRESS.fullmatch(line)]
        at += 1
        if any(line.startswith("$ ") for line in lines[at:]):
            following = next(i for i in range(at, len(lines)) if lines[i].startswith("$ "))
            if following > at and lines[following - 1] == "":
                out.append("")
    return "\n".join(out) + "\n"


def session(block, folder):
    """A Python session as it comes out now; None without the module."""
    try:
        import gpumux  # noqa: F401
    except ImportError:
        return None
    console_, out, source = code.InteractiveInterpreter({"__name__": "__main__"}), [], []

    def run():
        if not source:
            return
        text, old = io.StringIO(), os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                console_.runsource("\n".join(source) + ("\n" if len(source) > 1 else ""), symbol="single")
        finally:
            os.chdir(old)
        shown = re.sub(r'(Traceback.*\n)(  .*\n)+', r"\1  ...\n", text.getvalue())
        out.extend(shown.rstrip("\n").split("\n") if shown else [])
        source.clear()

    for line in block.rstrip("\n").split("\n"):
        if line.startswith(">>> "):
            run()
        if line.startswith((">>> ", "... ")) and not (line == "  ..."):
            source.append(line[4:])
            out.append(line)
    run()
    return "\n".join(out) + "\n"


def check_options(block, program):
    wrong = []
    for line in block.replace("\\\n", " ").split("\n"):
        found = re.match(r"^(?:build/release/bin/)?gpumux ([a-z]+(?:-[a-z]+)*)\b([^#|>]*)", line.strip())
        if not found:
            continue
        help_ = subprocess.run([program, "help", found[1]], text=True, capture_output=True)
        if help_.returncode:
            wrong.append(f"there is no command {found[1]!r}: {line.strip()}")
            continue
        for option in re.findall(r"(?<=\s)--[a-z-]+", found[2].split(" -- ")[0]):
            if not re.search(re.escape(option) + r"\b", help_.stdout):
                wrong.append(f"{found[1]} has no {option}: {line.strip()}")
    return wrong


def check_links(path, text):
    wrong = []
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", text)):
        if "://" not in target and not (path.parent / target).exists():
            wrong.append(f"{target} does not exist")
    return wrong


def check(path, program, write):
    text = path.read_text()
    wrong = check_links(path, text)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("docs", "experiments", "machines"):
            os.symlink(ROOT / name, pathlib.Path(folder) / name)
        names = pathlib.Path(folder) / ".bin"
        names.mkdir()
        os.symlink(program, names / "gpumux")
        os.environ["GPUMUX_CACHE"] = folder + "/.cache"
        env = dict(os.environ, PATH=f"{names}:{os.environ['PATH']}")

        def replaced(found):
            kind, block = found[1], found[2]
            now = None
            if kind == "pycon":
                now = session(block, folder)
            elif block.startswith("$ "):
                now = console(block, folder, env)
            else:
                wrong.extend(check_options(block, program))
            if now is None or masked(now) == masked(block):
                return found[0]
            import difflib
            wrong.append("shows what does not come out:\n  " +
                         "\n  ".join(difflib.unified_diff(masked(block), masked(now), "shown", "now", lineterm="")))
            return f"```{kind}\n{now}```"

        new = FENCE.sub(replaced, text)
    if write and new != text:
        path.write_text(new)
    return wrong


def main():
    args = sys.argv[1:]
    write = "--write" in args
    args = [arg for arg in args if arg != "--write"]
    program = os.path.realpath(args[0])
    paths = [pathlib.Path(name).resolve() for name in args[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    failed = False
    for path in paths:
        for what in check(path, program, write):
            print(f"{path.relative_to(ROOT)}: {what}")
            failed = True
    sys.exit(1 if failed and not write else 0)


main()
