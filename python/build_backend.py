"""The hooks of PEP 517 for `pip install .`: builds the extension module with CMake and packs it as a wheel.

It needs nothing but Python's own library, so that it works without a network, and what the C++ build needs (`./dev
python` installs it on Debian). `--config-settings build-dir=FOLDER` uses a CMake build folder that is there already.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "gpumux"


def version():
    found = re.search(r"^project\(gpumux VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    return found.group(1)


def metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}", f"Summary: {project['description']}",
             f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}"]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {package}; extra == '{extra}'" for package in packages]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()])


def built_for(folder):
    """Whether the folder is configured and builds a module that this Python loads, or none yet."""
    cache = folder / "CMakeCache.txt"
    if not cache.exists() or not (folder / "build.ninja").exists():
        return False
    found = re.search(r"^Python_EXECUTABLE(?::\w+)?=(.+)$", cache.read_text(errors="replace"), re.M)
    interpreter = found[1] if found else "/usr/bin/python3"  # which CMakeLists.txt takes
    ask = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'), sysconfig.get_path('include'))"
    answers = [subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout for python in (interpreter, sys.executable)]
    return answers[0] == answers[1] != ""


def run_with_progress(command):
    """pip keeps what this prints to itself, so how far it is goes to the terminal, where there is one."""
    try:
        terminal = open("/dev/tty", "w")
    except OSError:
        subprocess.run(command, check=True)
        return
    with terminal, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            print(line, end="")
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                terminal.write(f"\rgpumux: compiling, {step[1]} of {step[2]} ")
                terminal.flush()
        terminal.write("\r\033[K")
    if running.returncode != 0:
        raise SystemExit(running.returncode)


def build_extension(folder):
    """Builds the module for this Python; returns its file. What `./dev` has built for it is taken as it is."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if missing := [tool for tool in ("cmake", "ninja") if not shutil.which(tool)]:
        raise SystemExit(f"error: the build needs {' and '.join(missing)}, among others; `./dev python` installs all of it on Debian")
    if folder is None:
        released = ROOT / "build" / "release"
        folder = released if built_for(released) else ROOT / "build" / f"python-{sys.implementation.cache_tag}"
        python = [] if folder == released else [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DGPUMUX_PYTHON=ON", *python], check=True)
    folder = ROOT / folder
    run_with_progress(["cmake", "--build", folder, "--target", "gpumux_python", "--parallel", str(os.cpu_count() or 1)])
    built = folder / "python" / "gpumux" / f"_core{suffix}"
    if not built.exists():
        raise SystemExit(f"error: {folder} builds for another Python; {built.name} is not in it")
    return built


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def wheel_tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    abi = python + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")
    return f"{python}-{abi}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def add(wheel, path, content):
    entry = zipfile.ZipInfo(path)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
    wheel.writestr(entry, content)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    built = build_extension((config_settings or {}).get("build-dir"))
    info = f"gpumux-{version()}.dist-info"
    files = {f"gpumux/{built.name}": built.read_bytes()}
    files.update({f"gpumux/{file.name}": file.read_bytes() for file in sorted(PACKAGE.glob("*.py"))})
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: gpumux {version()}\nRoot-Is-Purelib: false\n"
                              f"Tag: {wheel_tag()}\n").encode()
    name = f"gpumux-{version()}-{wheel_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = ""
        for path, content in files.items():
            record += record_line(path, content)
            add(wheel, path, content)
        add(wheel, f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode())
    return name


def build_sdist(sdist_directory, config_settings=None):
    if not (ROOT / ".git").exists():
        raise SystemExit("error: a source distribution is made of a git checkout")
    name = f"gpumux-{version()}"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for file in filter(None, files):
            archive.add(ROOT / file, f"{name}/{file}")
        content = metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return f"{name}.tar.gz"
