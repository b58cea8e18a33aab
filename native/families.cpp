// The same table as in src/likewise/encoders/families.py and shapes.py; Python tests compare the two.
#include "families.h"

#include <cmath>
#include <cstring>

#include "failure.h"
#include "functions.h"

namespace likewise {
namespace {

constexpr int32_t MOST_TOKENS = 1 << 20;  // maximum length of a text, if the encoder has no position table
constexpr int32_t LONGEST_RELATIVE = 1 << 16;  // the same, if its positions are relative
constexpr int32_t LARGEST_SIZE = 100'000'000, LARGEST_DEPTH = 200;

// config.json; each value is checked to be plausible for an encoder.
class Config {
public:
    explicit Config(const json::Value& root) : root_(root) {}

    int32_t size(const char* key, int32_t otherwise = -1, int32_t least = 1, int32_t most = LARGEST_SIZE) const {
        const json::Value found = root_.member(key);
        if (found.is_null() && otherwise >= 0) return otherwise;
        const double value = found.kind() == json::Kind::NUMBER ? found.number(key) : -1;
        if (!(value >= least && value <= most) || value != std::floor(value))
            refuse("config.json must give ", key, " as a whole number from ", least, " to ", most);
        return static_cast<int32_t>(value);
    }
    float number(const char* key, double otherwise, double most) const { return number(root_.member(key), key,
                                                                                       otherwise, most); }
    static float number(const json::Value& found, const char* key, double otherwise, double most) {
        const double value = found.is_null() ? otherwise : found.number(key);
        if (!(value >= 0 && value <= most)) refuse("config.json must give ", key, " as a number from 0 to ", most);
        return static_cast<float>(value);
    }
    // A number such as a rotary base; below 1, angles would grow until rounding makes the engines differ.
    float at_least_one(const char* key, double otherwise) const {
        const float value = number(key, otherwise, 1e12);
        if (value < 1) refuse("config.json has ", key, " = ", value, "; expected a number of at least 1");
        return value;
    }
    bool flag(const char* key, bool otherwise = false) const { return root_.flag(key, otherwise); }
    bool has(const char* key) const { return !root_.member(key).is_null(); }
    // An object, which may be absent.
    Config object(const char* key) const {
        const json::Value found = root_.member(key);
        if (!found.is_null() && found.kind() != json::Kind::OBJECT) refuse("config.json's ", key, " are no object");
        return Config(found);
    }
    json::Value member(const char* key) const { return root_.member(key); }

    static int32_t activation_named(std::string_view name, const char* key) {
        struct Row {
            std::string_view name;
            lw_activation activation;
        };
        static constexpr Row KNOWN[] = {{"gelu", LW_GELU},           {"gelu_python", LW_GELU},
                                        {"gelu_new", LW_GELU_TANH},
                                        {"gelu_fast", LW_GELU_TANH}, {"relu", LW_RELU},
                                            {"gelu_pytorch_tanh", LW_GELU_TANH},
                                        {"silu", LW_SILU},           {"swish", LW_SILU},          {"tanh", LW_TANH},
                                        {"mish", LW_MISH},           {"quick_gelu", LW_QUICK_GELU}};
        for (const Row& row : KNOWN)
            if (row.name == name) return row.activation;
        refuse("config.json sets ", key, " to '", name, "', which is unknown");
    }
    std::string_view text(const char* key, std::string_view otherwise) const {
        const json::Value found = root_.member(key);
        if (found.is_null()) return otherwise;
        if (found.kind() != json::Kind::TEXT) refuse("config.json must give ", key, " as a text");
        return found.text(key);
    }
    int32_t activation(const char* key, std::string_view otherwise) const {
        return activation_named(text(key, otherwise), key);
    }

    // Rejects a variant for which results would be wrong.
    void require(const char* key, bool only) const {
        if (flag(key, only) != only) refuse("config.json sets ", key, ", which is not supported");
    }
    void require_absent(const char* key) const {
        if (has(key)) refuse("config.json sets ", key, ", which is not supported");
    }
    void require(const char* key, const char* only) const {
        if (text(key, only) != only)
            refuse("config.json sets ", key, " to something other than ", only, ", the only one supported");
    }

private:
    const json::Value root_;
};

// An encoder's description, with sizes and properties that are not part of lw_description.
struct Shape {
    lw_description d{};
    int32_t positions = 0, segments = 0, buckets = 0, groups = 0;  // rows of tables; number of shared sets of weights
    int32_t distances = 0;                                         // rows of vectors of distances
    bool head_norms = false, added_norms = false;  // on queries and keys; before residual additions
    bool gate_apart = false;  // whether values and gates have separate weights
    bool widens = false, norm_bias = true, attention_bias = true, up_bias = true, down_bias = true;
    float theta = 0, stretch = 1;  // in every block
    std::vector<float> thetas;     // or per block
    std::vector<int32_t> reaches;
};

void read_sizes(const Config& c, Shape& s, int32_t positions, const char* width, const char* depth, const char* heads,
                const char* inner) {
    s.d.vocabulary = c.size("vocab_size");
    s.d.width = s.d.word_width = c.size(width);
    s.d.depth = s.groups = c.size(depth, -1, 1, LARGEST_DEPTH);
    s.d.heads = c.size(heads);
    s.d.inner = c.size(inner);
    s.positions = c.size("max_position_embeddings", positions);
    if (s.d.width % s.d.heads)
        refuse("config.json asks for ", s.d.heads, " heads, which do not divide the width of ", s.d.width);
}

void start_positions(Shape& s, int32_t first) {
    s.d.first_position = first;
    s.d.longest = s.positions - first;
    if (s.d.longest < 1)
        refuse("config.json leaves no position for a token: of ", s.positions, ", the first is ", first);
}

Shape bert_like(const Config& c, const char* activation = "gelu") {
    c.require("position_embedding_type", "absolute");
    if (c.flag("is_decoder")) refuse("config.json describes a decoder; only encoders are supported");
    Shape s;
    read_sizes(c, s, 512, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    s.d.eps = c.number("layer_norm_eps", 1e-12, 1);
    s.d.activation = c.activation("hidden_act", activation);
    s.segments = c.size("type_vocab_size", 2, 0);
    return s;
}

Shape bert(const Config& c) {
    Shape s = bert_like(c);
    start_positions(s, 0);
    return s;
}

// Position ids start at the padding token's id + 1.
Shape roberta(const Config& c) {
    Shape s = bert_like(c);
    start_positions(s, c.size("pad_token_id", 1, 0) + 1);
    return s;
}

Shape electra(const Config& c) {
    Shape s = bert(c);
    s.d.word_width = c.size("embedding_size", 128);
    s.widens = s.d.word_width != s.d.width;
    return s;
}

Shape albert(const Config& c) {
    if (c.size("inner_group_num", 1) != 1)
        refuse("config.json has an inner_group_num other than 1, which is not supported");
    Shape s = bert_like(c, "gelu_new");
    start_positions(s, 0);
    s.d.word_width = c.size("embedding_size", 128);
    s.groups = c.size("num_hidden_groups", 1, 1, LARGEST_DEPTH);
    s.widens = true;
    return s;
}

Shape mpnet(const Config& c) {
    Shape s = roberta(c);
    s.segments = 0;
    s.buckets = c.size("relative_attention_num_buckets", 32, 4);
    return s;
}

Shape distilbert(const Config& c) {
    Shape s;
    read_sizes(c, s, 512, "dim", "n_layers", "n_heads", "hidden_dim");
    s.d.eps = 1e-12F;
    s.d.activation = c.activation("activation", "gelu");
    start_positions(s, 0);
    return s;
}

// `otherwise` is the rotary base of layers with global attention.
float theta_of(const Config& c, bool local, const char* local_key, const char* global_key, double otherwise) {
    const char* key = local ? local_key : global_key;
    const Config newer = c.object("rope_parameters").object(local ? "sliding_attention" : "full_attention");
    newer.require("rope_type", "default");
    return c.at_least_one(key, newer.at_least_one("rope_theta", local ? 10'000 : otherwise));
}

// Which layers have local attention: as set in config.json, otherwise all but every `every`-th, counted from `first`.
std::vector<bool> local_layers(const Config& c, int32_t depth, int32_t every, int32_t first) {
    std::vector<bool> locals;
    for (const json::Value kind : c.member("layer_types")) {
        const std::string_view name = kind.text("layer_types");
        if (name != "sliding_attention" && name != "full_attention") refuse("config.json names the layer type ", name);
        locals.push_back(name == "sliding_attention");
    }
    if (c.member("layer_types").is_null())
        for (int32_t i = 0; i < depth; i++) locals.push_back((i + first) % every != 0);
    if (static_cast<int32_t>(locals.size()) != depth)
        refuse("config.json lists ", locals.size(), " layer_types for ", depth, " layers");
    return locals;
}

void check_rotary(const Shape& s) {
    if (s.d.width % (2 * s.d.heads))
        refuse("config.json asks for ", s.d.heads, " rotary heads in a width of ", s.d.width);
}

// Every block has rotary positions, instead of a position table.
void rotate(Shape& s, double theta, double stretch) {
    check_rotary(s);
    s.theta = static_cast<float>(theta);
    s.stretch = static_cast<float>(stretch);
    s.d.longest = s.positions;
    s.positions = 0;
}

// Rotary positions of all blocks, from current or older config keys. Fixed NTK scaling by s multiplies the base by s
// and divides all angles by s^(2 / head width).
void read_rope(const Config& c, Shape& s, double otherwise) {
    const Config newer = c.object("rope_parameters"), older = c.object("rope_scaling");
    const Config& scaling = c.has("rope_parameters") ? newer : older;
    const char* key = scaling.has("rope_type") ? "rope_type" : "type";
    const std::string_view named = scaling.text(key, "default");
    const double theta = c.at_least_one("rope_theta", newer.at_least_one("rope_theta", otherwise));
    const double factor = named == "default" ? 1 : scaling.at_least_one("factor", 1);
    if ((named != "default" && named != "linear" && named != "ntk") || scaling.has("mixed_b"))
        refuse("config.json asks for rotary positions of the kind ", named, "; expected default, linear or ntk");
    const double width = static_cast<double>(s.d.width) / s.d.heads;
    if (named == "ntk") return rotate(s, theta * factor, exponential(logarithm(factor) * (2 / width)));
    rotate(s, theta, factor);
}

Shape gte_like(const Config& c, double theta) {
    c.require("position_embedding_type", "rope");
    c.require("layer_norm_type", "layer_norm");
    c.require("pack_qkv", true);
    c.require("logn_attention_scale", false);
    c.require("logn_attention_clip1", false);
    c.require("is_decoder", false);
    Shape s;
    read_sizes(c, s, 8192, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    s.d.gated = 2;
    s.d.eps = c.number("layer_norm_eps", 1e-12, 1);
    s.d.activation = c.activation("hidden_act", "gelu");
    s.segments = c.size("type_vocab_size", 1, 0);
    s.up_bias = false;
    read_rope(c, s, theta);
    return s;
}

Shape jina(const Config& c) {
    Shape s;
    read_sizes(c, s, 8192, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    if (c.flag("is_decoder")) refuse("config.json describes a decoder; only encoders are supported");
    const std::string_view gates = c.text("feed_forward_type", "geglu");
    if (gates != "geglu" && gates != "reglu") refuse("config.json sets feed_forward_type to ", gates, "; expected geglu or reglu");
    s.d.activation = gates == "geglu" ? LW_GELU : LW_RELU;
    s.d.eps = c.number("layer_norm_eps", 1e-12, 1);
    s.d.gated = s.d.alibi = 1;
    s.segments = c.size("type_vocab_size", 2, 0);
    s.up_bias = false;
    s.d.longest = s.positions;
    s.positions = 0;  // positions are distances
    return s;
}

// Disentangled attention (DeBERTa 2 and 3): relative instead of absolute position embeddings.
Shape deberta(const Config& c) {
    Shape s;
    read_sizes(c, s, 512, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    if (c.size("embedding_size", s.d.width) != s.d.width || c.size("conv_kernel_size", 0, 0) != 0)
        refuse("config.json asks for narrow words or a convolution, which are not supported in this family");
    c.require("norm_rel_ebd", "layer_norm");
    const json::Value limit = c.member("max_relative_positions");
    const double most = limit.is_null() ? -1 : limit.number("max_relative_positions");
    const int32_t buckets = c.size("position_buckets", -1, 2, 32'768);
    s.d.farthest = most < 1 ? s.positions : c.size("max_relative_positions");
    if (s.d.farthest < buckets / 2 + 3) refuse("config.json gives position_buckets as ", buckets, " for ", s.d.farthest, " positions");
    s.distances = 2 * buckets;
    s.d.divisor = std::sqrt(static_cast<float>(3 * (s.d.width / s.d.heads)));
    s.d.eps = c.number("layer_norm_eps", 1e-7, 1);
    s.d.activation = c.activation("hidden_act", "gelu");
    s.segments = c.size("type_vocab_size", 0, 0);
    s.d.longest = s.positions;
    s.positions = 0;
    return s;
}

// The encoder of T5: RMSNorm without a bias, unscaled attention scores, relative positions.
Shape t5(const Config& c) {
    Shape s;
    read_sizes(c, s, 1, "d_model", "num_layers", "num_heads", "d_ff");
    if (c.size("d_kv", 64) * s.d.heads != s.d.width)
        refuse("config.json asks for ", s.d.heads, " heads of a width, d_kv, that does not make ", s.d.width, " together");
    if (c.size("relative_attention_max_distance", 128) != 128)
        refuse("config.json has a relative_attention_max_distance other than 128");
    const std::string_view network = c.text("feed_forward_proj", "relu");
    const bool gated = network.rfind("gated-", 0) == 0;
    s.d.activation = network == "gated-gelu" ? LW_GELU_TANH : Config::activation_named(gated ? network.substr(6) : network, "feed_forward_proj");
    s.d.gated = s.gate_apart = gated;
    s.d.pre_norm = s.d.rms = 1;
    s.d.divisor = 1;
    s.d.eps = c.number("layer_norm_epsilon", 1e-6, 1);
    s.buckets = c.size("relative_attention_num_buckets", 32, 4);
    s.norm_bias = s.attention_bias = s.up_bias = s.down_bias = false;
    s.positions = 0;
    s.d.longest = LONGEST_RELATIVE;
    return s;
}

Shape gte(const Config& c) { return gte_like(c, 160'000); }
Shape gte_of_its_authors(const Config& c) { return gte_like(c, 10'000); }

// With the config keys of its authors.
void read_nomic(const Config& c, Shape& s) {
    read_sizes(c, s, 1, "n_embd", "n_layer", "n_head", "n_inner");
    s.positions = c.size("n_positions", 8192);
    s.d.eps = c.number("layer_norm_epsilon", 1e-5, 1);
    const std::string_view gates = c.text("activation_function", "swiglu");
    if (gates != "swiglu" && gates != "geglu") refuse("config.json sets activation_function to ", gates, "; expected swiglu or geglu");
    s.d.activation = gates == "swiglu" ? LW_SILU : LW_GELU;
    s.attention_bias = c.flag("qkv_proj_bias", true);
    s.up_bias = c.flag("mlp_fc1_bias", true);
    s.down_bias = c.flag("mlp_fc2_bias", true);
    rotate(s, c.at_least_one("rotary_emb_base", 1000), 1);
}

Shape nomic(const Config& c) {
    for (const char* key : {"prenorm", "parallel_block", "causal", "use_rms_norm", "rotary_emb_interleaved"})
        c.require(key, false);
    for (const char* key : {"rotary_emb_scale_base", "rotary_scaling_factor"}) c.require_absent(key);
    if (c.number("rotary_emb_fraction", 1, 1) != 1) refuse("config.json has a rotary_emb_fraction other than 1");
    const json::Value experts = c.member("moe_every_n_layers");
    if (!experts.is_null() && experts.number("moe_every_n_layers") != -1)
        refuse("config.json sets moe_every_n_layers: experts are not supported");
    Shape s;
    if (c.has("n_embd") || c.has("n_layer") || c.has("n_head") || c.has("n_inner")) {
        read_nomic(c, s);
    } else {
        read_sizes(c, s, 2048, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
        s.d.eps = c.number("layer_norm_eps", 1e-12, 1);
        s.d.activation = c.activation("hidden_act", "silu");
        s.attention_bias = s.up_bias = s.down_bias = false;
        read_rope(c, s, 1000);
    }
    s.d.gated = s.gate_apart = 1;
    s.segments = c.size("type_vocab_size", 2, 0);
    return s;
}

Shape modernbert(const Config& c) {
    Shape s;
    read_sizes(c, s, 8192, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    s.d.pre_norm = s.d.gated = 1;
    s.d.eps = c.number("norm_eps", 1e-5, 1);
    s.d.activation = c.activation("hidden_activation", "gelu");
    s.norm_bias = c.flag("norm_bias");
    s.attention_bias = c.flag("attention_bias");
    s.up_bias = s.down_bias = c.flag("mlp_bias");
    check_rotary(s);
    const int32_t every = c.size("global_attn_every_n_layers", 3), reach = c.size("local_attention", 128) / 2;
    for (const bool local : local_layers(c, s.d.depth, every, 0)) {
        s.thetas.push_back(theta_of(c, local, "local_rope_theta", "global_rope_theta", 160'000));
        s.reaches.push_back(local ? reach : -1);
    }
    s.d.longest = s.positions;
    s.positions = 0;  // they are rotations
    return s;
}

// What Qwen3 and Gemma 3 share: grouped-query attention, RMSNorm, gates, rotary positions.
Shape grouped(const Config& c, int32_t positions, int32_t key_heads, int32_t head_width, const char* activation_key,
              const char* activation) {
    Shape s;
    read_sizes(c, s, positions, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
    s.d.key_heads = c.size("num_key_value_heads", key_heads);
    s.d.head_width = c.size("head_dim", head_width, 2);
    if (s.d.heads % s.d.key_heads || s.d.head_width % 2)
        refuse("config.json asks for ", s.d.heads, " heads of width ", s.d.head_width, " and ", s.d.key_heads,
               " key-value heads; expected a multiple of the key-value heads, and an even width");
    s.d.eps = c.number("rms_norm_eps", 1e-6, 1);
    s.d.activation = c.activation(activation_key, activation);
    s.attention_bias = c.flag("attention_bias");
    s.norm_bias = s.up_bias = s.down_bias = false;
    s.d.pre_norm = s.d.rms = s.d.gated = 1;
    s.gate_apart = s.head_norms = true;
    s.d.longest = s.positions;
    s.positions = 0;  // they are rotations
    return s;
}

void require_plain_rope(const Config& settings) {
    const char* key = settings.has("rope_type") ? "rope_type" : "type";
    if (settings.text(key, "default") != "default")
        refuse("config.json asks for scaled rotary positions, a form of this family that is not supported");
}

Shape qwen3(const Config& c) {
    Shape s = grouped(c, 32'768, 32, 128, "hidden_act", "silu");
    const Config newer = c.object("rope_parameters");
    require_plain_rope(newer);
    require_plain_rope(c.object("rope_scaling"));
    c.require("use_sliding_window", false);
    for (const bool local : local_layers(c, s.d.depth, 1, 0))
        if (local) refuse("config.json's layer_types name local attention, a form of this family that is not supported");
    s.theta = c.at_least_one("rope_theta", newer.at_least_one("rope_theta", 10'000));
    s.d.causal = 1;
    return s;
}

Shape gemma3(const Config& c) {
    Shape s = grouped(c, 131'072, 4, 256, "hidden_activation", "gelu_pytorch_tanh");
    require_plain_rope(c.object("rope_scaling"));
    c.require_absent("attn_logit_softcapping");
    const bool both = c.flag("use_bidirectional_attention");
    const int32_t window = c.size("sliding_window", 4096), reach = both ? window / 2 : window - 1;
    for (const bool local : local_layers(c, s.d.depth, c.size("sliding_window_pattern", 6), 1)) {
        s.thetas.push_back(theta_of(c, local, "rope_local_base_freq", "rope_theta", 1'000'000));
        s.reaches.push_back(local ? reach : -1);
    }
    s.d.causal = !both;
    s.d.divisor = std::sqrt(c.at_least_one("query_pre_attn_scalar", 256));
    s.d.word_scale = std::sqrt(static_cast<float>(s.d.width));
    s.d.one_more = 1;
    s.added_norms = true;
    return s;
}

Shape words(const Config& c) {
    if (c.size("ngram_buckets", 0, 0)) refuse("unknown words are spelled by n-grams, which are not supported");
    Shape s;
    s.d.vocabulary = c.size("vocab_size");
    s.d.width = s.d.word_width = c.size("hidden_size");
    s.d.heads = 1;
    s.d.longest = MOST_TOKENS;
    return s;
}

// Names of weights, without `.weight` and `.bias`; names in a block follow the block's own name. Null: no such weight.
struct BlockNames {
    const char *query, *key, *value, *out, *norm1, *up, *down, *norm2;  // query may hold key and value too
    const char* gate = nullptr;                                         // null: up holds values and gates
    const char *query_norm = nullptr, *key_norm = nullptr, *out_norm = nullptr, *down_norm = nullptr;
};
struct Family {
    std::string_view type;
    Shape (*shape)(const Config&);
    const char *words, *norm, *widen, *relative, *last_norm;
    const char *block, *part;  // a block's name is `block`, its index, then `part`
    BlockNames names;
};

constexpr const char *WORDS = "embeddings.word_embeddings", *NORM = "embeddings.LayerNorm";
constexpr const char* LAYER = "encoder.layer.";
constexpr BlockNames BERT = {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense",
                             "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"};

constexpr BlockNames GTE = {"attention.qkv_proj", nullptr, nullptr, "attention.o_proj", "attn_ln", "mlp.up_gate_proj",
                            "mlp.down_proj", "mlp_ln"};

constexpr const char* T5_RELATIVE = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias";
constexpr BlockNames T5 = {"layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v",
                           "layer.0.SelfAttention.o", "layer.0.layer_norm", "layer.1.DenseReluDense.wi",
                           "layer.1.DenseReluDense.wo", "layer.1.layer_norm"};
constexpr BlockNames T5_GATED = {T5.query, T5.key, T5.value, T5.out, T5.norm1, "layer.1.DenseReluDense.wi_0", T5.down,
                                 T5.norm2, "layer.1.DenseReluDense.wi_1"};

constexpr BlockNames QWEN3 = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                              "input_layernorm", "mlp.gate_proj", "mlp.down_proj", "post_attention_layernorm",
                              "mlp.up_proj", "self_attn.q_norm", "self_attn.k_norm"};
constexpr BlockNames GEMMA3 = {QWEN3.query, QWEN3.key, QWEN3.value, QWEN3.out, QWEN3.norm1, QWEN3.up, QWEN3.down,
                               "pre_feedforward_layernorm", QWEN3.gate, QWEN3.query_norm, QWEN3.key_norm,
                               "post_attention_layernorm", "post_feedforward_layernorm"};

constexpr Family FAMILIES[] = {
    {"bert", bert, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", BERT},
    {"roberta", roberta, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", BERT},
    {"xlm-roberta", roberta, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", BERT},
    {"camembert", roberta, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", BERT},
    {"electra", electra, WORDS, NORM, "embeddings_project", nullptr, nullptr, LAYER, ".", BERT},
    {"mpnet", mpnet, WORDS, NORM, nullptr, "encoder.relative_attention_bias", nullptr, LAYER, ".",
     {"attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm",
      "intermediate.dense", "output.dense", "output.LayerNorm"}},
    {"distilbert", distilbert, WORDS, NORM, nullptr, nullptr, nullptr, "transformer.layer.", ".",
     {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1",
      "ffn.lin2", "output_layer_norm"}},
    {"albert", albert, WORDS, NORM, "encoder.embedding_hidden_mapping_in", nullptr, nullptr,
     "encoder.albert_layer_groups.", ".albert_layers.0.",
     {"attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn",
      "ffn_output", "full_layer_layer_norm"}},
    {"jina_bert", jina, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".",
     {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
      "attention.output.LayerNorm", "mlp.gated_layers", "mlp.wo", "mlp.layernorm"}},
    {"deberta-v2", deberta, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".",
     {"attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj", "attention.output.dense",
      "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"}},
    {"t5", t5, "shared", nullptr, nullptr, T5_RELATIVE, "encoder.final_layer_norm", "encoder.block.", ".", T5},
    {"t5_gated", t5, "shared", nullptr, nullptr, T5_RELATIVE, "encoder.final_layer_norm", "encoder.block.", ".", T5_GATED},
    {"nomic_bert", nomic, WORDS, "emb_ln", nullptr, nullptr, nullptr, "encoder.layers.", ".",
     {"attn.Wqkv", nullptr, nullptr, "attn.out_proj", "norm1", "mlp.fc12", "mlp.fc2", "norm2", "mlp.fc11"}},
    {"gte", gte, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", GTE},
    {"new", gte_of_its_authors, WORDS, NORM, nullptr, nullptr, nullptr, LAYER, ".", GTE},
    {"modernbert", modernbert, "embeddings.tok_embeddings", "embeddings.norm", nullptr, nullptr, "final_norm",
     "layers.", ".",
     {"attn.Wqkv", nullptr, nullptr, "attn.Wo", "attn_norm", "mlp.Wi", "mlp.Wo", "mlp_norm"}},
    {"qwen3", qwen3, "embed_tokens", nullptr, nullptr, nullptr, "norm", "layers.", ".", QWEN3},
    {"gemma3_text", gemma3, "embed_tokens", nullptr, nullptr, nullptr, "norm", "layers.", ".", GEMMA3},
    {"words", words, "table", nullptr, nullptr, nullptr, nullptr, "", "", {}},
};

// Of the many variants of DeBERTa, only versions 2 and 3 without a convolution, with relative position embeddings.
void check_disentangled(const json::Value& config) {
    const json::Value named = config.member("pos_att_type");
    bool c2p = false, p2c = false;
    const auto add = [&](std::string_view one) {
        c2p |= one == "c2p";
        p2c |= one == "p2c";
    };
    if (named.kind() == json::Kind::TEXT) {
        std::string_view rest = named.text("pos_att_type");
        for (size_t end; (end = rest.find('|')) != rest.npos; rest.remove_prefix(end + 1)) add(rest.substr(0, end));
        add(rest);
    }
    if (named.kind() == json::Kind::ARRAY)
        for (const json::Value one : named) add(one.text("pos_att_type"));
    if (!c2p || !p2c || !config.flag("relative_attention", false) || !config.flag("share_att_key", false) ||
        config.flag("position_biased_input", true))
        refuse("the encoder is a deberta-v2 of another form than versions 2 and 3, which is not supported");
}

const Family& family_of(const json::Value& config) {
    if (!config.member("quantization_config").is_null())
        refuse("the weights were quantized by another library; expected the model in fp32, fp16 or bf16");
    std::string_view type = config.text_of("model_type");
    if (type == "likewise-int8")
        type = config.text_of("likewise_model_type");  // marked, because only likewise reads its weights
    const auto says = [&](const char* key, std::string_view beginning) {
        const json::Value found = config.member(key);
        return found.kind() == json::Kind::TEXT && found.text(key).substr(0, beginning.size()) == beginning;
    };
    if (type == "bert" && says("position_embedding_type", "alibi")) type = "jina_bert";  // its config.json says bert
    if (type == "t5" && says("feed_forward_proj", "gated-")) type = "t5_gated";
    if (type == "deberta-v2") check_disentangled(config);
    std::string known;
    for (const Family& family : FAMILIES) {
        if (family.type == type) return family;
        known += (known.empty() ? "" : ", ") + std::string(family.type);
    }
    refuse("the encoder is of the kind ", type, "; supported are ", known);
}

lw_block read_block(const Family& f, const Shape& s, StoredWeights& weights, int32_t i) {
    const std::string at = f.block + std::to_string(i) + f.part;
    const int32_t width = s.d.width, inner = s.d.inner;
    const int32_t head = s.d.head_width ? s.d.head_width : width / s.d.heads;
    const int32_t queries = s.d.heads * head, keys = (s.d.key_heads ? s.d.key_heads : s.d.heads) * head;
    lw_block b{};
    b.query = weights.linear(at + f.names.query, f.names.key ? queries : 3 * width, width, s.attention_bias);
    if (f.names.key) {
        b.key = weights.linear(at + f.names.key, keys, width, s.attention_bias);
        b.value = weights.linear(at + f.names.value, keys, width, s.attention_bias);
    }
    b.out = weights.linear(at + f.names.out, width, queries, s.attention_bias);
    if (s.head_norms) b.query_norm = weights.norm(at + f.names.query_norm, head, false);
    if (s.head_norms) b.key_norm = weights.norm(at + f.names.key_norm, head, false);
    if (s.added_norms) b.out_norm = weights.norm(at + f.names.out_norm, width, false);
    if (s.added_norms) b.down_norm = weights.norm(at + f.names.down_norm, width, false);
    b.up = weights.linear(at + f.names.up, s.d.gated && !s.gate_apart ? 2 * inner : inner, width, s.up_bias);
    if (s.gate_apart) b.gate = weights.linear(at + f.names.gate, inner, width, s.up_bias);
    b.down = weights.linear(at + f.names.down, width, inner, s.down_bias);
    if (i > 0 || !s.d.pre_norm || s.d.rms) b.norm1 = weights.norm(at + f.names.norm1, width, s.norm_bias);
    b.norm2 = weights.norm(at + f.names.norm2, width, s.norm_bias);
    b.theta = s.thetas.empty() ? s.theta : s.thetas[i];
    b.stretch = s.stretch;
    b.reach = s.reaches.empty() ? -1 : s.reaches[i];
    return b;
}

}  // namespace

Encoder read_encoder(const json::Value& config, StoredWeights& weights, int32_t precision) {
    const Family& family = family_of(config);
    const Shape shape = family.shape(Config(config));
    const int32_t narrow = shape.d.word_width;
    Encoder made;
    lw_description& d = made.description = shape.d;
    d.version = LW_VERSION;
    d.precision = precision;
    d.words = weights.table(family.words + std::string(".weight"), d.vocabulary, narrow);
    if (shape.positions) d.positions = weights.table("embeddings.position_embeddings.weight", shape.positions, narrow);
    if (shape.segments) d.segments = weights.table("embeddings.token_type_embeddings.weight", shape.segments, narrow);
    if (shape.buckets) d.relative = weights.table(family.relative + std::string(".weight"), shape.buckets, d.heads);
    if (shape.distances) {
        d.distances = weights.table("encoder.rel_embeddings.weight", shape.distances, d.width);
        d.distance_norm = weights.norm("encoder.LayerNorm", d.width, true);
    }
    if (family.norm) d.norm = weights.norm(family.norm, narrow, shape.norm_bias);
    if (shape.widens) d.widen = weights.linear(family.widen, d.width, narrow, true);
    if (family.last_norm) d.last_norm = weights.norm(family.last_norm, d.width, shape.norm_bias);
    for (int32_t i = 0; i < shape.groups; i++) made.blocks.push_back(read_block(family, shape, weights, i));
    for (int32_t i = 0; i < d.depth; i++)
        made.order.push_back(static_cast<int32_t>(int64_t{i} * shape.groups / d.depth));
    d.block_count = shape.groups;
    d.blocks = made.blocks.data();
    d.order = made.order.data();
    return made;
}

}  // namespace likewise
