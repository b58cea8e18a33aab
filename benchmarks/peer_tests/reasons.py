"""Why a test of sentence-transformers ends otherwise with the drop-in, where no refusal says it: by the test's name."""

REASONS: dict[str, str] = {
    "test_prompts": "it compares the wording of a log line",
    "test_get_model_kwargs": "it compares the wording of an error",
    "test_rank_convert_kwargs_deprecated": "older options without effect are accepted without a log line",
    "test_logger_warning": "it looks for a log line about an older option",
    "test_prompt_output_value_None": "features have no `modality` and no `prompt_length`",
    "test_prompt_length_calculation": "it puts another post-processor into the tokenizer, which cannot be changed here",
    "test_load_with_model_kwargs": "it replaces a class inside sentence-transformers, which the drop-in does not call",
    "test_model_card_save_update_model_id": "no card is written for a model that was only loaded",
    "test_parse_model_config_ignores_multi_vector_similarity": "it calls a private method",
    "test_conversion_ignores_source_prompts_and_default_prompt_name": "another kind of model is not converted",
    "test_load_with_revision": "the test's model has no head of a classifier, and an untrained one is not made",
    "test_num_labels_fresh_model": "an untrained head is made by Reranker.start, not by the constructor",
    "test_load_activation_fn_from_kwargs": "an untrained head is made by Reranker.start, not by the constructor",
    "test_load_activation_fn_from_config_custom": "a folder that names an activation of its own code is refused",
    "test_classifier_dropout_is_set": "dropout is a setting of training",
    "test_default_activation_fn": "it expects a warning about the older name of an attribute",
    "test_mean_maxsim_matches_length_normalized_maxsim": "models of one vector a token are not served",
    "test_maxsim_takes_no_data_dependent_branch": "models of one vector a token are not served",
    "test_quantize_multi_vector_handles_empty_matrices": "models of one vector a token are not served",
    "test_quantize_empty_list_returns_empty_list": "of no vectors the result is an empty array",
}
