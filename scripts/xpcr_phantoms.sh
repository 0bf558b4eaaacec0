#!/usr/bin/env bash
# Chains on a CPU: draws fundus and OCT phantoms, tunes the small base on their chains with the true earlier answers as
# context, and asks held-out chains untuned, alone, in a cascade, and after true answers. About an hour on two cores.
#
#   bash scripts/xpcr_phantoms.sh [DIR]       DIR is xpcr_phantoms/ by default; the same DIR again continues the run
set -euo pipefail

target="${1:-xpcr_phantoms}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

"$python" -m lmod_train phantom --out "$target/raw" --n 1200 --seed 3 --sources oimhs,brset
"$python" -m lmod_train curate --raw "$target/raw" --out "$target/curated" --config configs/curate/xpcr_phantoms.yaml
named=(--config configs/xpcr_ft.yaml --data.curated "$target/curated")
"$python" -m lmod_train fit "${named[@]}" --run "$target/fit" --model.init_args.tower_features "$target/features" \
    --trainer.max_epochs 2 --trainer.check_val_every_n_epoch 2
"$python" -m lmod_train validate "${named[@]}" --data.regime independent --run "$target/runs/untuned"
for regime in independent cas_all oracle; do
    "$python" -m lmod_train validate "${named[@]}" --data.regime "$regime" --run "$target/runs/$regime" \
        --ckpt_path "$target/fit/checkpoints/last.ckpt"
done
"$python" -m lmod_train report "$target"/runs/* --out "$target/report" --config xpcr
