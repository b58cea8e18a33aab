/* The C interface: a model is described once and packed, then sentences of ids become vectors.
 *
 * Every function that can fail returns a code (0: success) and writes a message. Nothing is thrown or printed.
 * Many threads may use a model at once. A sentence's results are bit-identical whatever else is in the call.
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

/* Raised with every change of this file; callers reject a library of another version. */
#define LW_VERSION 9
/* Raised with every change of a result's bits, which ARITHMETIC.md defines. */
#define LW_ARITHMETIC 2

enum lw_code { LW_OK, LW_BAD_DESCRIPTION, LW_BAD_WEIGHTS, LW_BAD_INPUT, LW_NO_MEMORY, LW_INTERNAL };
enum lw_type { LW_FP32, LW_FP16, LW_BF16, LW_INT8 };      /* of stored weights */
enum lw_precision { LW_AS_FP32, LW_AS_BF16, LW_AS_INT8 }; /* of products */
enum { LW_IDENTITY = -1 }; /* of heads: no activation */
enum lw_activation { LW_GELU, LW_GELU_TANH, LW_RELU, LW_SILU, LW_TANH, LW_QUICK_GELU, LW_MISH, LW_SIGMOID };
/* Requested reductions of the last layer, side by side in this order. */
enum lw_reduction { LW_CLS = 1, LW_MAX = 2, LW_MEAN = 4, LW_MEAN_SQRT_LEN = 8, LW_WEIGHTED_MEAN = 16, LW_LAST = 32 };

/* A matrix by rows, or a vector as one row; data is null if it is absent. It is only read while lw_create runs, except
 * for the table of words, which must stay in place as long as the model exists. */
typedef struct {
    const void* data;
    const float* scales; /* of each row, if int8 */
    int64_t rows, columns;
    int32_t type; /* lw_type */
} lw_tensor;

typedef struct {
    lw_tensor weight; /* outputs by inputs; of a norm: one row */
    lw_tensor bias;
    const float* input_scales; /* what int8 products multiply each input by before rounding, or null: int8 weights have
                                * been divided by them already, others will be, by scales of their own if null */
} lw_linear;

typedef struct {
    lw_linear query, key, value; /* key and value without data: query holds all three, one below the other */
    lw_linear out, up;
    lw_linear gate; /* of a gated network; without data: up holds both */
    lw_linear down;
    lw_linear norm1, norm2; /* without data: the identity */
    lw_linear query_norm, key_norm; /* of each head's; without data: none */
    lw_linear out_norm, down_norm;  /* of what attention and network add to their input; without data: none (Gemma 3) */
    float theta;            /* base of rotary positions; 0: none */
    float stretch;          /* what rotary angles are divided by; 0: nothing */
    int32_t reach;          /* tokens seen on either side; -1: all */
} lw_block;

typedef struct {
    int32_t version; /* LW_VERSION */
    int32_t precision;
    int32_t vocabulary, width, word_width, depth, heads, inner;
    int32_t longest;        /* tokens of a sentence */
    int32_t first_position; /* row of the table of positions for the first token */
    int32_t activation;
    int32_t pre_norm; /* 1: norms before attention and network (ModernBERT); 0: behind them (BERT) */
    int32_t gated;    /* 1: up gives values, then gates; 2: gates, then values */
    int32_t alibi;    /* 1: scores fall with distance, by each head's own slope */
    float eps;
    int32_t rms;      /* 1: norms divide by the root of the mean of squares, and have no bias (T5) */
    float divisor;    /* of scores; 0: the root of a head's width */
    int32_t farthest; /* the distance that has the last row of distances, beside 1 */
    int32_t key_heads;  /* of keys and values, each of which as many heads share; 0: as many as heads */
    int32_t head_width; /* 0: the width divided among the heads */
    int32_t causal;     /* 1: a token sees none behind it */
    int32_t one_more;   /* 1: norms multiply by 1 + their weight (Gemma 3) */
    float word_scale;   /* of the vectors of words; 0: 1 */
    lw_tensor words, positions, segments, relative; /* relative: buckets by heads (MPNet) */
    lw_tensor distances;     /* vectors of distances, which queries and keys meet too (DeBERTa); rows: 2 * buckets */
    lw_linear distance_norm; /* of these */
    lw_linear norm;          /* of embeddings; without data: none */
    lw_linear widen;                                /* word_width to width; without data: none */
    lw_linear last_norm;
    int32_t block_count;
    const lw_block* blocks;
    const int32_t* order; /* of depth block numbers; null: one after the other */
} lw_description;

typedef struct lw_heads lw_heads; /* what follows the pooling */

typedef struct {
    const int32_t* ids;      /* sentences end to end */
    const int32_t* segments; /* of each token; null: all 0 */
    const int32_t* lengths;
    const int32_t* skips; /* tokens that reductions leave out at each sentence's beginning; null: none */
    int64_t tokens, sentences;
    int32_t threads;
    int32_t chunk_tokens; /* of the sentences that go through the layers together, on all threads if these make fewer chunks
                             than threads; 0: what is usually best */
    int32_t first_layer, last_layer; /* written to layers: 0 is the embeddings, depth the last; no other is computed */
    int32_t reductions;              /* of last_layer, a sum of lw_reduction */
    float* layers;      /* [last - first + 1][tokens][width], or null */
    float* pooled;      /* [sentences][reductions * width], or of the heads' results; or null */
    const lw_heads* heads; /* what the reductions pass through, or null */
    double* seconds;    /* LW_KINDS numbers to which time is added, or null */
} lw_request;

/* Kinds of work that `seconds` tells apart: embeddings, products, attention, activations, norms, rounding, the rest. */
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
/* The input scales [width] of an int8 product of a block, valid until lw_free: of the network's first layer if `network`
 * is 1, of queries, keys and values if it is 0. Null if the product has no input scales. */
LW_PUBLIC const float* lw_input_scales(const lw_model*, int32_t block, int32_t network);
LW_PUBLIC int32_t lw_run(const lw_model*, const lw_request*, char* message, size_t size);

/* Texts to token ids, as a tokenizer.json describes it. The caller adds special tokens around a text. */
typedef struct lw_tokenizer lw_tokenizer;

/* The tokens of several texts, end to end; the memory is the library's until lw_tokens_free. */
typedef struct {
    const int32_t* ids;
    const int64_t* ends;       /* of each text, in ids */
    const int64_t* long_words; /* words too long to be read: text, position of its token in it, characters */
    const uint32_t* spans;     /* of each token: start and stop in characters of its text; null unless wanted */
    const int32_t* words;      /* of each token: the number of the word in its text; null unless wanted */
    int64_t texts, tokens, long_word_count;
    void* memory;
} lw_tokens;

LW_PUBLIC lw_tokenizer* lw_tokenizer_create(const char* json, size_t bytes, int32_t* code, char* message, size_t size);
LW_PUBLIC void lw_tokenizer_free(lw_tokenizer*);
/* `texts` are UTF-8, one after another, of these numbers of characters. */
LW_PUBLIC int32_t lw_tokenize(const lw_tokenizer*, const char* texts, size_t bytes, const int64_t* lengths,
                              int64_t count, int32_t spans, lw_tokens* out, char* message, size_t size);
LW_PUBLIC void lw_tokens_free(lw_tokens*);

/* What follows the pooling, in this order: each head maps the vectors of the previous one. */
enum lw_head_kind { LW_DENSE, LW_LAYER_NORM, LW_NORMALIZE, LW_TRUNCATE };

typedef struct {
    int32_t kind;       /* lw_head_kind */
    int32_t activation; /* of LW_DENSE: LW_IDENTITY, LW_GELU, LW_RELU, LW_TANH or LW_SIGMOID */
    int32_t width;      /* of LW_TRUNCATE: the numbers that are kept */
    lw_linear linear;   /* of LW_DENSE and LW_LAYER_NORM */
} lw_head;


LW_PUBLIC lw_heads* lw_heads_create(const lw_head*, int32_t count, int32_t width, const char* instructions,
                                    int32_t* code, char* message, size_t size);
LW_PUBLIC void lw_heads_free(lw_heads*);
/* `rows` vectors of the width that was passed to lw_heads_create; out has the last head's width. */
LW_PUBLIC int32_t lw_heads_run(const lw_heads*, const float* vectors, int64_t rows, float* out, char* message,
                               size_t size);

/* A model folder, as sentence-transformers and likewise write it: texts in, vectors out (README.md has an example).
 * A folder's weights are safetensors; none of its files is run. Anything unsupported is an error that names it. */
typedef struct lw_embedder lw_embedder;

typedef struct {
    int32_t precision;        /* lw_precision */
    int32_t max_seq_length;   /* tokens of a text, special ones included; 0: what the folder says */
    int32_t truncate_dim;     /* keep this many dimensions of a vector (Matryoshka); 0: all */
    const char* instructions; /* as in lw_create */
} lw_options;

typedef struct {
    const char* name; /* in the folder: "config.json", "1_Pooling/config.json" ... */
    const void* bytes;
    size_t size;
} lw_file;

typedef struct {
    const char* const* texts; /* UTF-8 */
    const size_t* sizes;      /* in bytes; null: each text ends with a zero byte */
    int64_t count;
    const char* prompt;      /* is put before each text; or */
    const char* prompt_name; /* one of the model's own prompts; both null: the model's default prompt, if it has one */
    int32_t threads;         /* 0: one */
} lw_texts;

/* What the model did not read. */
typedef struct {
    int64_t* lost;      /* the caller's array, or null: of each text, the tokens that were not read */
    int64_t cut;        /* texts with more tokens than the model reads: only their beginning was */
    int64_t long_words; /* texts with words too long for the tokenizer, each of which is one unknown token */
    int64_t unknown;    /* texts without a word that the model knows, if it leaves out unknown words */
} lw_losses;

/* A model, or null with code and message. `options` null: fp32, and what the folder says. */
LW_PUBLIC lw_embedder* lw_open(const char* folder, const lw_options*, int32_t* code, char* message, size_t size);
/* The same from files in memory, which must stay in place until lw_close. */
LW_PUBLIC lw_embedder* lw_open_memory(const lw_file* files, int32_t count, const lw_options*, int32_t* code,
                                      char* message, size_t size);
LW_PUBLIC void lw_close(lw_embedder*);
LW_PUBLIC int32_t lw_dimension(const lw_embedder*); /* dimensions of a vector */
/* One vector for each text, [count][dimension]; `losses` may be null. A text's vector has the same bits whatever else is
 * in the call, on any number of threads. Many threads may call it at once. */
LW_PUBLIC int32_t lw_encode(const lw_embedder*, const lw_texts*, float* vectors, lw_losses* losses, char* message,
                            size_t size);

/* Queries against every row of a corpus. A score has the same bits whatever else is in the call, on any threads. */
enum lw_vectors { LW_BITS = 4 }; /* beside lw_type: the first in the lowest bit of the first byte, 0 behind the last */

typedef struct {
    const void* corpus;
    const float* scales; /* of each row, by which its scores are multiplied; null: 1. Not for bits, nor for floats */
    const uint8_t* mask; /* of each row a bit, as in bits: whether it is compared; null: all are */
    const void* query_vectors; /* one behind the other; floats where the corpus has halves, else of its type */
    const float* query_scales; /* as scales */
    int64_t rows, row_bytes, queries;
    int32_t width;  /* at most 1 << 20; in int8, where sums are exact, below 1 << 17 */
    int32_t type;   /* LW_FP32, LW_FP16, LW_INT8 or LW_BITS */
    int32_t cosine; /* of floats: queries have length 1, and scores are divided by the length of rows */
    int32_t threads;
    float near; /* cosines above this, of rows that are nearly equal, are computed from differences, accurately */
} lw_scan;

/* The scores of bits are the number of equal bits minus the number that differ. */
typedef struct {
    const int64_t* listed; /* [queries][listed_count] rows, ascending: a query is compared with these alone; or null */
    int64_t listed_count;
    int64_t k;
    int64_t* counts; /* of each query: how many rows there are, k if there are so many */
    int64_t* rows;   /* [queries][k], best first, of equal scores the earlier row */
    float* scores;   /* [queries][k] */
} lw_best;

typedef struct {
    float threshold; /* the least score */
    int32_t later;   /* 1: only rows after first + the query's number */
    int64_t first;
    int64_t room; /* capacity of the arrays; pairs beyond it are only counted */
    int64_t* query_numbers;
    int64_t* rows;
    float* scores; /* pairs are ordered by query, then row */
    int64_t found; /* output: the number of pairs */
} lw_above;

/* `instructions` as in lw_create. A number that is NaN or infinite, in a row that is compared, is LW_BAD_INPUT. */
LW_PUBLIC int32_t lw_scan_best(const char* instructions, const lw_scan*, const lw_best*, char* message, size_t size);
LW_PUBLIC int32_t lw_scan_above(const char* instructions, const lw_scan*, lw_above*, char* message, size_t size);

/* For tests: out [m][n] = a [m][k] times b [n][k] transposed, + bias [n] (may be null), + residual [m][n] (may be
 * null), in a precision. In int8, a and b hold whole numbers from -127 to 127, and results are exact while below 2^24.
 */
LW_PUBLIC int32_t lw_product(const char* instructions, int32_t precision, const float* a, const float* b,
                             const float* bias, const float* residual, int32_t m, int32_t n, int32_t k, float* out,
                             char* message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
