#!/usr/bin/env bash
# Photographs in four class folders (cataract, diabetic_retinopathy, glaucoma, normal): curates them, measures how well
# the image border, a thumbnail and file properties alone predict the class, trains the CNN (20 epochs, as published) and
# the small language model, and reports both on a held-out fifth. On two cores the CNN takes about an hour, the language
# model longer.
#
#   bash scripts/photographs.sh FOLDER [DIR]       DIR is photographs/ by default
#
# The classes of the published collection come from different origins (file type, crop), so part of any score is due to
# recognising the origin: `blind` prints the scores that this alone gives (CURATED/audit.csv), and a model's score must be
# compared with them. Licence as stated by its README: ODbL 1.0.
set -euo pipefail

[[ $# -ge 1 && -d $1 ]] || {
    echo "FOLDER='${1:-}': expected a folder that contains the four class folders, at any depth." >&2
    echo "Next: bash scripts/photographs.sh path/to/eye_diseases_classification" >&2
    exit 2
}
raw="$(cd "$1" && pwd)"
target="${2:-photographs}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

"$python" -m lmod_train curate --raw "$raw" --out "$target/curated" --config configs/curate/photographs.yaml
"$python" -m lmod_train blind "$target/curated"
here=(--data.curated "$target/curated")
train_and_evaluate() { # NAME [OPTION...]
    local name=$1
    shift
    "$python" -m lmod_train fit --config "configs/$name.yaml" "$@" "${here[@]}" --run "$target/fits/$name"
    "$python" -m lmod_train validate --config "configs/$name.yaml" "$@" "${here[@]}" --run "$target/runs/$name" \
        --ckpt_path "$target/fits/$name/checkpoints/last.ckpt"
}
train_and_evaluate cnn_four_way --trainer configs/trainer/cnn_published.yaml
train_and_evaluate photographs
"$python" -m lmod_train report "$target"/runs/* --out "$target/report"
