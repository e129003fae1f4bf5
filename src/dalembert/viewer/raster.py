"""Triangles, balls and a floor in the pixels of an image, with a buffer of depths.

Coordinates are pixels to the right and down, and the inverse distance from the eye, which is linear on the screen; what
is nearer has more of it. Images are (height, width, 3) of float32 from 0 to 1.
"""

from __future__ import annotations

import math

from dalembert.compile.kernel import device, kernel

IMAGE, DEPTH, TABLE, LIST = "float32[:,:,::1]", "float32[:,::1]", "float64[:,::1]", "float64[::1]"
CUBE = "float64[:,:,::1]"


@device
def lit(n_x, n_y, n_z, light, up, to_eye):
    """Brightness of a surface, and the shine on it; see `page/webgl.js`."""
    sky = 0.5 + 0.5 * (n_x * up[0] + n_y * up[1] + n_z * up[2])
    sun = max(n_x * light[0] + n_y * light[1] + n_z * light[2], 0.0)
    h_x, h_y, h_z = light[0] + to_eye[0], light[1] + to_eye[1], light[2] + to_eye[2]
    norm = math.sqrt(h_x * h_x + h_y * h_y + h_z * h_z) + 1e-300
    mirrored = max((n_x * h_x + n_y * h_y + n_z * h_z) / norm, 0.0)
    second = mirrored * mirrored
    eighth = second * second * second * second
    shine = eighth * eighth * eighth * eighth * eighth * second  # to the power of 42
    grazing = 1.0 - max(n_x * to_eye[0] + n_y * to_eye[1] + n_z * to_eye[2], 0.0)
    return 0.34 + 0.30 * sky + 0.52 * sun, 0.20 * shine + 0.07 * grazing * grazing * grazing


@device
def span(low, high, start, by):
    """Of the pixels low … high those where start + i by is not negative."""
    if by > 0.0:
        return max(low, math.ceil(-start / by - 1e-9)), high
    if by < 0.0:
        return low, min(high, math.floor(-start / by + 1e-9))
    return low, high if start >= 0.0 else low - 1


@kernel(f"void({IMAGE}, {DEPTH}, {CUBE}, {CUBE}, {TABLE}, {LIST}, {LIST}, {LIST})")
def fill_triangles(image, depth, corners, normals, tints, light, up, to_eye):
    """Triangles (n, 3, 3) with normals at their corners, in the light; seen from both sides."""
    height, width = depth.shape
    for k in range(corners.shape[0]):
        x0, y0, x1, y1 = corners[k, 0, 0], corners[k, 0, 1], corners[k, 1, 0], corners[k, 1, 1]
        x2, y2 = corners[k, 2, 0], corners[k, 2, 1]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if not (abs(area) > 1e-12 and abs(area) < 1e12):
            continue
        first, last = max(math.ceil(min(y0, y1, y2) - 0.5), 0), min(math.floor(max(y0, y1, y2) - 0.5), height - 1)
        left, right = max(math.ceil(min(x0, x1, x2) - 0.5), 0), min(math.floor(max(x0, x1, x2) - 0.5), width - 1)
        by_b, by_c = (y2 - y0) / area, (y0 - y1) / area  # how shares change from pixel to pixel
        for j in range(first, last + 1):
            y = j + 0.5
            b0 = ((0.5 - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
            c0 = ((x1 - x0) * (y - y0) - (0.5 - x0) * (y1 - y0)) / area
            low, high = span(left, right, b0, by_b)
            low, high = span(low, high, c0, by_c)
            low, high = span(low, high, 1.0 - b0 - c0, -by_b - by_c)
            for i in range(low, high + 1):
                b, c = b0 + i * by_b, c0 + i * by_c
                a = 1.0 - b - c
                near = a * corners[k, 0, 2] + b * corners[k, 1, 2] + c * corners[k, 2, 2]
                if near <= depth[j, i]:
                    continue
                n_x = a * normals[k, 0, 0] + b * normals[k, 1, 0] + c * normals[k, 2, 0]
                n_y = a * normals[k, 0, 1] + b * normals[k, 1, 1] + c * normals[k, 2, 1]
                n_z = a * normals[k, 0, 2] + b * normals[k, 1, 2] + c * normals[k, 2, 2]
                norm = math.sqrt(n_x * n_x + n_y * n_y + n_z * n_z) + 1e-300
                if n_x * to_eye[0] + n_y * to_eye[1] + n_z * to_eye[2] < 0.0:
                    norm = -norm
                bright, shine = lit(n_x / norm, n_y / norm, n_z / norm, light, up, to_eye)
                depth[j, i] = near
                for m in range(3):
                    image[j, i, m] = tints[k, m] * bright + shine


@kernel(f"void({IMAGE}, {DEPTH}, {TABLE}, {TABLE}, {TABLE}, {LIST}, {LIST})")
def fill_balls(image, depth, balls, tints, axes, light, up):
    """Balls (n, 5): where they are in the image, inverse distance, radius in pixels and in units of length.

    `axes` are the directions to the right, up and to the eye. A fourth number of a tint below 1 is its opacity.
    """
    height, width = depth.shape
    for k in range(balls.shape[0]):
        x, y, near, radius, size = balls[k]
        if not (radius > 0.0 and radius < 1e5 and abs(x) < 1e6 and abs(y) < 1e6):
            continue
        first, last = max(math.ceil(y - radius - 0.5), 0), min(math.floor(y + radius - 0.5), height - 1)
        left, right = max(math.ceil(x - radius - 0.5), 0), min(math.floor(x + radius - 0.5), width - 1)
        for j in range(first, last + 1):
            for i in range(left, right + 1):
                u, v = (i + 0.5 - x) / radius, (y - j - 0.5) / radius
                under = 1.0 - u * u - v * v
                if under < 0.0:
                    continue
                w = math.sqrt(under)
                at = 1.0 / max(1.0 / near - size * w, 1e-300)
                if at <= depth[j, i]:
                    continue
                n_x = u * axes[0, 0] + v * axes[1, 0] + w * axes[2, 0]
                n_y = u * axes[0, 1] + v * axes[1, 1] + w * axes[2, 1]
                n_z = u * axes[0, 2] + v * axes[1, 2] + w * axes[2, 2]
                bright, shine = lit(n_x, n_y, n_z, light, up, axes[2])
                cover = tints[k, 3]
                if cover < 1.0:
                    cover = min(1.0, cover * (1.0 + 2.0 * (1.0 - w) ** 2))
                else:
                    depth[j, i] = at
                for m in range(3):
                    image[j, i, m] += cover * (tints[k, m] * bright + shine - image[j, i, m])


@kernel(f"void({IMAGE}, {DEPTH}, {DEPTH}, {CUBE}, {LIST}, float64)")
def fill_flat(image, depth, mask, corners, tint, cover):
    """Triangles of one colour on what is there, each pixel once: shadows, lines. `mask` says where they have been."""
    height, width = depth.shape
    for k in range(corners.shape[0]):
        x0, y0, x1, y1 = corners[k, 0, 0], corners[k, 0, 1], corners[k, 1, 0], corners[k, 1, 1]
        x2, y2 = corners[k, 2, 0], corners[k, 2, 1]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if not (abs(area) > 1e-12 and abs(area) < 1e12):
            continue
        first, last = max(math.ceil(min(y0, y1, y2) - 0.5), 0), min(math.floor(max(y0, y1, y2) - 0.5), height - 1)
        left, right = max(math.ceil(min(x0, x1, x2) - 0.5), 0), min(math.floor(max(x0, x1, x2) - 0.5), width - 1)
        by_b, by_c = (y2 - y0) / area, (y0 - y1) / area  # how shares change from pixel to pixel
        for j in range(first, last + 1):
            y = j + 0.5
            b0 = ((0.5 - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
            c0 = ((x1 - x0) * (y - y0) - (0.5 - x0) * (y1 - y0)) / area
            low, high = span(left, right, b0, by_b)
            low, high = span(low, high, c0, by_c)
            low, high = span(low, high, 1.0 - b0 - c0, -by_b - by_c)
            for i in range(low, high + 1):
                b, c = b0 + i * by_b, c0 + i * by_c
                a = 1.0 - b - c
                if mask[j, i] > 0.0:
                    continue
                near = a * corners[k, 0, 2] + b * corners[k, 1, 2] + c * corners[k, 2, 2]
                if near * 1.002 < depth[j, i]:
                    continue
                mask[j, i] = 1.0
                for m in range(3):
                    image[j, i, m] += cover * (tint[m] - image[j, i, m])


@kernel(f"void({IMAGE}, {DEPTH}, {TABLE}, {LIST}, {TABLE}, {LIST})")
def fill_floor(image, depth, axes, eye, along, given):
    """The floor with a grid that fades away; `along`: up and both directions of the grid.

    `given`: focal length in pixels, height of the floor, distance of the lines, how far it is seen, its colour, that of
    the lines.
    """
    height, width = depth.shape
    focal, level, step, far = given[0], given[1], given[2], given[3]
    above = eye[0] * along[0, 0] + eye[1] * along[0, 1] + eye[2] * along[0, 2] - level
    for j in range(height):
        for i in range(width):
            u, v = (i + 0.5 - width / 2) / focal, (height / 2 - j - 0.5) / focal
            x = u * axes[0, 0] + v * axes[1, 0] - axes[2, 0]
            y = u * axes[0, 1] + v * axes[1, 1] - axes[2, 1]
            z = u * axes[0, 2] + v * axes[1, 2] - axes[2, 2]
            down = -(x * along[0, 0] + y * along[0, 1] + z * along[0, 2])
            if above <= 0.0 or down <= 1e-6:
                continue
            s = above / down
            fade = min(max((1.0 - s / far) / 0.6, 0.0), 1.0)
            if fade <= 0.0:
                continue
            p_x, p_y, p_z = eye[0] + s * x, eye[1] + s * y, eye[2] + s * z
            line = 0.0
            fine = s / focal / step  # a pixel, across the view; along it is wider
            steep = fine / max(down, 0.05)
            for m in range(1, 3):
                g = (p_x * along[m, 0] + p_y * along[m, 1] + p_z * along[m, 2]) / step
                toward = abs(x * along[m, 0] + y * along[m, 1] + z * along[m, 2])
                wide = fine + (steep - fine) * min(toward, 1.0)
                line = max(line, min(1.0, 1.3 - abs(g - round(g)) / wide) * min(1.0, 0.25 / wide))
            depth[j, i] = 1.0 / s
            for m in range(3):
                tone = given[4 + m] + max(line, 0.0) * (given[7 + m] - given[4 + m])
                image[j, i, m] += 0.95 * fade * (tone - image[j, i, m])


@kernel(f"void({IMAGE}, uint8[:,:,::1])")
def reduce_by_two(image, out):
    """Four pixels become one, of bytes; the fourth number of a pixel is full."""
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            for m in range(3):
                four = image[2 * j, 2 * i, m] + image[2 * j, 2 * i + 1, m]
                four += image[2 * j + 1, 2 * i, m] + image[2 * j + 1, 2 * i + 1, m]
                out[j, i, m] = int(min(max(four / 4.0, 0.0), 1.0) * 255.0 + 0.5)
            out[j, i, 3] = 255
