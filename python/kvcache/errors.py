# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, as exceptions."""

from __future__ import annotations

import dataclasses


class Error(Exception):
    """Base of all exceptions of this package."""


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """What the compiler says of a place in a program."""

    severity: str  # "error", "warning", "remark" or "note"
    message: str
    location: str  # "file.mlir:3:5", or "" where it is not known
    notes: tuple["Diagnostic", ...] = ()

    def __str__(self):
        place = f"{self.location}: " if self.location else ""
        text = f"{place}{self.severity}: {self.message}"
        return "\n  ".join([text, *map(str, self.notes)])


class CompileError(Error):
    """A program that cannot be compiled; `diagnostics` say why and where."""

    def __init__(self, diagnostics):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)) or "compilation failed")

    def __reduce__(self):  # An exception is made again from its text alone, else.
        return type(self), (self.diagnostics,)


class ArgumentError(Error, ValueError):
    """An argument of a kernel call that does not fit; names argument and numbers."""


class LaunchError(Error):
    """A launch that the device refused or could not finish."""


class CheckError(LaunchError):
    """What a check of the simulator found; `reports` is a list of dicts."""

    def __init__(self, text, reports):
        self.reports = reports
        super().__init__(text)

    def __reduce__(self):
        return type(self), (str(self), self.reports)
