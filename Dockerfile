# Two images, with what the headline command (LLaVA-Med, DeepSpeed) and endpoints need. They have not been built by the
# authors, as no container runtime was at hand; their steps were run outside of one, as another user.
#
#   docker build --target cpu -t lmod-train .            torch without CUDA
#   docker build --target cuda -t lmod-train:cuda .      torch with CUDA; run with --gpus all
#
#   docker run --rm -it lmod-train                                                            the quick start
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/raw:/data/raw:ro" -v "$PWD/out:/data/out" lmod-train \
#       lmod-train curate --raw /data/raw --out /data/out/curated
#   docker run --rm --gpus all -v "$PWD/out:/data/out" lmod-train:cuda \
#       lmod-train fit --config configs/llava_med_ft.yaml --data.curated /data/out/curated --run /data/out/llava_med
#   docker run --rm --network host -e OPENAI_API_KEY -v "$PWD/out:/data/out" lmod-train \
#       lmod-train validate --config zero_shot --model gpt_4o --data.curated /data/out/curated --run /data/out/gpt_4o
ARG PYTHON=python:3.11.13-slim-bookworm@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1

FROM ${PYTHON} AS base
# g++ and ninja compile DeepSpeed's CPU optimiser when it is first used.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --no-install-recommends --yes g++ ninja-build \
    && rm -rf /var/lib/apt/lists/*
# Any user can write to the folders of outputs and caches, and to nothing else; --user may name one without a home.
RUN useradd --create-home --uid 1000 lmod \
    && install --directory --mode=1777 /lmod_train/runs /lmod_train/quickstart /data /data/out /cache
WORKDIR /lmod_train
ENV PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 WANDB_MODE=offline HOME=/cache PATH=/lmod_train/.venv/bin:$PATH
COPY requirements.txt ./
RUN python -m venv .venv

# What changes least comes first: torch, then the other packages by their hashes, then this project.
FROM base AS cpu-packages
RUN version() { sed -n "s/^$1==\\([^ ]*\\).*/\\1/p" requirements.txt; } \
    && pip install --no-deps --index-url https://download.pytorch.org/whl/cpu \
        "torch==$(version torch)+cpu" "torchvision==$(version torchvision)+cpu" \
    && grep -vE "^(torch|torchvision|triton|nvidia-[a-z0-9-]+|cuda-[a-z]+)==" requirements.txt >others.txt \
    && pip install --no-deps --require-hashes -r others.txt

FROM base AS cuda-packages
RUN pip install --no-deps --require-hashes -r requirements.txt

FROM cpu-packages AS cpu
COPY . .
RUN bash -c 'source scripts/venv.sh && install_into_venv "[deepspeed]" && install_into_venv ""'
USER 1000
CMD ["bash", "scripts/quickstart.sh"]

FROM cuda-packages AS cuda
COPY . .
RUN bash -c 'source scripts/venv.sh && install_into_venv "[deepspeed]" && install_into_venv ""'
USER 1000
CMD ["bash", "scripts/quickstart.sh"]
