#!/usr/bin/env bash
# Questions in two languages on a CPU: draws phantoms of OphthalWeChat, tunes the small base on their questions with a
# frozen vision tower and then with a trained one, and asks held-out questions before and after. About two hours on two
# cores.
#
#   bash scripts/ophthalwechat_phantoms.sh [DIR]   DIR is ophthalwechat_phantoms/ by default; the same DIR again continues
#
# One epoch of each (263 steps twice, 50 minutes), test split, accuracy (exact match of open answers):
#
#   subset               n  untuned  frozen  trained  95 % interval
#   Binary_CN        1,200    0.000   0.714    0.772  0.747-0.797
#   Binary_EN        1,200    0.001   0.703    0.769  0.746-0.791
#   Single-choice_CN   600    0.000   0.725    0.717  0.687-0.745
#   Single-choice_EN   600    0.000   0.723    0.732  0.702-0.760
#   Open-ended_CN      600    0.000   0.810    0.817  0.787-0.843
#   Open-ended_EN      600    0.000   0.797    0.822  0.792-0.848
#
# Chinese minus English over close-ended pairs: -0.003 (-0.015 to 0.009). Single-choice questions: 0.988 of single
# photographs (n 600), 0.661 of OCT scans (298), 0.261 of composite images of both side by side (302), which is chance.
set -euo pipefail

target="${1:-ophthalwechat_phantoms}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

"$python" -m lmod_train phantom --out "$target/raw" --n 3000 --seed 6 --sources ophthalwechat
"$python" -m lmod_train curate --raw "$target/raw" --out "$target/curated" \
    --config configs/curate/ophthalwechat_phantoms.yaml
named=(--config configs/ophthalwechat_ft.yaml --data.curated "$target/curated")
"$python" -m lmod_train fit "${named[@]}" --run "$target/fits/frozen_tower" \
    --model.init_args.tower_features "$target/features"
[[ -e $target/merged ]] || "$python" -m lmod_train weights merge --ckpt "$target/fits/frozen_tower/checkpoints/last.ckpt" \
    --out "$target/merged"
tuned=(--model.init_args.checkpoint "$target/merged" --model.init_args.tune_tower true)
"$python" -m lmod_train fit "${named[@]}" "${tuned[@]}" --run "$target/fits/tuned_tower" \
    --model.init_args.optimisation.projector_lr 0.0003 --trainer.max_epochs 2 --trainer.check_val_every_n_epoch 2
"$python" -m lmod_train test "${named[@]}" --run "$target/runs/untuned"
"$python" -m lmod_train test "${named[@]}" --run "$target/runs/frozen_tower" \
    --ckpt_path "$target/fits/frozen_tower/checkpoints/last.ckpt"
"$python" -m lmod_train test "${named[@]}" "${tuned[@]}" --run "$target/runs/tuned_tower" \
    --ckpt_path "$target/fits/tuned_tower/checkpoints/last.ckpt"
"$python" -m lmod_train report "$target"/runs/* --out "$target/report" --config ophthalwechat
