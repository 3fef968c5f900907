"""Runs clang-tidy on the sources of the libraries, the tools and the Python package that
a build tree compiles.

Most of its time goes into MLIR's headers: sources that are compiled alike are
looked at together, as one file that includes them.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

SOURCES_AT_A_TIME = 16


def split_unity(command):
    """Of a file that only includes sources (CMAKE_UNITY_BUILD) a command of each."""
    path = command["file"]
    if os.path.basename(os.path.dirname(path)) != "Unity":
        return [command]
    with open(path, encoding="utf-8") as file:
        sources = re.findall(r'^#include "(.*)"$', file.read(), re.MULTILINE)
    return [
        {**command, "file": source, "command": command["command"].replace(path, source)}
        for source in sources
    ]


def compile_commands(source, build):
    """The command of each file under lib/, tools/ and python/src/, of several the first."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = [one for command in json.load(file) for one in split_unity(command)]
    folders = tuple(
        os.path.join(os.path.realpath(source), name, "") for name in ("lib", "tools", "python/src")
    )
    found = {}
    for command in commands:
        path = os.path.realpath(command["file"])
        if path.startswith(folders):
            found.setdefault(path, command)
    return found


class Group:
    """Sources of a target, compiled by one command but for the names of files."""

    def __init__(self, directory, text, sources):
        self.directory, self.text, self.sources = directory, text, sources
        self.file = None

    def write(self, path):
        """Writes a file that includes the sources."""
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{source}"\n' for source in self.sources)
        self.file = path

    def command(self):
        """How to compile that file."""
        text = self.text.replace("FILE", self.file)
        return {"directory": self.directory, "file": self.file, "command": text}


def groups(commands):
    """All sources, as many of a target together as may be."""
    alike = {}
    for path, command in sorted(commands.items()):
        text = command["command"].replace(command["file"], "FILE")
        target = re.search(r" -o (\S+/CMakeFiles/[^/]+)", text)
        text = re.sub(r" -o \S+", "", text)
        key = (target and target[1], command["directory"], text)
        alike.setdefault(key, []).append(path)
    for (_, directory, text), paths in alike.items():
        for first in range(0, len(paths), SOURCES_AT_A_TIME):
            yield Group(directory, text, paths[first : first + SOURCES_AT_A_TIME])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clang_tidy")
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("scratch", help="a folder to write")
    options = parser.parse_args()

    commands = compile_commands(options.source, options.build)
    together = list(groups(commands))
    # clang-tidy takes its configuration from where a file lies.
    os.makedirs(options.scratch, exist_ok=True)
    shutil.copy(os.path.join(options.source, ".clang-tidy"), options.scratch)
    database = list(commands.values())
    for number, group in enumerate(together):
        group.write(os.path.join(options.scratch, f"together{number}.cpp"))
        database.append(group.command())
    with open(
        os.path.join(options.scratch, "compile_commands.json"), "w", encoding="utf-8"
    ) as file:
        json.dump(database, file)

    def tidy(path, *flags):
        command = [options.clang_tidy, "-quiet", "-p", options.scratch, *flags, path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.stdout + result.stderr if result.returncode else ""

    def findings(group):
        # Including sources is how they are looked at together.
        text = tidy(group.file, "--checks=-bugprone-suspicious-include")
        if "[clang-diagnostic-error]" in text:
            # They use a name twice, or one does not compile.
            text = "".join(tidy(path) for path in group.sources)
        return text

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(findings, together) if text]
    sys.stdout.write("".join(found))
    print(f"{len(commands)} sources, {len(found)} of {len(together)} groups with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
