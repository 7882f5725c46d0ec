"""How CIDEr and SPICE agree with people's ratings of pairs, in each reading of a pair's NCS (SAM, Table 1)."""

from ..data.captionset import CaptionSet
from ..data.crisscrossed import Ratings
from ..metrics import Cider, Spice, human_judgement
from ..metrics.correlation import Correlation

READINGS = {"φ itself": "none", "φ / the picture's largest": "image", "φ / the caption's largest": "caption"}
LEFT_OUT = "φ, caption not among its references"


def judged_by_people(
    data: CaptionSet, ratings: Ratings, *, parser: str = "english"
) -> dict[str, dict[str, dict[str, Correlation]]]:
    """`[reading][measure]["all" | "non-ground-truth"]`: Pearson's r with the ratings of pairs of `data`.

    The paper does not say what one pair's NCS is: φ itself, or φ over the largest of its picture or of its caption,
    which is NCS@1 of that query. In the last reading a caption is compared with the *other* captions of its picture.
    An image without captions is an ItmlabError.
    """
    own = data.image_of_caption.tolist()
    references = [[data.captions[caption] for caption in captions.tolist()] for captions in data.captions_of_image]
    fitted = {"NCS with SPICE": Spice(references, parser=parser), "NCS with CIDEr": Cider(references)}
    kept = {name: phi.matrix(data.captions) for name, phi in fitted.items()}
    rated = (data.positives, ratings.captions, ratings.images, ratings.scores)
    tables = {reading: human_judgement(kept, *rated, normalised=divisor) for reading, divisor in READINGS.items()}
    left_out = {
        name: phi.matrix(data.captions, image_of_caption=own, leave_one_out=True) for name, phi in fitted.items()
    }
    return {**tables, LEFT_OUT: human_judgement(left_out, *rated)}
