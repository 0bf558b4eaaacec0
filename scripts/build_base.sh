#!/usr/bin/env bash
# Rebuilds the small base that is shipped with the package; takes about three and a half hours on 2 CPU cores.
#
#   bash scripts/build_base.sh [DIR]       DIR is build/base/ by default; existing parts are not made again
#
# Draws images of all five modalities (seeds from 2**48, which no demo or test uses) and trains from scratch: a vision
# tower to predict the content of each patch, a language model to describe images, then the tower to read box numbers and
# the language model to name them. The result is in DIR/small_base; compare it, then copy it over
# lmod_train/models/chat/small_base, and keep the README.md there.
set -euo pipefail

target="${1:-build/base}"
[[ $target == /* ]] || target="$PWD/$target"
source "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
install_into_venv ""
cd "$(dirname "${BASH_SOURCE[0]}")/base"
export OMP_NUM_THREADS=1 # one thread per process; the processes synchronise once per step

# keep freed memory for the next step instead of returning it to the system: 25 % faster, up to 21 GiB
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000

# round NAME [options]: one training of the tower
round() {
    [[ -e $target/$1/model.safetensors ]] ||
        "$python" tower.py --pictures "$target/marked" --out "$target/$1" --batch 48 --workers 2 "${@:2}"
}

# speech NAME TOWER [options]: one training of the language model on the features of a tower
speech() {
    [[ -e $target/$1/processor_config.json ]] ||
        "$python" language.py --pictures "$target/marked" --tower "$target/$2" --out "$target/$1" \
            --work "$target/work_$1" --batch 32 --workers 2 "${@:3}"
}

"$python" marked.py --out "$target/marked" --n 18000
round tower --steps 5000
round tower_faint --steps 2500 --start "$target/tower" --faint 4
speech language tower_faint --steps 1600
round tower_numbers --steps 2500 --start "$target/tower_faint" --faint 4 --numbers 3
round tower_tools --steps 2500 --start "$target/tower_numbers" --faint 4 --numbers 6
speech language_numbers tower_tools --steps 1200 --start "$target/language"
speech language_boxes tower_tools --steps 850 --start "$target/language_numbers" --boxed 0.75
round tower_pairs --steps 2600 --start "$target/tower_tools" --faint 4 --numbers 6
speech small_base tower_pairs --steps 900 --start "$target/language_boxes" --boxed 0.75
