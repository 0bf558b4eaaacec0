"""A classifier looks at one picture: a record with another number is refused by its id."""

from dataclasses import replace

import pytest

from lmod_train.errors import BadArgument
from lmod_train.vision.one_picture import one_picture
from tests.tiny import record


def test_it_is_the_plain_picture():
    assert one_picture(record(image=["marked.png"], image_plain=("plain.png",))) == "plain.png"


@pytest.mark.parametrize(("pictures", "counted"), [((), "none"), (("a.png", "b.png"), "2")])
def test_none_or_several_are_refused_by_id(pictures, counted):
    wrong = replace(record("glaucoma/p/7"), image_plain=pictures)
    with pytest.raises(BadArgument, match=rf"data\.tasks='glaucoma': .*\(glaucoma/p/7 has {counted}\)\.\nNext: remove"):
        one_picture(wrong)
