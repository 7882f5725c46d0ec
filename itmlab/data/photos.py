"""Twenty photographs with captions that ship with the package; `photographs/LICENSE.md` has the licence of each.

Their pooled features come with them, so that `pretrained("photos")` searches them without the extra "photos". An own
folder takes their place: `load("photos", FOLDER)`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from .faults import Faults
from .readers import Files, read_folder
from .regions import RegionFeatures

SHIPPED = Path(__file__).parent / "photographs"


def read_photos(
    root: Path, faults: Faults, *, captions: str | Path | None = None, images: str | Path | None = None
) -> Files:
    """Read the photographs that ship with the package, or your own folder as `readers.read_folder` does.

    Args:
        root: the folder.
        faults: collects what is wrong.
        captions: another table of captions.
        images: another folder of pictures.
    """
    files = read_folder(root, faults, captions=captions, images=images)
    if root == SHIPPED:
        files.regions = ShippedFeatures
    return files


class ShippedFeatures(Sequence[RegionFeatures]):
    """The mean over the grid of each photograph, one region per picture.

    Args:
        sources: the files of the photographs.
    """

    def __init__(self, sources: Sequence[Any]):
        self._names = [Path(source).name for source in sources]
        self._features = load_file(SHIPPED / "features.safetensors")

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> RegionFeatures:
        return RegionFeatures(self._features[self._names[index]].float(), None, None)

    def select(self, indices: Sequence[int]) -> "ShippedFeatures":
        """Return the features of these photographs in this order."""
        return ShippedFeatures([self._names[int(index)] for index in indices])

    def digests(self) -> list[bytes]:
        """Return none: the features are computed from the pictures, which are known by their own content."""
        return []
