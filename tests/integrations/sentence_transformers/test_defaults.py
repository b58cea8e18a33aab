"""What holds where a program says nothing is what holds in sentence-transformers."""

import inspect

import pytest

from likewise.integrations.sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainingArguments,
    evaluation,
    losses,
    util,
)

MINING = {"query_chunk_size": 5000, "corpus_chunk_size": 100_000, "max_pairs": 500_000, "top_k": 100}
SEARCH = {"query_chunk_size": 100, "corpus_chunk_size": 500_000, "top_k": 10, "score_function": util.cos_sim}
SILENT = {"show_progress_bar": False}
CALL = {"batch_size": 32, "convert_to_numpy": True, "convert_to_tensor": False}
ENCODE = {**CALL, "output_value": "sentence_embedding", "precision": "float32", "normalize_embeddings": False}
LOAD = {"trust_remote_code": False, "local_files_only": False, "backend": "torch"}
SAVE = {"create_model_card": True, "safe_serialization": True}
IN_PARTS = {"mini_batch_size": 32, **SILENT}
RANKING = {"scale": 20.0, "similarity_fct": util.cos_sim, "gather_across_devices": False}
GUIDED = {"temperature": 0.01, "margin_strategy": "absolute", "margin": 0.0, "gather_across_devices": False}
IN_BATCH = {"distance_metric": "euclidean", "margin": 5}
NAMED = {"name": "", "write_csv": True}
CUTOFFS = {
    "mrr_at_k": (10,), "ndcg_at_k": (10,), "accuracy_at_k": (1, 3, 5, 10), "precision_recall_at_k": (1, 3, 5, 10),
    "map_at_k": (100,),
}  # fmt: skip
DEFAULTS = [
    (util.semantic_search, SEARCH),
    (util.paraphrase_mining, {"batch_size": 32, "score_function": util.cos_sim, **MINING, **SILENT}),
    (util.paraphrase_mining_embeddings, {"score_function": util.cos_sim, **MINING}),
    (util.community_detection, {"threshold": 0.75, "min_community_size": 10, "batch_size": 1024, **SILENT}),
    (SentenceTransformer, LOAD),
    (CrossEncoder, LOAD),
    (SentenceTransformer.encode, ENCODE),
    (SentenceTransformer.encode_query, ENCODE),
    (SentenceTransformer.encode_document, ENCODE),
    (SentenceTransformer.save, SAVE),
    (CrossEncoder.save, SAVE),
    (CrossEncoder.predict, {**CALL, "apply_softmax": False}),
    (CrossEncoder.rank, {"return_documents": False, "batch_size": 32}),
    (losses.CoSENTLoss, {"scale": 20.0, "similarity_fct": util.pairwise_cos_sim}),
    (losses.AnglELoss, {"scale": 20.0}),
    (
        losses.MultipleNegativesRankingLoss,
        {**RANKING, "directions": ("query_to_doc",), "partition_mode": "joint", "hardness_strength": 0.0},
    ),
    (losses.CachedMultipleNegativesRankingLoss, {**RANKING, **IN_PARTS}),
    (losses.MultipleNegativesSymmetricRankingLoss, {"scale": 20.0}),
    (losses.CachedMultipleNegativesSymmetricRankingLoss, {"scale": 20.0}),
    (losses.GISTEmbedLoss, {**GUIDED, "contrast_anchors": True, "contrast_positives": True}),
    (losses.CachedGISTEmbedLoss, {"temperature": 0.01, **IN_PARTS}),
    (losses.TripletLoss, {"distance_metric": "euclidean", "triplet_margin": 5}),
    (losses.ContrastiveLoss, {"distance_metric": "cosine", "margin": 0.5, "size_average": True}),
    (losses.OnlineContrastiveLoss, {"distance_metric": "cosine", "margin": 0.5}),
    (
        losses.SoftmaxLoss,
        {
            "concatenation_sent_rep": True,
            "concatenation_sent_difference": True,
            "concatenation_sent_multiplication": False,
        },
    ),
    (losses.BatchHardTripletLoss, IN_BATCH),
    (losses.BatchSemiHardTripletLoss, IN_BATCH),
    (losses.BatchAllTripletLoss, IN_BATCH),
    (losses.MarginMSELoss, {"similarity_fct": util.pairwise_dot_score}),
    (losses.DistillKLDivLoss, {"similarity_fct": util.pairwise_dot_score, "temperature": 1.0}),
    (losses.MatryoshkaLoss, {"n_dims_per_step": -1}),
    (evaluation.EmbeddingSimilarityEvaluator, {"batch_size": 16, **NAMED, **SILENT}),
    (evaluation.TripletEvaluator, {"batch_size": 16, **NAMED, **SILENT}),
    (evaluation.BinaryClassificationEvaluator, {"batch_size": 32, **NAMED, **SILENT}),
    (
        evaluation.InformationRetrievalEvaluator,
        {**CUTOFFS, "corpus_chunk_size": 50_000, "batch_size": 32, "write_predictions": False, **NAMED, **SILENT},
    ),
    (evaluation.CrossEncoderCorrelationEvaluator, {"batch_size": 32, **NAMED}),
    (
        evaluation.CrossEncoderRerankingEvaluator,
        {"at_k": 10, "always_rerank_positives": True, "batch_size": 64, **NAMED, **SILENT},
    ),
]


@pytest.mark.parametrize(("function", "wanted"), DEFAULTS, ids=lambda one: getattr(one, "__qualname__", ""))
def test_options_have_the_defaults_of_sentence_transformers(function, wanted):
    parameters = inspect.signature(function).parameters.values()
    found = {one.name: one.default for one in parameters if one.default not in (None, inspect.Parameter.empty)}
    assert found == wanted
    assert {name: type(value) for name, value in found.items() if isinstance(value, bool)} == {
        name: bool for name, value in wanted.items() if isinstance(value, bool)
    }


def test_training_arguments_have_the_defaults_of_sentence_transformers():
    arguments = SentenceTransformerTrainingArguments("out")
    wanted = {
        "per_device_train_batch_size": 8, "per_device_eval_batch_size": 8, "num_train_epochs": 3.0, "max_steps": -1,
        "learning_rate": 5e-5, "learning_rate_mapping": {}, "lr_scheduler_type": "linear", "warmup_steps": 0,
        "weight_decay": 0.0, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "max_grad_norm": 1.0,
        "gradient_accumulation_steps": 1, "bf16": False, "fp16": False, "seed": 42, "use_cpu": False,
        "dataloader_drop_last": False, "logging_strategy": "steps", "logging_steps": 500, "logging_first_step": False,
        "report_to": "none", "eval_strategy": "no", "eval_delay": 0, "eval_on_start": False, "save_strategy": "steps",
        "save_steps": 500, "save_only_model": False, "load_best_model_at_end": False,
        "batch_sampler": "batch_sampler", "multi_dataset_batch_sampler": "proportional",
    }  # fmt: skip
    assert {name: getattr(arguments, name) for name in wanted} == wanted
