#!/usr/bin/env bash
# Rebuild the small base that comes with the package: about an hour on 2 CPU cores.
#
#   bash scripts/build_base.sh [DIR]       DIR is build/base/ unless named; what is there already is not made again
#
# Draws pictures of all five modalities (seeds from 2**48, apart from every demo and test), teaches a tower from nothing
# what each patch holds, then a language model to describe pictures. The result lies in DIR/small_base; compare it, then
# copy it over lmod_train/models/small_base, whose README.md stays.
set -euo pipefail

target="${1:-build/base}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
cd "$(dirname "${BASH_SOURCE[0]}")/base"
export OMP_NUM_THREADS=1 # each process works alone; they meet once a step

"$python" marked.py --out "$target/marked" --n 18000
[[ -e $target/tower/model.safetensors ]] ||
    "$python" tower.py --pictures "$target/marked" --out "$target/tower" --steps 5000 --batch 48 --workers 2
"$python" language.py --pictures "$target/marked" --tower "$target/tower" --out "$target/small_base" \
    --work "$target/language" --steps 2500 --batch 48 --workers 2
