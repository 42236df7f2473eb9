"""Placements of one norm a sublayer at most: before it, after its residual sum, or on the branch's output."""

from typing import ClassVar

from torch import Tensor

from normtrial.placements.base import Placement, Sublayers


class Pre(Placement):
    """Norm in front of each sublayer; the identity path runs through untouched.

        x ──┬── norm1 ── attention ──(+)──┬── norm2 ── mlp ──(+)── x'        then final_norm before the head
            └─────────────────────────┘   └──────────────────┘

    x ← x + attention(norm1(x));  x ← x + mlp(norm2(x))

    Source: Baevski and Auli 2019, arXiv 1809.10853; named Pre-LN by Xiong et al. 2020, arXiv 2002.04745.
    """

    final_norm: ClassVar[bool] = True

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.attention(f.norm["norm1"](x_BLD))
        return x_BLD + f.mlp(f.norm["norm2"](x_BLD))


class Post(Placement):
    """Norm after each residual sum; the identity path passes through every norm.

        x ──┬── attention ──(+)── norm1 ──┬── mlp ──(+)── norm2 ── x'
            └────────────────┘            └──────────┘

    x ← norm1(x + attention(x));  x ← norm2(x + mlp(x))

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.1; named Post-LN by Xiong et al. 2020,
    arXiv 2002.04745.
    """

    order = ("attention", "norm1", "mlp", "norm2")
    final_norm: ClassVar[bool] = False

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = f.norm["norm1"](x_BLD + f.attention(x_BLD))
        return f.norm["norm2"](x_BLD + f.mlp(x_BLD))


class ResPost(Placement):
    """Norm on each branch's output, before it is added; sublayers read the stream as it is.

        x ──┬── attention ── norm1 ──(+)──┬── mlp ── norm2 ──(+)── x'        then final_norm before the head
            └─────────────────────────┘   └──────────────────┘

    x ← x + norm1(attention(x));  x ← x + norm2(mlp(x))

    Source: res-post-norm of Liu et al. 2022 (Swin v2), arXiv 2111.09883; the order of OLMo 2,
    arXiv 2501.00656, which adds RMSNorm on queries and keys (here model.qk_norm=rms).
    """

    order = ("attention", "norm1", "mlp", "norm2")
    final_norm: ClassVar[bool] = True

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.norm["norm1"](f.attention(x_BLD))
        return x_BLD + f.norm["norm2"](f.mlp(x_BLD))


class PreAttentionOnly(Placement):
    """Norm in front of attention only; the MLP reads the raw stream.

        x ──┬── norm1 ── attention ──(+)──┬── mlp ──(+)── x'                 then final_norm before the head
            └─────────────────────────┘   └──────────┘

    x ← x + attention(norm1(x));  x ← x + mlp(x)

    Source: ours; a control, no recommendation: Pre without its second norm tells what that norm is for.
    """

    order = ("norm1", "attention", "mlp")
    final_norm: ClassVar[bool] = True

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.attention(f.norm["norm1"](x_BLD))
        return x_BLD + f.mlp(x_BLD)
