from tests.report.conftest import compared  # noqa: F401
