"""How tests look at pages: the state of the player, pictures of the stage, and the controls that there are."""

from __future__ import annotations

import base64
import io

import numpy as np

PLAYER = "document.querySelector('.da-player').player"

#: everything on a page that somebody can operate, by a short name
CONTROLS = """(() => {
  const name = (one) => {
    if (one.dataset.layer) return `layer ${one.dataset.layer}`;
    if (one.matches('summary')) return [...one.parentElement.classList].pop() || 'folded';
    if (one.matches('.da-legend button')) return 'legend';
    if (one.matches('a')) return 'link';
    return [...one.classList].filter((name) => name.startsWith('da-') && name !== 'da-button').pop() || one.outerHTML;
  };
  const all = document.querySelectorAll('button, input, select, summary, a[href], canvas, [tabindex], [onclick]');
  return [...all].filter((one) => !one.closest('[aria-hidden=true]') && !one.hidden).map(name);
})()"""


def state(page, expression: str):
    """Of the player."""
    return page.run(f"{PLAYER}.{expression}")


def share(page) -> float:
    """Which part of the time has passed."""
    return state(page, f"moment.time / {PLAYER}.moment.duration")


def clock(page) -> str:
    return page.run("document.querySelector('.da-clock').textContent")


def stage(page) -> tuple[float, float]:
    """The middle of the stage."""
    return page.middle(".da-canvas")


def picture(page, selector: str = ".da-canvas") -> np.ndarray:
    """What is drawn on a canvas."""
    from PIL import Image

    text = page.run(f"document.querySelector({selector!r}).toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text.split(",")[1]))).convert("RGB"), int)


def changed(a: np.ndarray, b: np.ndarray, least: int = 24) -> float:
    """Share of pixels that differ visibly."""
    return float((np.abs(a - b).max(axis=2) > least).mean())
