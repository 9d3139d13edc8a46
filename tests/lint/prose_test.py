#!/usr/bin/env python3
"""prose.py finds what it is for in texts made by hand, and leaves good ones alone."""
import prose

LONG = "word " * 41
CASES = [  # paragraphs of, text, sentences or phrases that must be found
    (prose.paragraphs_of_document, f"A short sentence.\n\n{LONG}.\n", ["words"]),
    (prose.paragraphs_of_document, f"{'word ' * 40}.\n{'word ' * 40}.\n", []),
    (prose.paragraphs_of_document, f"| {LONG}|\n\n```\n{LONG}\n```\n\n    {LONG}\n", []),
    (prose.paragraphs_of_document, f"- {'word ' * 30}\n- {'word ' * 30}\n", []),
    (prose.paragraphs_of_document, "Those that wait are woken. `Those that` is code.", ["Those that"]),
    (prose.paragraphs_of_document, "An application who has a goal waits.", ["who has"]),
    (prose.paragraphs_of_source, f"/// {'word ' * 21}\n/// {'word ' * 21}\nint a;\n", ["words"]),
    (prose.paragraphs_of_source, f"// {'word ' * 21}\nint a;\n// {'word ' * 21}\n", []),
    (prose.paragraphs_of_source, 'const char* text = "//  Those that";\nint a;  // One that waits\n', ["One that"]),
    (prose.paragraphs_of_source, f"/// name        {'word ' * 30}\n/// other       {'word ' * 30}\n", []),
]


def main():
    wrong = 0
    for paragraphs, text, wanted in CASES:
        found = [finding for _, finding in prose.findings_in(paragraphs(text))]
        if len(found) != len(wanted) or not all(part in finding for part, finding in zip(wanted, found)):
            print(f"{text!r}: found {found}, not {wanted}")
            wrong += 1
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
