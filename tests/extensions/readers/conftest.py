from tests.data.formats.conftest import free, mixed  # noqa: F401
