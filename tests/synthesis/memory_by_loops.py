"""SynHNC as METHODS 4.1 says it, one anchor and one cluster after the other, for what is tested against it."""

import numpy as np


def kernel_weights(query, prototypes, sigma):
    """softmax_n(-‖q - x_n‖² / 2σ²); `prototypes` are columns."""
    exponents = -((query[:, None] - prototypes) ** 2).sum(0) / (2 * sigma**2)
    powers = np.exp(exponents - exponents.max())
    return powers / powers.sum()


def reconstruction_weights(prototypes, sigma, weights, regularisation):
    """W: the prototypes themselves, or X (K̂ + εI)⁺ with numpy's pseudo-inverse."""
    if weights == "identity":
        return prototypes
    squared = ((prototypes[:, :, None] - prototypes[:, None]) ** 2).sum(0)
    kernels = np.exp(-squared / (2 * sigma**2))
    normalised = kernels / kernels.sum(axis=0)
    return prototypes @ np.linalg.pinv(normalised + regularisation * np.eye(len(kernels)))


def synthetic(queries, candidates, membership, clusters, sigma, weights, regularisation):
    """q̄ of each anchor and cluster, as it comes out; NaN of an empty cluster."""
    points = np.full((len(queries), clusters, candidates.shape[1]), np.nan)
    for anchor, query in enumerate(queries):
        for cluster in range(clusters):
            prototypes = candidates[membership[anchor] == cluster].T
            if prototypes.shape[1]:
                w = reconstruction_weights(prototypes, sigma, weights, regularisation)
                points[anchor, cluster] = w @ kernel_weights(query, prototypes, sigma)
    return points
