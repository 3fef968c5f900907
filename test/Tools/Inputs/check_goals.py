#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the benchmark measured of works with their goals.

usage: check_goals.py FILE.json WORK...
"""
import json
import pathlib
import sys


def main():
    file, *works = sys.argv[1:]
    rows = [row for row in json.loads(pathlib.Path(file).read_text())["rows"]
            if row["subject"].split()[0] in works and row["goal"] is not None]
    beyond = [row for row in rows if row["figure"] > row["goal"]]
    for row in beyond:
        print(f"{row['subject']}: {row['figure']:.1f} {row['unit']}, expected "
              f"{row['goal']} at most")
    print(f"{len(rows)} figures, {len(beyond)} beyond their goals")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
