#!/usr/bin/env bash
# Builds the documentation site into build/site (or DIR), without network access; warnings are errors.
#
#   bash scripts/docs.sh [DIR]
set -euo pipefail

target="${1:-build/site}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv "[docs]"
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --strict --quiet --site-dir "$target"
echo "wrote $target/index.html"
