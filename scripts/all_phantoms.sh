#!/usr/bin/env bash
# One model for every task: draws phantoms of all sources, curates them, tunes the small base on all of them with
# a frozen vision tower, continues with a trained tower, and reports both. Takes about an hour on two CPU cores.
#
#   bash scripts/all_phantoms.sh [DIR]       DIR is all_phantoms/ by default; the same DIR again continues the run
set -euo pipefail

target="${1:-all_phantoms}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

once=eye_diseases,fairseg,refuge
more=brset,cataract_1k,oimhs # sources with rare grades, or with up to six boxes per image
"$python" -m lmod_train phantom --out "$target/raw" --n 900 --seed 0 --sources "$once"
"$python" -m lmod_train phantom --out "$target/raw" --n 2400 --seed 0 --sources "$more"
"$python" -m lmod_train curate --raw "$target/raw" --out "$target/curated" --config configs/curate/all_phantoms.yaml

# tune NAME [options]: one training, and its evaluation on held-out records
tune() {
    local named=(--config configs/all_phantoms.yaml --data.curated "$target/curated" "${@:2}")
    "$python" -m lmod_train fit "${named[@]}" --run "$target/fits/$1"
    "$python" -m lmod_train validate "${named[@]}" --run "$target/runs/$1" \
        --ckpt_path "$target/fits/$1/checkpoints/last.ckpt"
}
tune frozen_tower --model.init_args.tower_features "$target/features"
tuned="$target/fits/frozen_tower/checkpoints/last.ckpt"
[[ -e $target/merged ]] || "$python" -m lmod_train weights merge --ckpt "$tuned" --out "$target/merged"
tune tuned_tower --model.init_args.checkpoint "$target/merged" --model.init_args.tune_tower true \
    --model.init_args.optimisation.lr 0.001 --model.init_args.optimisation.projector_lr 0.0003 \
    --trainer.max_epochs 1 --trainer.check_val_every_n_epoch 1
"$python" -m lmod_train report "$target"/runs/* --out "$target/report"
