"""Backward passes: C17-C19, C21, C49.

Shapes: B examples, L positions, D model width.
"""

import torch
from torch import Tensor

from normtrial.claims.exact.kit import Parts, apart, jacobian, measure, norm, normal


@measure
def backward_formula() -> Parts:
    """Diagonal of the Jacobian against γ (1 − x̂² − 1/N), and against γ/σ (1 − 1/N − x̂²/N)."""
    x_D, num = 2.5 * normal(16), 16
    diagonal = jacobian(norm("ln", num), x_D).diagonal()
    sigma = (x_D.var(correction=0) + 1e-5).sqrt()
    hat_D = (x_D - x_D.mean()) / sigma
    return {
        "error_as_written": apart(diagonal, 1 - hat_D.square() - 1 / num),
        "error_with_sigma_and_mean": apart(diagonal, (1 - 1 / num - hat_D.square() / num) / sigma),
    }


@measure
def large_activations() -> Parts:
    """Size and sign of the Jacobian at mean 100 and deviation 50, against mean 0 and deviation 1."""
    x_D, layer_norm = normal(64), norm("ln", 64)
    small, large = jacobian(layer_norm, x_D), jacobian(layer_norm, 100 + 50 * x_D)
    extreme_D = torch.zeros(64, dtype=torch.float64)
    extreme_D[0] = 1e3  # x̂² has its bound N − 1 here
    diagonals = torch.cat([large.diagonal(), jacobian(layer_norm, extreme_D).diagonal()])
    return {
        "size_ratio": (torch.linalg.matrix_norm(large, 2) / torch.linalg.matrix_norm(small, 2)).item(),
        "negative_on_the_diagonal": float((diagonals < 0).sum()),
    }


@measure
def one_outlier() -> Parts:
    """The other features' gradient with one feature at 10,000, over that without."""
    x_D, layer_norm = normal(64), norm("ln", 64)
    with_D = x_D.clone()
    with_D[0] = 1e4
    one, other = (jacobian(layer_norm, x).diagonal()[1:].max() for x in (with_D, x_D))
    return {"gradient_ratio": (one / other).item()}


@measure
def width_and_eps() -> Parts:
    """Output variance and gradient of tokens with deviation 0.01, width 1024 over width 64; eps = 1e-5."""
    found = {}
    for width in (64, 1024):
        x_LD, layer_norm = normal(16, width), norm("ln", width)
        x_LD = 0.01 * (x_LD - x_LD.mean(-1, keepdim=True)) / x_LD.std(-1, correction=0, keepdim=True)
        variance = layer_norm(x_LD[None]).var(-1, correction=0).mean()
        size = torch.linalg.matrix_norm(jacobian(layer_norm, x_LD[0]), 2)
        found[width] = (variance, size)
    variance, size = ((found[1024][i] / found[64][i]).item() for i in (0, 1))
    return {"variance_ratio": variance, "gradient_ratio": size}


@measure
def residual_sum() -> Parts:
    """The Jacobian of x + f(LN(x)) less that of its branch; and the sum's size when the branch is 1,000 times."""
    weight_DD, layer_norm, x_D = normal(16, 16) / 4, norm("ln", 16), normal(16)

    def branch(x: Tensor, scale: float = 1.0) -> Tensor:
        return scale * torch.tanh(layer_norm(x) @ weight_DD)

    def post(x: Tensor) -> Tensor:
        return layer_norm(x + branch(x))

    identity = torch.eye(16, dtype=torch.float64)
    pre = jacobian(lambda x: x + branch(x), x_D) - jacobian(branch, x_D)
    grown = (x_D + branch(x_D[None, None], 1e3)[0, 0]).norm() / (x_D + branch(x_D[None, None])[0, 0]).norm()
    return {
        "identity_path_of_pre": apart(pre, identity),
        "identity_path_of_post": apart(jacobian(post, x_D) - jacobian(branch, x_D), identity),
        "growth_of_the_sum": grown.item(),
    }
