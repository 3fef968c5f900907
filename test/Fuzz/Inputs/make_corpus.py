"""Writes small programs to start fuzzing from: make_corpus.py FOLDER TEST..."""

import hashlib
import pathlib
import re
import sys


def programs(text):
    """The functions and modules of a test, each with the aliases before it."""
    for part in text.split("// -----"):
        lines = [line for line in part.splitlines() if line and not line.lstrip().startswith("//")]
        starts = [
            n for n, line in enumerate(lines) if re.match(r"func\.func|gpu\.module|module", line)
        ]
        if not starts:
            continue
        aliases = lines[: starts[0]]
        for start, end in zip(starts, starts[1:] + [len(lines)]):
            yield "\n".join(aliases + lines[start:end]) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    for path in sys.argv[2:]:
        for program in programs(pathlib.Path(path).read_text(encoding="utf-8")):
            name = hashlib.sha1(program.encode()).hexdigest()[:16]
            (folder / name).write_text(program, encoding="utf-8")


if __name__ == "__main__":
    main()
