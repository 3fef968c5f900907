#!/bin/sh
# What goes wrong: a program that loads. Exit status 1 is "interesting".
! grep -q kvcache.load "$1"
