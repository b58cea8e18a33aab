/* The C interface: describe and pack a model once, then turn sentences of token ids into vectors.
 *
 * Every function that can fail returns a code (0: success) and writes a message. Nothing is thrown or printed.
 * Many threads may use a model at once. A sentence's results are bit-identical regardless of what else is in the call.
 */
#ifndef LIKEWISE_NATIVE_H
#define LIKEWISE_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LW_PUBLIC __attribute__((visibility("default")))
#else
#define LW_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented with every change to this file; callers reject a library with another version. */
#define LW_VERSION 9
/* Incremented with every change to the bits of results, which ARITHMETIC.md defines. */
#define LW_ARITHMETIC 2

enum lw_code { LW_OK, LW_BAD_DESCRIPTION, LW_BAD_WEIGHTS, LW_BAD_INPUT, LW_NO_MEMORY, LW_INTERNAL };
enum lw_type { LW_FP32, LW_FP16, LW_BF16, LW_INT8 };      /* of stored weights */
enum lw_precision { LW_AS_FP32, LW_AS_BF16, LW_AS_INT8 }; /* of matmuls */
enum { LW_IDENTITY = -1 }; /* of heads: no activation */
enum lw_activation { LW_GELU, LW_GELU_TANH, LW_RELU, LW_SILU, LW_TANH, LW_QUICK_GELU, LW_MISH, LW_SIGMOID };
/* Requested reductions of the last layer, concatenated in this order. */
enum lw_reduction { LW_CLS = 1, LW_MAX = 2, LW_MEAN = 4, LW_MEAN_SQRT_LEN = 8, LW_WEIGHTED_MEAN = 16, LW_LAST = 32 };

/* A row-major matrix, or one row for a vector; null data: absent. It is read only while lw_create runs, except
 * for the word embedding table, which must stay in place until the model is freed. */
typedef struct {
    const void* data;
    const float* scales; /* per row, if int8 */
    int64_t rows, columns;
    int32_t type; /* lw_type */
} lw_tensor;

typedef struct {
    lw_tensor weight; /* outputs x inputs; of a norm: one row */
    lw_tensor bias;
    const float* input_scales; /* factors of each input before it is quantized for int8 matmuls, or null. Int8 weights
                                * are already divided by them; other weights will be, by computed scales if null */
} lw_linear;

typedef struct {
    lw_linear query, key, value; /* key and value without data: query holds all three, stacked row-wise */
    lw_linear out, up;
    lw_linear gate; /* of a gated feed-forward network; without data: up holds both */
    lw_linear down;
    lw_linear norm1, norm2; /* without data: the identity */
    lw_linear query_norm, key_norm; /* of each head's queries and keys; without data: none */
    lw_linear out_norm, down_norm;  /* before residual additions (Gemma 3); without data: none */
    float theta;            /* base of rotary positions; 0: none */
    float stretch;          /* the divisor of rotary angles; 0: 1 */
    int32_t reach;          /* tokens attended to on either side; -1: all */
} lw_block;

typedef struct {
    int32_t version; /* LW_VERSION */
    int32_t precision;
    int32_t vocabulary, width, word_width, depth, heads, inner;
    int32_t longest;        /* maximum tokens of a sentence */
    int32_t first_position; /* the position table's row for the first token */
    int32_t activation;
    int32_t pre_norm; /* 1: norms precede attention and feed-forward (ModernBERT); 0: they follow (BERT) */
    int32_t gated;    /* 1: up returns values, then gates; 2: gates, then values */
    int32_t alibi;    /* 1: ALiBi: each head lowers scores linearly with distance */
    float eps;
    int32_t rms;      /* 1: norms are RMSNorm, without a bias (T5) */
    float divisor;    /* of scores; 0: the square root of the head width */
    int32_t farthest; /* distances of farthest - 1 and more share the last row of distances */
    int32_t key_heads;  /* key-value heads, each shared by equally many query heads; 0: as many as heads */
    int32_t head_width; /* 0: the hidden size divided by heads */
    int32_t causal;     /* 1: a token attends only to itself and earlier tokens */
    int32_t one_more;   /* 1: norms multiply by 1 + their weight (Gemma 3) */
    float word_scale;   /* the factor of word embeddings; 0: 1 */
    lw_tensor words, positions, segments, relative; /* relative: buckets x heads (MPNet) */
    lw_tensor distances;     /* relative position embeddings (DeBERTa), with 2 * buckets rows */
    lw_linear distance_norm; /* applied to distances */
    lw_linear norm;          /* of the embedding output; without data: none */
    lw_linear widen;                                /* word_width to width; without data: none */
    lw_linear last_norm;
    int32_t block_count;
    const lw_block* blocks;
    const int32_t* order; /* depth block indices; null: 0, 1, 2, ... */
} lw_description;

typedef struct lw_heads lw_heads; /* the layers after pooling */

typedef struct {
    const int32_t* ids;      /* sentences, concatenated */
    const int32_t* segments; /* per token; null: all 0 */
    const int32_t* lengths;
    const int32_t* skips; /* initial tokens of each sentence to exclude from reductions; null: none */
    int64_t tokens, sentences;
    int32_t threads;
    int32_t chunk_tokens; /* tokens that pass through the layers together, on all threads if there are fewer chunks
                             than threads; 0: what is usually best */
    int32_t first_layer, last_layer; /* range of layers to write: 0 is the embeddings, depth the last */
    int32_t reductions;              /* reductions of last_layer, a sum of lw_reduction */
    float* layers;      /* [last - first + 1][tokens][width], or null */
    float* pooled;      /* [sentences][reductions * width], or [sentences][width of the heads]; or null */
    const lw_heads* heads; /* applied to the reductions, or null */
    double* seconds;    /* LW_KINDS sums to which times are added, or null */
} lw_request;

/* The kinds of work in `seconds`: embeddings, matmuls, attention, activations, norms, quantization, the rest. */
#define LW_KINDS 7

typedef struct lw_model lw_model;

LW_PUBLIC int32_t lw_version(void);
LW_PUBLIC int32_t lw_arithmetic(void); /* LW_ARITHMETIC */
/* Instruction sets that this processor has kernels for, best first, separated by spaces. */
LW_PUBLIC const char* lw_instruction_sets(void);
/* A model, or null with code and message; `instructions` null: the environment's LIKEWISE_ISA, or the best. */
LW_PUBLIC lw_model* lw_create(const lw_description*, const char* instructions, int32_t* code, char* message,
                              size_t size);
LW_PUBLIC void lw_free(lw_model*);
LW_PUBLIC const char* lw_model_instructions(const lw_model*);
LW_PUBLIC int64_t lw_model_bytes(const lw_model*); /* of packed weights */
/* The input scales [width] of an int8 matmul in a block, valid until lw_free: of the first feed-forward layer if
 * `network` is 1, of queries, keys and values if it is 0. Null if the matmul has no input scales. */
LW_PUBLIC const float* lw_input_scales(const lw_model*, int32_t block, int32_t network);
LW_PUBLIC int32_t lw_run(const lw_model*, const lw_request*, char* message, size_t size);

/* Texts to token ids, as a tokenizer.json describes it. The caller adds special tokens around a text. */
typedef struct lw_tokenizer lw_tokenizer;

/* The tokens of several texts, concatenated; the library owns the memory, which lw_tokens_free releases. */
typedef struct {
    const int32_t* ids;
    const int64_t* ends;       /* per text, in ids */
    const int64_t* long_words; /* words too long to tokenize: text, position of the token in the text, characters */
    const uint32_t* spans;     /* per token: start and stop, in characters of its text; null unless requested */
    const int32_t* words;      /* per token: the index of the word in its text; null unless requested */
    int64_t texts, tokens, long_word_count;
    void* memory;
} lw_tokens;

LW_PUBLIC lw_tokenizer* lw_tokenizer_create(const char* json, size_t bytes, int32_t* code, char* message, size_t size);
LW_PUBLIC void lw_tokenizer_free(lw_tokenizer*);
/* `texts` are concatenated UTF-8, with these lengths in characters. */
LW_PUBLIC int32_t lw_tokenize(const lw_tokenizer*, const char* texts, size_t bytes, const int64_t* lengths,
                              int64_t count, int32_t spans, lw_tokens* out, char* message, size_t size);
LW_PUBLIC void lw_tokens_free(lw_tokens*);

/* The heads after pooling, in order: each one maps the output of the previous one. */
enum lw_head_kind { LW_DENSE, LW_LAYER_NORM, LW_NORMALIZE, LW_TRUNCATE };

typedef struct {
    int32_t kind;       /* lw_head_kind */
    int32_t activation; /* of LW_DENSE: LW_IDENTITY, LW_GELU, LW_RELU, LW_TANH or LW_SIGMOID */
    int32_t width;      /* of LW_TRUNCATE: the dimensions to keep */
    lw_linear linear;   /* of LW_DENSE and LW_LAYER_NORM */
} lw_head;


LW_PUBLIC lw_heads* lw_heads_create(const lw_head*, int32_t count, int32_t width, const char* instructions,
                                    int32_t* code, char* message, size_t size);
LW_PUBLIC void lw_heads_free(lw_heads*);
/* Maps `rows` vectors of the width passed to lw_heads_create; out has the last head's width. */
LW_PUBLIC int32_t lw_heads_run(const lw_heads*, const float* vectors, int64_t rows, float* out, char* message,
                               size_t size);

/* Models from folders written by sentence-transformers and likewise, from texts to vectors (example: README.md).
 * Weights are safetensors; no code from a folder runs. Errors name whatever is not supported. */
typedef struct lw_embedder lw_embedder;

typedef struct {
    int32_t precision;        /* lw_precision */
    int32_t max_seq_length;   /* maximum tokens of a text, including special tokens; 0: the folder's setting */
    int32_t truncate_dim;     /* keep this many dimensions of a vector (Matryoshka); 0: all */
    const char* instructions; /* as in lw_create */
} lw_options;

typedef struct {
    const char* name; /* relative to the folder: "config.json", "1_Pooling/config.json" ... */
    const void* bytes;
    size_t size;
} lw_file;

typedef struct {
    const char* const* texts; /* UTF-8 */
    const size_t* sizes;      /* in bytes; null: each text ends with a zero byte */
    int64_t count;
    const char* prompt;      /* put before each text; or */
    const char* prompt_name; /* one of the model's own prompts; both null: the model's default prompt, if it has one */
    int32_t threads;         /* 0: one */
} lw_texts;

/* The parts of texts that the model did not read. */
typedef struct {
    int64_t* lost;      /* the caller's array, or null: per text, the number of tokens that were not read */
    int64_t cut;        /* texts longer than the model's limit, which were truncated */
    int64_t long_words; /* texts with words too long for the tokenizer; each such word is one unknown token */
    int64_t unknown;    /* texts without any known word, if the model drops unknown words */
} lw_losses;

/* A model, or null with code and message. `options` null: fp32, and the folder's settings. */
LW_PUBLIC lw_embedder* lw_open(const char* folder, const lw_options*, int32_t* code, char* message, size_t size);
/* The same, from files in memory, which must stay in place until lw_close. */
LW_PUBLIC lw_embedder* lw_open_memory(const lw_file* files, int32_t count, const lw_options*, int32_t* code,
                                      char* message, size_t size);
LW_PUBLIC void lw_close(lw_embedder*);
LW_PUBLIC int32_t lw_dimension(const lw_embedder*); /* dimensions of a vector */
/* A vector for each text, [count][dimension]; `losses` may be null. A text's vector is bit-identical whatever else is
 * in the call, on any number of threads. Many threads may call it at once. */
LW_PUBLIC int32_t lw_encode(const lw_embedder*, const lw_texts*, float* vectors, lw_losses* losses, char* message,
                            size_t size);

/* Compares queries with every row of a corpus. A score's bits do not depend on the rest of the call or on threads. */
enum lw_vectors { LW_BITS = 4 }; /* extends lw_type: the first bit is the lowest of the first byte; padded with 0 */

typedef struct {
    const void* corpus;
    const float* scales; /* per row, the factor of its scores; null: 1. Not for bits or floats */
    const uint8_t* mask; /* one bit per row, packed as in LW_BITS: whether to compare the row; null: all rows */
    const void* query_vectors; /* concatenated; floats if the corpus has halves, otherwise of the same type */
    const float* query_scales; /* as scales */
    int64_t rows, row_bytes, queries;
    int32_t width;  /* at most 1 << 20; in int8, where sums are exact, below 1 << 17 */
    int32_t type;   /* LW_FP32, LW_FP16, LW_INT8 or LW_BITS */
    int32_t cosine; /* for floats: queries have unit length, and scores are divided by the length of rows */
    int32_t threads;
    float near; /* cosines above this, of nearly equal rows, are computed accurately from differences */
} lw_scan;

/* The scores of bits are the number of equal bits minus the number that differ. */
typedef struct {
    const int64_t* listed; /* [queries][listed_count] ascending rows, the only ones to compare a query with; or null */
    int64_t listed_count;
    int64_t k;
    int64_t* counts; /* per query: the number of rows found, at most k */
    int64_t* rows;   /* [queries][k], best first; ties: the earlier row first */
    float* scores;   /* [queries][k] */
} lw_best;

typedef struct {
    float threshold; /* the minimum score */
    int32_t later;   /* 1: only rows after first + the query's index */
    int64_t first;
    int64_t room; /* the capacity of the arrays; pairs beyond it are only counted */
    int64_t* query_numbers;
    int64_t* rows;
    float* scores; /* pairs are ordered by query, then row */
    int64_t found; /* output: the number of pairs */
} lw_above;

/* `instructions` as in lw_create. A NaN or infinite value in a compared row returns LW_BAD_INPUT. */
LW_PUBLIC int32_t lw_scan_best(const char* instructions, const lw_scan*, const lw_best*, char* message, size_t size);
LW_PUBLIC int32_t lw_scan_above(const char* instructions, const lw_scan*, lw_above*, char* message, size_t size);

/* For tests: out [m][n] = a [m][k] times b [n][k] transposed, + bias [n] (may be null), + residual [m][n] (may be
 * null), in a precision. In int8, a and b hold integers from -127 to 127, and results are exact below 2^24.
 */
LW_PUBLIC int32_t lw_product(const char* instructions, int32_t precision, const float* a, const float* b,
                             const float* bias, const float* residual, int32_t m, int32_t n, int32_t k, float* out,
                             char* message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
