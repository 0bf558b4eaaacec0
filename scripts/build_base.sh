#!/usr/bin/env bash
# Rebuild the small base that comes with the package: about an hour on 2 CPU cores.
#
#   bash scripts/build_base.sh [DIR]       DIR is build/base/ unless named; what is there already is not made again
#
# Draws pictures (seeds from 2**48, apart from every demo and test), teaches the tower what each patch holds, then the
# language model to describe pictures. The result lies in DIR/small_base; compare it, then copy it over
# lmod_train/models/small_base.
set -euo pipefail

target="${1:-build/base}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
cd "$(dirname "${BASH_SOURCE[0]}")/base"

[[ -e $target/pictures.npy ]] || "$python" pictures.py --out "$target/pictures.npy" --n 10000
[[ -e $target/marked/facts.npy ]] || "$python" marked.py --pictures "$target/pictures.npy" --out "$target/marked"
[[ -e $target/tower/model.safetensors ]] ||
    "$python" tower.py --pictures "$target/marked" --out "$target/tower" --steps 2200 --batch 32
"$python" language.py --pictures "$target/marked" --tower "$target/tower" --out "$target/small_base" \
    --steps 1200 --batch 32
