#!/usr/bin/env bash
# The feasibility CNN of LMOD figure 7, one classifier a modality, trained and tried one after another, then reported.
#
#   bash scripts/cnn.sh CURATED [DIR] [options of fit]      DIR is runs/cnn unless named; the same DIR again continues it
#
# Published F1 (%): SS 93.76, OCT 98.42, SLO 94.92, LP 88.85, CFP 95.86, macro 94.36, on the real pictures.
# On few pictures the published batch takes few steps; smaller ones learn sooner: --data.batch_size 16
set -euo pipefail

[[ $# -ge 1 && -f $1/manifest.json ]] || {
    echo "CURATED='${1:-}': expected a curated folder, with a manifest.json in it." >&2
    echo "Next: python -m lmod_train curate --raw RAW --out CURATED" >&2
    exit 2
}
curated="$(cd "$1" && pwd)"
target="${2:-runs/cnn}"
[[ $target == /* ]] || target="$PWD/$target"
shift $(($# < 2 ? $# : 2))
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

runs=()
for modality in ss oct slo lp cfp; do
    config=(--config "configs/cnn_$modality.yaml" --data.curated "$curated" "$@")
    "$python" -m lmod_train fit "${config[@]}" --run "$target/fits/$modality"
    "$python" -m lmod_train validate "${config[@]}" --run "$target/runs/$modality" \
        --ckpt_path "$target/fits/$modality/checkpoints/last.ckpt"
    runs+=("$target/runs/$modality")
done
"$python" -m lmod_train report "${runs[@]}" --out "$target/report"
