"""Make one moving picture of the frames that a browser test has taken.

The name of a frame is its number, a hyphen, and for how many milliseconds it is shown.
"""

from pathlib import Path

from PIL import Image

COLOURS = 256
#: How long the last frame is shown before the picture begins again, in milliseconds.
LAST_DURATION = 2000


def write(frames: Path, target: Path) -> None:
    """Write the frames of a folder as a WebP with few colours, which is half as large as a GIF."""
    files = sorted(frames.glob("*.png"))
    pictures = [Image.open(file).convert("RGB") for file in files]
    durations = [int(file.stem.partition("-")[2]) for file in files]
    palette = _choose_palette(pictures)
    # Without dithering, what does not change is equal in all frames and needs no space.
    first, *others = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB")
        for picture in pictures
    )
    first.save(
        target,
        save_all=True,
        append_images=others,
        duration=[*durations[:-1], LAST_DURATION],
        loop=0,
        lossless=True,
        minimize_size=True,
        method=6,
    )


def _choose_palette(pictures: list[Image.Image]) -> Image.Image:
    """Return one palette for all pictures: of at most ten of them, one below the other."""
    samples = pictures[:: -(-len(pictures) // 10)]
    width, height = samples[0].size
    sheet = Image.new("RGB", (width, height * len(samples)))
    for index, picture in enumerate(samples):
        sheet.paste(picture, (0, index * height))
    return sheet.quantize(COLOURS)
