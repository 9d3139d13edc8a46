"""The folders of src/ see each other as src/README.md says, and a header that is not to be seen is not found.

usage: layers.py BUILD_FOLDER   (which has compile_commands.json)
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def stated():
    """Folder -> all that it may see, of the table; each must stand on folders of earlier lines."""
    seen = {}
    for line in open(os.path.join(ROOT, "src/README.md")):
        if not (row := re.match(r"\| `(\w+)/` \|.*\|([^|]*)\|$", line)):
            continue
        folder, below = row[1], re.findall(r"`(\w+)`", row[2])
        for name in below:
            if name not in seen:
                sys.exit(f"src/README.md: {folder} stands on {name}, which does not come before it")
        seen[folder] = {folder}.union(*(seen[name] for name in below))
    return seen


def commands(build):
    """Folder -> (arguments without the source and the object, working folder) of one of its sources."""
    found = {}
    for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
        words = shlex.split(entry["command"])
        # The source itself may be several that are compiled as one; the object names the folder's library.
        match = re.match(r"CMakeFiles/gpumux_(\w+)\.dir/", words[words.index("-o") + 1])
        if match and os.path.isdir(os.path.join(ROOT, "src", match[1])):
            found.setdefault(match[1], (words[:words.index("-o")], entry["directory"]))
    return found


def main():
    build = sys.argv[1]
    may_see = stated()
    of_compiler = commands(build)
    folders = {name for name in os.listdir(os.path.join(ROOT, "src")) if os.path.isdir(os.path.join(ROOT, "src", name))}
    if folders != set(may_see) or folders != set(of_compiler):
        sys.exit(f"src/README.md names {sorted(may_see)}, the build {sorted(of_compiler)}; there are {sorted(folders)}")
    header = {name: next(file for file in sorted(os.listdir(os.path.join(ROOT, "src", name))) if file.endswith(".hpp"))
              for name in folders}
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        for folder, (command, where) in sorted(of_compiler.items()):
            prefix = os.path.join(build, "include") + os.sep
            seen = {os.path.basename(word) for word in (w.removeprefix("-I") for w in command) if word.startswith(prefix)}
            if seen != may_see[folder]:
                sys.exit(f"{folder} sees {sorted(seen)}; src/README.md says {sorted(may_see[folder])}")
            lines = [f'#if __has_include("{name}/{header[name]}") != {int(name in seen)}\n#error {name}\n#endif\n'
                     for name in sorted(folders)]
            source.seek(0)
            source.truncate()
            source.write("".join(lines))
            source.flush()
            check = subprocess.run([*command, "-fsyntax-only", source.name], cwd=where, capture_output=True, text=True)
            if check.returncode != 0:
                sys.exit(f"{folder}: a header is found that must not be, or the other way round:\n{check.stderr}")
    print(f"{len(folders)} folders see what src/README.md says")


main()
