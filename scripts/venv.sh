#!/usr/bin/env bash
# Sourced by the other scripts: creates .venv if it is missing, and installs this checkout with the versions of
# constraints.txt if pyproject.toml, setup.py or constraints.txt have changed since the last installation.
#
#   install_into_venv EXTRAS      e.g. install_into_venv "[test,deepspeed]"
#
# Sets `python` to the interpreter of the environment.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="$PWD/.venv/bin/python"

# PYTHON first, if it is set; then 3.11, with which constraints.txt was made.
interpreter() {
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
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
    if ! "$python" -c 'import pip' 2>/dev/null; then # missing, incomplete or moved
        found="$(interpreter)"
        echo "== creating .venv with $found"
        "$found" -m venv --clear .venv
    fi
    wanted="$(cat pyproject.toml setup.py constraints.txt | cksum)"
    # One line per set of extras: the environment of the tests contains that of the quick start.
    if [[ -f $stamp ]] && grep -qxF "$wanted $extras" "$stamp"; then
        return
    fi
    echo "== installing .$extras (3 to 6 minutes and about 6 GB the first time)"
    "$python" -m pip install --quiet --disable-pip-version-check --progress-bar off -e ".$extras" -c constraints.txt
    if [[ -f $stamp ]]; then
        grep -F "$wanted " "$stamp" >"$stamp.new" || true # lines of older checksums are obsolete
        mv "$stamp.new" "$stamp"
    fi
    echo "$wanted $extras" >>"$stamp"
}
