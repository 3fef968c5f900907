#!/usr/bin/env bash
# Runs a command with stderr on stdout, then prints its exit status.
"$@" 2>&1
echo "status $?"
