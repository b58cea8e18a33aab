"""Cluster similar vectors without labels, label them with their characteristic words, and draw them as a map."""

from .clusterings import CLUSTERINGS, cluster_vectors, members
from .community_detection import communities
from .hierarchical import cut_at_cosine, cut_at_height, cut_into, linkage
from .naming import ClusterSummary, c_tf_idf_words, describe_clusters

__all__ = [
    "CLUSTERINGS",
    "ClusterSummary",
    "c_tf_idf_words",
    "cluster_vectors",
    "communities",
    "cut_at_cosine",
    "cut_at_height",
    "cut_into",
    "describe_clusters",
    "linkage",
    "members",
]
