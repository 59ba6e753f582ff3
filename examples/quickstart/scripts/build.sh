#!/bin/sh
# Turns messages.txt into a Python list.
set -e
mkdir -p build
{
    echo "MESSAGES = ["
    sed 's/.*/    "&",/' messages.txt
    echo "]"
} > build/messages.py
