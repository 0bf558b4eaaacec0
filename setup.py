"""Ship ``configs/`` and the small base inside the package; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = ["configs", *(str(p) for p in sorted(Path("configs").rglob("*")) if p.is_dir())]
SHIPPED = {"lmod_train." + folder.replace("/", "."): folder for folder in FOLDERS}

setup(
    packages=[*find_packages(include=["lmod_train*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={
        "lmod_train": ["py.typed"],
        "lmod_train.models.chat": ["small_base/*", "templates/*.jinja"],
        "lmod_train.tasks.failures": ["measured.csv"],
        "lmod_train.data.sources.ophthalwechat": ["account.csv"],
        "lmod_train.report.papers": ["*.csv"],
        "lmod_train.report.writers": ["page_files/*"],
        "lmod_train.tasks.drafting.captions": ["keywords.csv"],
        "lmod_train.tasks.captioned": ["prompts.json"],
        "lmod_train.tasks.drafts": ["listings.json"],
        **{package: ["*.yaml"] for package in SHIPPED},
    },
)
