from tests.report.conftest import three  # noqa: F401
