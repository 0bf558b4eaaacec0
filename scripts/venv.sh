#!/usr/bin/env bash
# Sourced by the other scripts: makes .venv where there is none and installs this checkout, with the versions of
# constraints.txt, only when pyproject.toml, setup.py or constraints.txt have changed since.
#
#   install_into_venv EXTRAS      e.g. install_into_venv "[test,deepspeed]"
#
# Sets `python` to the interpreter of the environment.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="$PWD/.venv/bin/python"

# 3.11 first: it is the version that constraints.txt was tried with.
interpreter() {
    local name
    for name in python3.11 python3.12 python3.13 python3 python; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "python=$(command -v python3 >/dev/null && python3 --version || echo none): expected Python 3.11, 3.12 or 3.13 with its venv module." >&2
    echo "Next: install it (Debian, Ubuntu: apt-get install python3.11 python3.11-venv), then type this command again." >&2
    return 2
}

install_into_venv() {
    local extras="$1" found wanted stamp=".venv/.installed"
    if ! "$python" -c 'import pip' 2>/dev/null; then # none, or one that was broken off or moved
        found="$(interpreter)"
        echo "== making .venv with $found"
        "$found" -m venv --clear .venv
    fi
    wanted="$(cat pyproject.toml setup.py constraints.txt | cksum)"
    # A line for each set of extras: the quick start's environment is a part of the tests' environment.
    if [[ -f $stamp ]] && grep -qxF "$wanted $extras" "$stamp"; then
        return
    fi
    echo "== installing .$extras (3 to 6 minutes and about 6 GB the first time)"
    "$python" -m pip install --quiet --disable-pip-version-check --progress-bar off -e ".$extras" -c constraints.txt
    if [[ -f $stamp ]]; then
        grep -F "$wanted " "$stamp" >"$stamp.new" || true # lines of older files say nothing any more
        mv "$stamp.new" "$stamp"
    fi
    echo "$wanted $extras" >>"$stamp"
}
