#!/usr/bin/env bash
# The feasibility CNN of LMOD figure 7: trains and evaluates one classifier per modality, then writes a report.
#
#   bash scripts/cnn.sh CURATED [DIR] [options of fit]      DIR is runs/cnn by default; the same DIR again continues it
#
# Modalities without anatomy records in the splits train and test are skipped, each with a message.
#
# Published F1 (%): SS 93.76, OCT 98.42, SLO 94.92, LP 88.85, CFP 95.86, macro 94.36, on the published images.
# With few images the published batch size gives few steps; a smaller one learns faster: --data.batch_size 16
set -euo pipefail

[[ $# -ge 1 && -f $1/manifest.json ]] || {
    echo "CURATED='${1:-}': expected a curated folder, which contains a manifest.json." >&2
    echo "Next: python -m lmod_train curate --raw RAW --out CURATED" >&2
    exit 2
}
curated="$(cd "$1" && pwd)"
shift
target=runs/cnn
if [[ $# -gt 0 && $1 != -* ]]; then
    target="$1"
    shift
fi
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
export WANDB_MODE="${WANDB_MODE:-offline}"

# Modalities with anatomy records in both splits, in lower case, each surrounded by blanks.
present="$("$python" - "$curated/records/anatomy.parquet" <<'EOF'
import sys
from pathlib import Path

from lmod_train.core.artifacts import read_records

file = Path(sys.argv[1])
records = read_records(file) if file.is_file() else []
train, test = ({r.modality.lower() for r in records if r.split == split} for split in ("train", "test"))
print("", *sorted(train & test), "")
EOF
)"

runs=()
for modality in ss oct slo lp cfp; do
    if [[ $present != *" $modality "* ]]; then
        echo "== $modality: skipped, $curated has no anatomy records of it in the splits train and test"
        continue
    fi
    config=(--config "configs/cnn_$modality.yaml" --data.curated "$curated" "$@")
    "$python" -m lmod_train fit "${config[@]}" --run "$target/fits/$modality"
    "$python" -m lmod_train validate "${config[@]}" --run "$target/runs/$modality" \
        --ckpt_path "$target/fits/$modality/checkpoints/last.ckpt"
    runs+=("$target/runs/$modality")
done
if [[ ${#runs[@]} -eq 0 ]]; then
    echo "CURATED='$curated': expected anatomy records of SS, OCT, SLO, LP or CFP in the splits train and test." >&2
    echo "Next: curate with the task anatomy, e.g. python -m lmod_train curate --raw RAW --out CURATED" >&2
    exit 2
fi
"$python" -m lmod_train report "${runs[@]}" --out "$target/report"
