#!/usr/bin/env bash
# From a clean clone to a report: installs (once), draws phantom eyes, curates, trains, evaluates and reports.
#
#   bash scripts/quickstart.sh [DIR]       DIR is quickstart/ unless named; the same DIR again continues it
#
# The commands below are the ones to type by hand; docs/ says what each of them prints.
set -euo pipefail

target="${1:-quickstart}"
[[ $target == /* ]] || target="$PWD/$target" # as seen from where the command was typed
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""

export WANDB_MODE="${WANDB_MODE:-offline}"

# stage COMMAND [options]: one command of `python -m lmod_train`, shown, run and timed
stage() {
    local started=$SECONDS
    printf '\n== python -m lmod_train %s\n' "$*"
    "$python" -m lmod_train "$@"
    printf '== %s took %d s\n' "$1" $((SECONDS - started))
}

stage phantom --out "$target/raw" --n 600 --seed 0
stage curate --raw "$target/raw" --out "$target/curated" --seed 0 --config configs/curate/quickstart.yaml

here=(--data.curated "$target/curated")
stage validate --config configs/zero_shot.yaml "${here[@]}" --run "$target/runs/untuned"
for name in cnn_anatomy cnn_four_way; do # cnn_glaucoma is there too; eight minutes are not for all three
    stage fit --config "configs/$name.yaml" "${here[@]}" --run "$target/fits/$name"
    stage validate --config "configs/$name.yaml" "${here[@]}" --run "$target/runs/$name" \
        --ckpt_path "$target/fits/$name/checkpoints/last.ckpt"
done
stage fit --config configs/quickstart.yaml "${here[@]}" --run "$target/fits/tuned"
stage validate --config configs/quickstart.yaml "${here[@]}" --run "$target/runs/tuned" \
    --ckpt_path "$target/fits/tuned/checkpoints/last.ckpt"
stage report "$target"/runs/* --out "$target/report"
