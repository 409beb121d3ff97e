"""The same mask: the positive is the anchor's own vector, with the very units dropped that the anchor dropped.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Section 3 ("Fixed 0.1", the
    control of the table of dropout rates)

    positive = anchor, as a function of the weights: the loss can only push sentences apart
"""

from __future__ import annotations

from mirrormask.views import View, views


@views.register("same-mask")
class SameMask(View):
    """Take the other view's vector as it is, so that nothing but the negatives is learned from.

    Relations: after `dropout` it is the control that shows what a second draw is worth; after `dropout` at rate 0 it is
        training without any.

    Example:
        >>> SameMask().shares_forward
        True
    """

    shares_forward = True
    same_on_purpose = True
