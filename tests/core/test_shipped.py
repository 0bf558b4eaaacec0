from lmod_train.core.shipped import configs_folder


def test_the_folder_holds_the_configs_that_commands_read():
    assert (configs_folder() / "curate" / "default.yaml").is_file() and (configs_folder() / "report").is_dir()
