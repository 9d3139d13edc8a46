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
