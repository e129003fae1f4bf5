"""Films and pictures without a browser."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from still import still

import dalembert as da


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB"), int)


@pytest.mark.parametrize("name", ["andrews", "heavy_top", "falling_block", "transistor_amplifier"])
def test_pictures_differ_in_time(solved, name, tmp_path):
    animation = solved(name).animate()
    shots = []
    for k, share in enumerate((0.0, 0.4, 0.4)):
        animation.save(
            tmp_path / f"{k}.png", t=animation.t[0] + share * (animation.t[-1] - animation.t[0]), width=320, height=240
        )
        shots.append(pixels(tmp_path / f"{k}.png"))
    assert shots[0].shape == (240, 320, 3)
    assert (np.abs(shots[0] - shots[1]).max(axis=2) > 30).mean() > 1e-3
    np.testing.assert_array_equal(shots[1], shots[2])


def test_dark_pictures(solved, tmp_path):
    animation = solved("pendulum").animate()
    for dark in (False, True):
        animation.save(tmp_path / f"{dark}.png", dark=dark, width=160, height=120)
    assert pixels(tmp_path / "True.png").mean() < 0.5 * pixels(tmp_path / "False.png").mean()


def test_a_gif_has_all_its_images(solved, tmp_path):
    animation = solved("andrews").animate(tmp_path / "film.gif", seconds=1.0, fps=10, width=160, height=120)
    assert animation.path == tmp_path / "film.gif"
    film = Image.open(tmp_path / "film.gif")
    assert film.n_frames == 10
    assert film.size == (160, 120)
    assert film.info["duration"] == 100


def test_an_mp4(solved, tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra 'video'")
    solved("pendulum").animate(tmp_path / "film.mp4", seconds=1.0, fps=10, width=161, height=120)
    frames = imageio_ffmpeg.read_frames(str(tmp_path / "film.mp4"))
    meta = next(frames)
    assert meta["size"] == (160, 120)
    assert len(list(frames)) == 10


def test_without_ffmpeg_the_remedy_is_told(solved, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(da.DalembertError, match=r"dalembert\[video\]"):
        solved("pendulum").animate(tmp_path / "film.mp4")


@pytest.mark.parametrize("name", ["stewart_platform", "fekete", "passenger_car", "bouncing_balls", "truck", "bricard"])
def test_everything_can_be_drawn(name, tmp_path):
    still(getattr(da.problems, name)()).animate(tmp_path / "still.png", width=200, height=150)
    assert np.ptp(pixels(tmp_path / "still.png")) > 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fbs": 10}, "did you mean 'fps'"),
        ({"fps": -1}, "must be positive"),
        ({"width": 3.5}, "whole number of pixels"),
        ({"height": "tall"}, "height="),
        ({"view": 3}, "azimuth and elevation"),
        ({"seconds": 1e6}, "too many"),
    ],
)
def test_wrong_options(solved, options, words, tmp_path):
    with pytest.raises(da.OptionError, match=words):
        solved("pendulum").animate(tmp_path / "film.gif", **options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "film.avi"}, "must end with .html, .gif, .mp4 or .png"),
        ({"path": 3}, "name of a file"),
        ({"frames": 1}, "whole number from 2"),
        ({"frames": "many"}, "frames="),
        ({"speed": 0}, "must be positive"),
        ({"title": 3}, "must be text"),
        ({"plots": ["z"]}, "there is no 'z'"),
        ({"plots": 3}, "list of names"),
        ({"fps": 3}, "without a file"),
        ({"drawing": 3}, "list of parts"),
    ],
)
def test_wrong_arguments(solved, arguments, words, tmp_path):
    if isinstance(arguments.get("path"), str):
        arguments = {**arguments, "path": tmp_path / arguments["path"]}
    with pytest.raises((da.OptionError, da.ModelError), match=words):
        solved("pendulum").animate(**arguments)


def test_a_place_that_cannot_be_written(solved, tmp_path):
    with pytest.raises(da.FileError, match="cannot be written"):
        solved("pendulum").animate(tmp_path / "nowhere" / "page.html")


def test_plots_by_name(solved):
    sol = solved("pendulum")
    assert [plot.title for plot in sol.animate(plots=["x", ["x_dot", "y_dot"]]).plots] == ["x", "x_dot, y_dot"]
    assert sol.animate(plots=[]).plots == []


def test_the_page_is_small(solved):
    assert len(solved("andrews").animate().html()) < 250_000
