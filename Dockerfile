# A CPU image whose steps are the README's own commands. It has not been built by the authors: no container runtime was
# at hand; every RUN line but apt-get is a command that the tests execute outside a container.
#
#   docker build -t lmod-train .
#   docker run --rm -it lmod-train                                  the quick start
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/raw:/data/raw:ro" -v "$PWD/out:/data/out" lmod-train \
#       .venv/bin/python -m lmod_train curate --raw /data/raw --out /data/out/curated
FROM python:3.11-slim

# g++ and ninja compile DeepSpeed's CPU optimiser when it is first used.
RUN apt-get update \
    && apt-get install --no-install-recommends --yes g++ ninja-build \
    && rm -rf /var/lib/apt/lists/*

# An ordinary user: what decodes files from strangers has no rights beyond its own folder.
RUN useradd --create-home --uid 1000 lmod && install --directory --owner=lmod --group=lmod /lmod_train
USER lmod
WORKDIR /lmod_train
COPY --chown=lmod:lmod . .

# The environment of the quick start, installed when the image is built; PIP_EXTRA_INDEX_URL offers the smaller CPU build
# of torch, which the local version label "+cpu" makes pip prefer.
ENV PIP_NO_CACHE_DIR=1 PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu WANDB_MODE=offline
RUN bash -c 'source scripts/venv.sh && install_into_venv ""'

CMD ["bash", "scripts/quickstart.sh"]
