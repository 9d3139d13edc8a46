#!/usr/bin/env python3
"""PTX of other projects under gpumux beside ptxas: the second table of public-suites.md.

usage: docs/results/foreign-ptx.py build/release/bin/gpumux FOLDER... [--ptxas PROGRAM] [--only REGEX] [--seconds N] [--jobs N]
FOLDER has files *.ptx. Each is assembled by ptxas, for its own target or sm_75, and by `gpumux inspect`, with a kernel for each
device function that calls it. What a file only declares (.extern) is defined for both. A mod.rs beside them may give values as
ZLUDA's tests do: test_ptx!(file, [inputs], [outputs]) of one thread, test_ptx_warp!(file, [outputs]) of 64 threads. Such
kernels are run, and their outputs compared, bit by bit. Behind the table are the files that only one of the two refuses, and
those with other values.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

MACHINE = "h100-measured"  # has tensor units
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f16": "e", "f32": "f",
           "f64": "d"}
UNDEFINED = re.compile(r"Unresolved extern (function|variable)")
OUR_UNDEFINED = re.compile(r"which this module does not define|has no definition in this file|has no body in this file")
FUNCTION = re.compile(r"\.func\b\s*(?:\.attribute\s*\([^)]*\)\)?\s*)?(?:\(([^)]*)\)\s*)?([A-Za-z_$%][\w$]*)\s*(?:\(([^)]*)\))?"
                      r"(?:\s*\.noreturn)?\s*\{")
DECLARED_FUNCTION = re.compile(r"\.extern(\s+\.func\s*(?:\([^)]*\)\s*)?([A-Za-z_$%][\w$]*)\s*(?:\([^)]*\))?)\s*(?:\.noreturn\s*)?;")
OF_RUN_TIME = {"vprintf", "malloc", "free", "__assertfail"}
PARAMETER = re.compile(r"\.(param|reg)((?:\s*\.\w+(?:\s+\d+)?)*)\s+([\w$%]+)\s*((?:\[[^\]]*\])*)")


def without_comments(text):
    """With their line ends, so that places stay."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n") or " ", text, flags=re.S)


def declared(parameters, prefix):
    """Declarations of variables like a function's parameters, and their names."""
    declarations, names = [], []
    for number, (space, kind, _, dimensions) in enumerate(PARAMETER.findall(parameters or "")):
        kind = re.sub(r"\.ptr\b.*", "", kind)
        declarations.append(f".{space}{kind} {prefix}{number}{dimensions.replace('[]', '[16]')};")
        names.append(f"{prefix}{number}")
    return declarations, names


def completed(text):
    """The text with bodies for functions, and memory for variables, that it only declares, so that it is a whole program."""
    text = without_comments(text.rstrip("\0"))
    defined = {name for _, name, _ in FUNCTION.findall(text)}
    bodies = [f"{head.strip()} {{ ret; }}" for head, name in DECLARED_FUNCTION.findall(text)
              if name not in OF_RUN_TIME and name not in defined]
    text = DECLARED_FUNCTION.sub(lambda m: m[0] if m[2] in OF_RUN_TIME else m[0].replace(".extern", " " * 7, 1), text)
    text = re.sub(r"\.extern(?=\s+\.(?:global|const)\b)([^;]*);",
                  lambda m: " " * 7 + m[1].replace("[]", "[16]") + ";", text)
    return "\n".join([text, *dict.fromkeys(bodies)]) + "\n"


def with_callers(text):
    """The text with a kernel for each device function, so that each is compiled: `inspect` compiles kernels."""
    kernels = []
    for number, (results, name, arguments) in enumerate(FUNCTION.findall(text)):
        of_results, result_names = declared(results, "gpumux_r")
        of_arguments, argument_names = declared(arguments, "gpumux_a")
        call = f"({', '.join(result_names)}), {name}" if result_names else name
        if argument_names:
            call += f", ({', '.join(argument_names)})"
        body = " ".join(of_results + of_arguments)
        kernels.append(f".visible .entry gpumux_calls_{number} () {{ {body} call {call}; ret; }}")
    if not kernels and ".entry" not in text:
        kernels = [".visible .entry gpumux_calls_none () { ret; }"]
    return text + "\n".join(kernels) + "\n"


def execute(command, seconds):
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "", f"not through in {seconds} s"
    return run.returncode, run.stdout, run.stderr


def first_line(text, file):
    lines = [line for line in text.splitlines() if line.strip() and "warning" not in line and "aborted" not in line]
    return lines[0].replace(f"ptxas {file}, ", "").strip() if lines else "no message"


def under_ptxas(ptxas, text, scratch, seconds):
    """None: taken. Otherwise what it says, and whether only of a whole program."""
    whole = scratch / "whole.ptx"
    whole.write_text(text)
    target = re.search(r"\.target\s+sm_(\d+)(\w?)", text)
    number = int(target.group(1)) if target else 75
    architecture = f"sm_{max(number, 75)}{target.group(2) if target and number >= 75 else ''}"
    code, _, errors = execute([ptxas, "-arch", architecture, "-o", str(scratch / "ptxas.cubin"), str(whole)], seconds)
    return None if code == 0 else (first_line(errors, whole), bool(UNDEFINED.search(errors)))


def under_gpumux(gpumux, file, text, scratch, seconds):
    """What it refuses: (message, whether of what is not defined)."""
    probe = scratch / file.name
    probe.write_text(with_callers(text))
    code, output, errors = execute([gpumux, "inspect", str(probe), "--json"], seconds)
    if code != 0:
        messages = [errors.strip().splitlines()[0] if errors.strip() else f"exit code {code}"]
    else:
        messages = [kernel["error"] for kernel in json.loads(output)["kernels"] if "error" in kernel]
    messages = [message.replace(f"{scratch}/", "") for message in messages]
    return [(message, bool(OUR_UNDEFINED.search(message))) for message in messages]


def number(text):
    text = text.strip().replace("_", "")
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def rust_list(text):
    """Bytes of a list of Rust literals, the format of its elements and how many they are; None: not read."""
    def bound(match):
        bits = int(match[2]) - (match[1] == "i")
        least = -2 ** bits if match[1] == "i" else 0
        return f"{least if match[3] == 'MIN' else 2 ** bits - 1}{match[1]}{match[2]}"

    text = re.sub(r"\b([iu])(\d+)::(max_value\(\)|MAX|MIN)", bound, text)
    text = text.replace("std::f32::consts::PI", f"{math.pi!r}f32").replace("half::", "")
    kind = re.search(r"([iu](?:8|16|32|64)|(?<![0-9A-Fa-f]{2})f(?:16|32|64)|(?<=[\d.])f(?:32|64))\b", text)
    kind = kind.group(1) if kind else ("f64" if "." in text else "i32")
    if re.search(r"f16::NAN\.to_bits", text):
        kind = "u16"
    values = []
    for item in re.split(r",(?![^()]*\))", text.strip().strip("[]")):
        item = item.strip()
        if not item:
            continue
        bits = re.fullmatch(r"f(16|32|64)::from_bits\((\w+)\)", item)
        if bits:
            width = {"16": "H", "32": "I", "64": "Q"}[bits[1]]
            values.append(struct.pack("<" + width, int(bits[2].replace("_", ""), 0)))
            continue
        if item == "f16::NAN.to_bits()":
            values.append(struct.pack("<H", 0x7e00))
            continue
        item = re.sub(r"f\d+::from_f(?:32|64)\(([^)]*)\)", r"\1", item)
        for name, value in (("NAN", "nan"), ("NEG_INFINITY", "-inf"), ("INFINITY", "inf")):
            item = re.sub(rf"f\d+::{name}\b", value, item)
        item = re.sub(r"(?<=[\d._])_?(?:[iu](?:8|16|32|64)|f(?:32|64))\b", "", item) if not re.match(r"-?0x", item) else \
            re.sub(r"(?:[iu](?:8|16|32|64))\b", "", item)
        try:
            numerator, _, denominator = item.partition("/")
            value = number(numerator)
            if denominator:
                value /= number(denominator)
            values.append(struct.pack("<" + FORMATS[kind], value))
        except (struct.error, ValueError):
            return None
    return b"".join(values), kind, len(values)


def values_of(folder):
    """File -> (threads, input or None, output) of a mod.rs."""
    source = folder / "mod.rs"
    values = {}
    if not source.exists():
        return values
    text = without_comments(source.read_text())
    for match in re.finditer(r"^test_ptx(_warp|_with_32)?!\(", text, re.M):
        depth, end = 1, match.end()
        while depth:
            depth += text[end] in "([{"
            depth -= text[end] in ")]}"
            end += 1
        parts = re.findall(r"^\s*(\w+)|(\[[^\[\]]*\])", text[match.end():end - 1])
        name, lists = parts[0][0], [rust_list(part[1]) for part in parts[1:] if part[1]]
        warp = match.group(1) == "_warp"
        if len(lists) == (1 if warp else 2) and all(lists):
            values[name] = (64, None, lists[0]) if warp else (1, lists[0], lists[1])
    return values


def compare(gpumux, file, test, scratch, seconds):
    """None: the values are right. Otherwise what came instead."""
    threads, given, (wanted, _, _) = test
    command = [gpumux, "run", f"{file}:{file.stem}", "--grid", "1", "--block", str(threads), "--shared", "1024", "--machine", MACHINE,
               "--quiet"]
    entry = re.search(rf"\.entry\s+{re.escape(file.stem)}\s*\(([^)]*)\)", without_comments(file.read_text(errors="replace")))
    parameters = entry.group(1).count(".param") if entry else 0
    if given is not None:
        (scratch / "in.bin").write_bytes(given[0])
        command += ["--arg", f"in:{scratch / 'in.bin'}"]
    command += ["--arg", f"out:u8[{len(wanted)}]={scratch / 'out.bin'}"]
    if given is None and parameters == 2:
        command += ["--arg", "same:1"]
    code, _, errors = execute(command, seconds)
    if code != 0:
        return errors.strip().splitlines()[0] if errors.strip() else f"exit code {code}"
    came = (scratch / "out.bin").read_bytes()
    return None if came == wanted else f"{came[:32].hex()}, wanted {wanted[:32].hex()}"


def judge(options, file, test):
    text = completed(file.read_text(errors="replace"))
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        theirs = under_ptxas(options.ptxas, text, scratch, options.seconds) if options.ptxas else None
        ours = under_gpumux(options.gpumux, file, text, scratch, options.seconds)
        wrong = [message for message, undefined in ours if not undefined]
        if theirs and theirs[1]:  # it is no whole program; otherwise ptxas takes it
            return ("both" if ours and not wrong else "ours" if wrong else "theirs"), (wrong or [theirs[0]])[0]
        if theirs:
            return ("both", theirs[0]) if ours else ("theirs", theirs[0])
        if ours:
            return "ours", ours[0][0]
        if test is None:
            return "taken", ""
        other = compare(options.gpumux, file, test, scratch, options.seconds)
        return ("right", "") if other is None else ("wrong", other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpumux")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--ptxas", default="ptxas", help="'' does without")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| folder | files | values right | wrong | taken by both, no values | refused by both | refused by us alone | by ptxas alone |")
    print("|---|---|---|---|---|---|---|---|")
    notes = []
    for folder in options.folders:
        files = [file for file in sorted(folder.glob("*.ptx")) if re.search(options.only, file.name)]
        values = values_of(folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            verdicts = list(pool.map(lambda file: judge(options, file, values.get(file.stem)), files))
        count = {kind: sum(verdict[0] == kind for verdict in verdicts)
                 for kind in ("right", "wrong", "taken", "both", "ours", "theirs")}
        print(f"| {folder.name} | {len(files)} | " + " | ".join(str(number) for number in count.values()) + " |", flush=True)
        notes += [f"{kind}: {folder.name}/{file.name}: {why}" for file, (kind, why) in zip(files, verdicts)
                  if kind in ("wrong", "ours", "theirs")]
    print()
    print("\n".join(notes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
