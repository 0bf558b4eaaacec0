import pytest

from lmod_train.data.sources.idrid import read_grades, read_points
from lmod_train.data.sources.sheets import UnreadableSheet


def test_grades_are_read_past_odd_headers_and_blank_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "Image name,Retinopathy grade,Risk of macular edema ,,,\r\n"
        "IDRiD_001,3,2,,,\r\nIDRiD_002.jpg,4.0,,,,\r\nIDRiD_003,5,1,,,\r\n,,,,,\r\n,,,,,\r\n"
    )
    grades, problems = read_grades(path)
    assert grades == {
        "idrid_001": {"icdr": "3", "macular_edema_risk": "2"},
        "idrid_002": {"icdr": "4"},
        "idrid_003": {"macular_edema_risk": "1"},
    }
    assert problems == ["IDRiD_002.jpg: no macular_edema_risk", "IDRiD_003: icdr '5' is none of 0, 1, 2, 3, 4"]


@pytest.mark.parametrize(
    "header",
    [
        "Image No,X- Coordinate,Y - Coordinate",
        "image no , X -Coordinate,Y- Coordinate ,,",
        "Image_Name;X_Coordinate;Y_Coordinate",
    ],
)
def test_points_are_read_past_odd_headers(tmp_path, header):
    path = tmp_path / "c.csv"
    rows = [
        "IDRiD_001,1494,1970.5",
        "IDRiD_002,x,1",
        "IDRiD_003,,",
        "IDRiD_004,inf,2",
        "IDRiD_005,1,2",
        "IDRiD_005,1,3",
        "IDRiD_006,1,2,3",
        ",,",
    ]
    text = "\n".join([header, *rows])
    path.write_text(text.replace(",", ";") if ";" in header else text)
    points, problems = read_points(path)
    assert points == {
        "idrid_001": (1494.0, 1970.5),
        **dict.fromkeys(("idrid_002", "idrid_003", "idrid_004", "idrid_005", "idrid_006")),
    }
    assert [problem.split(":")[0] for problem in problems] == [f"IDRiD_00{i}" for i in (6, 2, 3, 4, 5)]


@pytest.mark.parametrize("read", [read_grades, read_points])
def test_the_error_of_a_table_with_other_columns_lists_them(tmp_path, read):
    path = tmp_path / "x.csv"
    path.write_text("Image name,Grade\nIDRiD_001,1\n")
    with pytest.raises(UnreadableSheet, match=r"no column .*; it has imagename, grade"):
        read(path)
    path.write_text("Image name,Retinopathy grade,Risk of macular edema,X-Coordinate,Y-Coordinate\n")
    with pytest.raises(UnreadableSheet, match="it has none"):
        read(path)
