"""Films and pictures: the scene of an animation drawn into images, without a browser.

Planar scenes are drawn by matplotlib (`flat.py`): what never changes is drawn once and copied (blitting), which makes a
frame about ten times cheaper than drawing a figure anew. Those in space have pixels of our own (`solid.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import DalembertError, FileError, OptionError
from dalembert.model.namespace import explain_unknown

if TYPE_CHECKING:
    from dalembert.viewer.animation import Animation

#: images of a film
MOST_IMAGES = 5000


@dataclass(frozen=True, kw_only=True)
class FilmOptions:
    """Options of films and pictures."""

    fps: float = 25.0  # images in a second
    width: int = 640  # of the image in pixels
    height: int = 480
    seconds: float | None = None  # how long it lasts; default: as the speed of the animation says
    dark: bool = False
    view: tuple[float, float] = (-52.0, 22.0)  # azimuth and elevation of the camera in degrees
    t: float | None = None  # of a picture; default: the last time


def film(animation: Animation, path: Path, kind: str, given: dict[str, Any]) -> None:
    """Write a film (".gif", ".mp4") or a picture (".png")."""
    options = _options(given)
    stage = stage_of(animation, options)
    try:
        if kind == ".png":
            _picture(animation, stage, path, options)
        elif kind == ".gif":
            _gif(animation, stage, path, options)
        else:
            _mp4(animation, stage, path, options)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        stage.close()


def stage_of(animation: Animation, options: FilmOptions) -> Any:
    """What draws the images."""
    if animation.scene.planar:
        from dalembert.viewer.flat import FlatStage

        return FlatStage(animation, options.width, options.height, dark=options.dark)
    from dalembert.viewer.solid import SolidStage

    return SolidStage(animation, options.width, options.height, dark=options.dark, view=options.view)


def _options(given: dict[str, Any]) -> FilmOptions:
    names = FilmOptions.__dataclass_fields__
    for name in given:
        if name not in names:
            raise OptionError(f"films and pictures: {explain_unknown(name, names)}")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == "dark":
            if not isinstance(value, bool | np.bool_):
                raise OptionError(f"dark={shown(value)} must be True or False")
            found[name] = bool(value)
        elif name == "view":
            try:
                found[name] = tuple(real(x) for x in value) if isinstance(value, list | tuple) else ()
            except NoNumber:
                found[name] = ()
            if len(found[name]) != 2 or not np.isfinite(found[name]).all():
                raise OptionError(f"view={shown(value)} must be azimuth and elevation in degrees")
        elif value is not None:
            try:
                found[name] = real(value)
            except NoNumber as reason:
                raise OptionError(f"{name}={shown(value)} {reason}") from None
            if name != "t" and not 0 < found[name] < np.inf:
                raise OptionError(f"{name}={shown(value)} must be positive")
    for name in ("width", "height"):
        if name in found:
            if found[name] != int(found[name]) or not 16 <= found[name] <= 8192:
                raise OptionError(f"{name}={shown(given[name])} must be a whole number of pixels from 16 to 8192")
            found[name] = int(found[name])
    return FilmOptions(**found)


def _moments(animation: Animation, options: FilmOptions) -> np.ndarray:
    """Places among the frames, one for each image: whole numbers and what is between them."""
    length = abs(animation.t[-1] - animation.t[0])
    seconds = options.seconds or (length / animation.speed if length else 1.0 / options.fps)
    count = max(2, round(seconds * options.fps)) if length else 1
    if count > MOST_IMAGES:
        raise OptionError(
            f"a film of {seconds:.4g} s has {count} images; more than {MOST_IMAGES} are too many: give seconds= or fps="
        )
    along = np.linspace(animation.t[0], animation.t[-1], count)
    order = np.sign(animation.t[-1] - animation.t[0]) or 1.0
    return np.interp(order * along, order * animation.t, np.arange(len(animation.t)))


def _picture(animation: Animation, stage: Any, path: Path, options: FilmOptions) -> None:
    t = animation.t[-1] if options.t is None else options.t
    low, high = sorted((animation.t[0], animation.t[-1]))
    if not low <= t <= high:
        raise OptionError(f"t={t:g} lies outside of the animation, {low:g} … {high:g}")
    order = np.sign(animation.t[-1] - animation.t[0]) or 1.0
    _image(stage, float(np.interp(order * t, order * animation.t, np.arange(len(animation.t))))).save(path)


def _image(stage: Any, moment: float) -> Any:
    from PIL import Image

    return Image.fromarray(stage.draw(moment)).convert("RGB")


def _gif(animation: Animation, stage: Any, path: Path, options: FilmOptions) -> None:
    from PIL import Image

    images = [_image(stage, moment) for moment in _moments(animation, options)]
    # one palette for all of them: colours do not flicker, and files are smaller
    middle = images[len(images) // 2].quantize(colors=192, method=Image.Quantize.MEDIANCUT)
    flat = [image.quantize(palette=middle, dither=Image.Dither.NONE) for image in images]
    duration = max(20, round(1000 / options.fps))  # browsers take less for a mistake
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=duration, loop=0, optimize=False)


def _mp4(animation: Animation, stage: Any, path: Path, options: FilmOptions) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise DalembertError(
            "films in .mp4 need imageio-ffmpeg: pip install 'dalembert[video]'; .gif and .html work without it"
        ) from None
    size = (options.width - options.width % 2, options.height - options.height % 2)  # the codec wants even numbers
    rgba = {"pix_fmt_in": "rgba", "macro_block_size": 2}  # the size stays what it is
    writer = imageio_ffmpeg.write_frames(str(path), size, fps=options.fps, quality=7, **rgba)
    try:
        writer.send(None)
        for moment in _moments(animation, options):
            writer.send(np.ascontiguousarray(stage.draw(moment)[: size[1], : size[0]]))
    finally:
        writer.close()
