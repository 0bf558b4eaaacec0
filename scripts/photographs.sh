#!/usr/bin/env bash
# Real photographs in four class folders (cataract, diabetic_retinopathy, glaucoma, normal): curates them, trains the CNN
# and the small language model, and reports both on a held-out fifth.
#
#   bash scripts/photographs.sh FOLDER [DIR]       DIR is photographs/ unless named
#
# The classes of the published collection come from different places (file type, crop), so a part of any score on it is
# recognising the place. Licence as stated by its README: ODbL 1.0.
set -euo pipefail

[[ $# -ge 1 && -d $1 ]] || {
    echo "FOLDER='${1:-}': expected a folder that holds the four class folders, at any depth." >&2
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
here=(--data.curated "$target/curated")
for name in cnn_four_way photographs; do
    "$python" -m lmod_train fit --config "configs/$name.yaml" "${here[@]}" --run "$target/fits/$name"
    "$python" -m lmod_train validate --config "configs/$name.yaml" "${here[@]}" --run "$target/runs/$name" \
        --ckpt_path "$target/fits/$name/checkpoints/last.ckpt"
done
"$python" -m lmod_train report "$target"/runs/* --out "$target/report"
