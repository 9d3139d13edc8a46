#!/usr/bin/env python3
"""Rules for the text of documents and comments: no sentence above 40 words, no subject without a noun.

usage: tests/lint/prose.py [FILE...]      all documents and sources without FILE
Documents are README.md, CONTRIBUTING.md, docs/*.md and the README.md of each folder. Tables, code and headings of
documents are not read. Of sources, blocks of comments are read. Exit status 1 when something is found.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_WORDS = 40
# Pattern, and what to write instead.
PHRASES = [(re.compile(pattern), instead) for pattern, instead in (
    (r"\b[Ww]ho (has|have|is|are|asks?|holds?|waits?|wants?|needs?)\b", "name who: an application, a warp, a caller"),
    (r"^(Those|One|Ones) (that|which)\b|^That (one|of)\b|^What is\b", "begin with the noun"),
    (r"^(Where|If) there (is|are) (none|one)\b", "name the condition: without an X, with an X"),
    (r"\b(is|are) had\b|\bbegun? anew\b|\bfor as long\b", "use the field's words"),
)]


def documents(names):
    return [name for name in names if re.fullmatch(r"README\.md|CONTRIBUTING\.md|docs/[^/]+\.md|(src|cudart|driver|recorder|benchmarks)(/[^/]+)?/README\.md", name)]


def sources(names):
    return [name for name in names if re.fullmatch(r"(src|apps|papers|cudart|driver|recorder|benchmarks)/.*\.[ch]pp", name)]


def paragraphs_of_document(text):
    """(line, paragraph) of prose: paragraphs and items of lists."""
    lines, start, inside = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.startswith("```"):
            inside = not inside
        prose = not inside and line.strip() and not re.match(r"\||#|```|<|    |!\[|\[!", line)
        if (not prose or re.match(r"\s*([-*]|\d+\.) ", line)) and lines:
            yield start, " ".join(lines)
            lines = []
        if prose:
            start = start if lines else number
            lines.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())


def paragraphs_of_source(text):
    """(line, block of comment lines), and each comment behind code."""
    lines, start = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        alone = re.match(r"\s*//[/!]?<? ?(.*)", line)
        if alone and not re.match(r"NOLINT|clang-format|namespace", alone[1]) and alone[1].strip():
            if lines and re.match(r"[-*] | |.*\S {3,}\S", alone[1]):  # an item, or a line of a table
                yield start, " ".join(lines)
                lines = []
            start = start if lines else number
            lines.append(alone[1].strip())
            continue
        if lines:
            yield start, " ".join(lines)
            lines = []
        behind = re.match(r'(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*;?.*?  //[/!]?<? (.*)', line)
        if behind and not re.match(r"namespace|NOLINT", behind[1]):
            yield number, behind[1]


def sentences(paragraph):
    plain = re.sub(r"`[^`]*`", "CODE", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph))
    plain = re.sub(r"\b(e\.g|i\.e|et al|vs|cf|Sec|Fig|No)\.", r"\1", plain)
    return re.split(r"(?<=[.!?])[\"')*]*\s+|(?<=:)\s+(?=[A-Z])", plain)


def findings_in(blocks):
    """(line, what is wrong) of paragraphs (line, text)."""
    for line, block in blocks:
        for sentence in sentences(block):
            words = len(re.findall(r"[^\s\-–]*\w[^\s]*", sentence))
            if words > MOST_WORDS:
                yield line, f"a sentence of {words} words; at most {MOST_WORDS}: {sentence[:60]}..."
            for pattern, instead in PHRASES:
                if match := pattern.search(sentence):
                    yield line, f"`{match[0]}`: {instead}"


def findings(name):
    text = (ROOT / name).read_text()
    blocks = paragraphs_of_document(text) if name.endswith(".md") else paragraphs_of_source(text)
    for line, finding in findings_in(blocks):
        yield f"{name}:{line}:1: error: {finding}"


def main():
    names = sys.argv[1:]
    if not names:
        all_names = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
                                   capture_output=True, text=True, check=True).stdout.split("\n")
        names = documents(all_names) + sources(all_names)
    found = [finding for name in names for finding in findings(name)]
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
