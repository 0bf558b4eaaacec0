#!/usr/bin/env bash
# Installs the requirements of the tests (once) and runs ruff, mypy strict, and pytest with doctests.
#
#   bash scripts/test.sh                   all but the slow tests
#   bash scripts/test.sh --slow            the slow tests too
#   bash scripts/test.sh [--slow] ...      other arguments are passed to pytest, e.g. tests/cli -k help
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

marked=(-m "not slow")
if [[ "${1:-}" == --slow ]]; then
    marked=()
    shift
fi

install_into_venv "[test,deepspeed,serve]"

export WANDB_MODE=offline HF_HUB_OFFLINE=1     # tests must not use the network
unset PYTHONDONTWRITEBYTECODE # commands that tests start would compile the package again and again
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" # two pytest workers on two cores: more threads would only compete

echo "== ruff check"
"$python" -m ruff check .
echo "== ruff format"
"$python" -m ruff format --check .
echo "== pytest, and mypy beside it"
report="$(mktemp)"
trap 'kill "${types:-}" 2>/dev/null || true; rm -f "$report"' EXIT # a trap that fails would be the status
"$python" -m mypy --cache-dir .venv/.mypy_cache >"$report" 2>&1 &
types=$! # a minute of one core, ten seconds in an environment that has checked another checkout
passed=0
"$python" -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder ${marked[@]+"${marked[@]}"} "$@" || passed=$?
echo "== mypy"
wait "$types" || passed=1
cat "$report"
exit "$passed"
