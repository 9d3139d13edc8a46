#!/usr/bin/env python3
"""packaging/Containerfile makes a container in which gpumux works.

usage: tests/install/container.py [--debootstrap FOLDER]
By docker or podman, where one of them works. Else with --debootstrap, as root: each instruction is done by hand in a fresh
Debian below FOLDER, which takes some ten minutes and 3 GB. Else exit code 77: skipped.
"""
import argparse
import glob
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "packaging" / "Containerfile"
RELEASES = {"debian:12": "bookworm", "debian:13": "trixie"}


def done(command, **options):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options).returncode == 0


def instructions():
    text = "\n".join(line for line in FILE.read_text().splitlines() if not line.startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            word, rest = line.split(None, 1)
            yield word, rest.strip()


class Stage:
    """A root folder, and where in it commands run."""

    def __init__(self, folder, image):
        self.root, self.at = folder, "/"
        subprocess.run(["debootstrap", "--variant=minbase", RELEASES[image], str(folder)], check=True,
                       stdout=subprocess.DEVNULL)
        for file in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copy(file, folder / file[1:])

    def path(self, name):
        return self.root / name.lstrip("/")

    def run(self, command, **options):
        script = (f"mount --bind /proc {self.root}/proc && mount --bind /dev {self.root}/dev && "
                  f'exec chroot {self.root} sh -c "cd {self.at} && $1"')
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "-", command], check=True, **options)


def by_hand(folder):
    stages, last = {}, None
    for word, rest in instructions():
        if word == "FROM":
            image, *name = rest.split(" AS ")
            last = Stage(folder / f"stage{len(stages)}", image)
            stages[name[0] if name else len(stages)] = last
        elif word == "COPY":
            *sources, to = rest.split()
            origin = ROOT
            if sources[0].startswith("--from="):
                origin = stages[sources.pop(0).removeprefix("--from=")].root
            for source in sources:
                if source == ".":
                    subprocess.run(["git", "clone", "-q", str(ROOT), str(last.path(to))], check=True)
                else:
                    for file in glob.glob(str(origin / source.lstrip("/"))):
                        shutil.copy(file, last.path(to))
        elif word == "WORKDIR":
            last.at = rest
            last.path(rest).mkdir(parents=True, exist_ok=True)
        elif word == "RUN":
            last.run(rest)
        elif word != "ENTRYPOINT":
            sys.exit(f"{FILE}: {word} is not known here")
    return lambda *words: last.run("gpumux " + " ".join(words), capture_output=True, text=True).stdout


def by_engine(engine):
    subprocess.run([engine, "build", "-q", "-f", str(FILE), "-t", "gpumux-test", str(ROOT)], check=True)
    return lambda *words: subprocess.run([engine, "run", "--rm", "gpumux-test", *words], check=True,
                                         capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--debootstrap", type=pathlib.Path)
    arguments = parser.parse_args()
    engine = next((each for each in ("docker", "podman")
                   if shutil.which(each) and done([each, "info"]) and done([each, "pull", "debian:12"])), None)
    if arguments.debootstrap:
        gpumux = by_hand(arguments.debootstrap.resolve())
    elif engine:
        gpumux = by_engine(engine)
    else:
        print("no container engine works here (docker, podman), or it has no debian:12; --debootstrap FOLDER does without")
        sys.exit(77)
    version = gpumux("--version")
    assert version.startswith("gpumux "), version
    table = gpumux("run", "add", "stream", "--machine", "v100", "--policy", "even", "--cycles", "5K", "--baseline", "off")
    assert "weighted speedup" in table and "stream" in table, table
    print(version, end="")


if __name__ == "__main__":
    main()
