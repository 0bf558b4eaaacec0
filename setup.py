"""Ship ``configs/``, the small base and the files of extensions inside the package; all else is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = ["configs", *(str(p) for p in sorted(Path("configs").rglob("*")) if p.is_dir())]
SHIPPED = {"lmod_train." + folder.replace("/", "."): folder for folder in FOLDERS}
EXTENSIONS = find_packages(include=["lmod_train.extensions.*"])

setup(
    packages=[*find_packages(include=["lmod_train*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={
        "lmod_train": ["py.typed", "__init__.pyi"],
        "lmod_train.models.vision": ["*.yaml"],
        "lmod_train.models.chat": ["small_base/*", "templates/*.jinja"],
        "lmod_train.core.vocabulary": ["*.toml"],
        "lmod_train.data.formats": ["*.html"],
        "lmod_train.tasks.failures": ["measured.csv"],
        "lmod_train.training.doctor": ["*.yaml"],
        "lmod_train.report": ["*.yaml", "sections/*.yaml", "writers/page_files/*"],
        **{
            package: ["*.csv", "*.yaml", "*.json", "*.html", "configs/*.yaml", "configs/*/*.yaml"]
            for package in EXTENSIONS
        },
        **{package: ["*.yaml"] for package in SHIPPED},
    },
)
