"""The hooks of PEP 517 for `pip install .`: builds the extension module with CMake and packs it as a wheel.

It needs nothing but Python's own library, so that it works without a network, and what the C++ build needs (`./dev
python` installs it on Debian). `-C build-dir=FOLDER` uses a CMake build folder that is there already.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "gpumux"


def version():
    found = re.search(r"^project\(gpumux VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    return found.group(1)


def metadata():
    lines = ["Metadata-Version: 2.1", "Name: gpumux", f"Version: {version()}",
             "Summary: How GPU kernels behave when they share a GPU: a cycle-level simulator", "License: Apache-2.0",
             "Requires-Python: >=3.9", "Provides-Extra: tables", "Requires-Dist: pandas; extra == 'tables'",
             "Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text()]
    return "\n".join(lines)


def build_extension(folder):
    """Builds the module for this Python; returns its file."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if folder is None:
        folder = ROOT / "build" / f"python-{sys.implementation.cache_tag}"
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGPUMUX_PYTHON=ON",
                        f"-DPython_EXECUTABLE={sys.executable}"], check=True)
    folder = ROOT / folder
    subprocess.run(["cmake", "--build", folder, "--target", "gpumux_python", "--parallel", str(os.cpu_count() or 1)], check=True)
    built = folder / "python" / "gpumux" / f"_core{suffix}"
    if not built.exists():
        raise SystemExit(f"error: {folder} builds for another Python; {built.name} is not in it")
    return built


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def wheel_tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


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
            wheel.writestr(path, content)
            record += record_line(path, content)
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"gpumux-{version()}"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for file in filter(None, files):
            archive.add(ROOT / file, f"{name}/{file}")
        content = pathlib.Path(sdist_directory) / "PKG-INFO"
        content.write_text(metadata())
        archive.add(content, f"{name}/PKG-INFO")
        content.unlink()
    return f"{name}.tar.gz"
