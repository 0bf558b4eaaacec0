from tests.tasks.conftest import drawn, truths  # noqa: F401
