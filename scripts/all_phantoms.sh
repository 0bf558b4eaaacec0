#!/usr/bin/env bash
# One model for every task: draws phantoms of all eleven sources, curates them, tunes the small base on all of it with
# the tower frozen and with the tower learning too, and reports both. About an hour on two CPU cores.
#
#   bash scripts/all_phantoms.sh [DIR]       DIR is all_phantoms/ unless named; the same DIR again continues it
set -euo pipefail

target="${1:-all_phantoms}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

others=cataract_1k,cataract_detection_2,cau001,eye_diseases,fairseg,g1020,idrid,oimhs,origa,refuge
"$python" -m lmod_train phantom --out "$target/raw" --n 900 --seed 0 --sources "$others"
"$python" -m lmod_train phantom --out "$target/raw" --n 2400 --seed 0 --sources brset # its rarest grade has one in twelve
"$python" -m lmod_train curate --raw "$target/raw" --out "$target/curated" --config configs/curate/all_phantoms.yaml
here=(--data.curated "$target/curated")
for name in all_phantoms all_phantoms_tower; do
    "$python" -m lmod_train fit --config "configs/$name.yaml" "${here[@]}" --run "$target/fits/$name"
    "$python" -m lmod_train validate --config "configs/$name.yaml" "${here[@]}" --run "$target/runs/$name" \
        --ckpt_path "$target/fits/$name/checkpoints/last.ckpt"
done
"$python" -m lmod_train report "$target"/runs/* --out "$target/report"
