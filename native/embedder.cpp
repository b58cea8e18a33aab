#include "embedder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "chunk.h"
#include "failure.h"
#include "families.h"

namespace likewise {
namespace {

constexpr int64_t MOST_TEXTS = 64;  // texts that a thread processes at a time: a few chunks of sentences
constexpr int32_t MOST_THREADS = 1024;

std::string_view text_at(const lw_texts& texts, int64_t i) {
    if (texts.texts[i] == nullptr) fail(LW_BAD_INPUT, "texts[", i, "] is null");
    return {texts.texts[i], texts.sizes ? texts.sizes[i] : std::strlen(texts.texts[i])};
}

void check_texts(const lw_texts& texts, const float* vectors) {
    if (texts.count < 0 || (texts.count > 0 && (texts.texts == nullptr || vectors == nullptr)))
        fail(LW_BAD_INPUT, "there are no texts, or no room for vectors");
    if (texts.threads < 0 || texts.threads > MOST_THREADS)
        fail(LW_BAD_INPUT, "threads are ", texts.threads, "; expected 0 to ", MOST_THREADS);
}

int64_t characters_of(std::string_view text, const char* what, int64_t number) {
    int64_t characters = 0;
    const size_t end = utf8_until(text, &characters);
    if (end < text.size()) fail(LW_BAD_INPUT, what, "[", number, "] is not UTF-8 at byte ", end);
    return characters;
}

}  // namespace

// A group of texts and its state while it passes through the model.
class Embedder::Block {
public:
    Block(const Embedder& embedder, const lw_texts& texts, const std::string& prompt, int32_t hidden, int64_t threads)
        : e_(embedder), texts_(texts), prompt_(prompt), hidden_(hidden), threads_(static_cast<int32_t>(threads)),
            prompt_characters_(characters_of(prompt, "prompt", 0)) {}

    // Computes the vectors of `count` texts from `first` on; `lost`, if passed, has an entry for each text.
    void run(int64_t first, int64_t count, float* vectors, int64_t* lost) {
        first_ = first;
        count_ = count;
        tokenize();
        frame(lost);
        compute(vectors);
        const int width = e_.dimension();
        for (int64_t i = 0; i < count; i++)
            if (!all_finite(vectors + i * width, width))
                fail(LW_BAD_WEIGHTS, "texts[", first + i, "] gave a vector that is not finite");
    }

    int64_t cut = 0, long_words = 0, unknown = 0;  // numbers of texts, over all runs

private:
    const Embedder& e_;
    const lw_texts& texts_;
    const std::string& prompt_;
    const int32_t hidden_, threads_;
    const int64_t prompt_characters_;
    int64_t first_ = 0, count_ = 0;
    std::string joined_;
    std::vector<int64_t> characters_;
    text::Tokens tokens_;
    std::vector<int32_t> ids_, lengths_, skips_;

    void tokenize() {
        joined_.clear();
        characters_.clear();
        for (int64_t i = first_; i < first_ + count_; i++) {
            const std::string_view text = text_at(texts_, i);
            characters_.push_back(prompt_characters_ + characters_of(text, "texts", i));
            joined_.append(prompt_).append(text);
        }
        tokens_ = {};
        e_.tokenizer_->encode(joined_.data(), joined_.size(), characters_.data(), count_, false, tokens_);
    }

    // Truncates each text to the model's limit, adds special tokens around it, and counts the tokens lost.
    void frame(int64_t* lost) {
        ids_.clear();
        lengths_.clear();
        skips_.assign(count_, hidden_);
        size_t word = 0;
        int64_t token = 0;
        bool full = false;
        for (int64_t i = 0; i < count_; i++) {
            const int64_t start = token, length = add(start, tokens_.ends[i]);
            token = tokens_.ends[i];
            int64_t less = std::max<int64_t>(0, length - e_.limit_), unread = 0;
            cut += less > 0;
            full |= length >= e_.limit_;
            for (; word < tokens_.long_words.size() && tokens_.long_words[word].text == i; word++) {
                unread++;
                less += tokens_.long_words[word].position < e_.limit_;
            }
            if (e_.frame_.skipped < 0) long_words += unread > 0;
            if (e_.frame_.skipped >= 0) unknown += length == 0;
            if (lost) lost[i] = less;
        }
        if (full && !prompt_.empty()) e_.check_room_after(prompt_);
    }

    // Appends a text's ids; returns its number of tokens before truncation.
    int64_t add(int64_t start, int64_t stop) {
        const Frame& frame = e_.frame_;
        const size_t before = ids_.size();
        int64_t length = 0;
        ids_.insert(ids_.end(), frame.prefix.begin(), frame.prefix.end());
        for (int64_t at = start; at < stop; at++) {
            if (tokens_.ids[at] == frame.skipped) continue;
            if (length++ < e_.limit_) ids_.push_back(tokens_.ids[at]);
        }
        if (length == 0 && frame.skipped >= 0) ids_.push_back(frame.skipped);
        ids_.insert(ids_.end(), frame.suffix.begin(), frame.suffix.end());
        const int64_t number = first_ + static_cast<int64_t>(lengths_.size());
        if (ids_.size() == before)
            fail(LW_BAD_INPUT, "texts[", number, "] has no tokens, and this model adds no special tokens");
        for (size_t at = before; at < ids_.size(); at++)
            if (ids_[at] >= e_.model_->vocabulary)
                fail(LW_BAD_INPUT, "texts[", number, "] holds the token ", ids_[at],
                     ", for which the encoder has no vector");
        lengths_.push_back(static_cast<int32_t>(ids_.size() - before));
        return length;
    }

    void compute(float* vectors) {
        lw_request request{};
        request.ids = ids_.data();
        request.lengths = lengths_.data();
        request.skips = hidden_ ? skips_.data() : nullptr;
        request.tokens = static_cast<int64_t>(ids_.size());
        request.sentences = count_;
        request.threads = threads_;
        request.first_layer = request.last_layer = e_.model_->depth;
        request.reductions = e_.folder_.reductions;
        request.pooled = vectors;
        likewise::run(*e_.model_, request, e_.heads_.get());
    }
};

Embedder::Embedder(std::unique_ptr<Files> files, const lw_options& options, const Kernels& kernels)
    : files_(std::move(files)) {
    if (options.precision < LW_AS_FP32 || options.precision > LW_AS_INT8)
        fail(LW_BAD_INPUT, "the precision ", options.precision, " is unknown");
    folder_ = read_folder(*files_);
    read_model(options, kernels);
    read_tokenizer(options.max_seq_length);
    read_heads(options.truncate_dim, kernels);
}

Embedder::~Embedder() = default;

void Embedder::read_model(const lw_options& options, const Kernels& kernels) {
    const std::string path = folder_.encoder + "config.json";
    const json::Document* config = files_->object(path);
    if (!config) refuse(path, " is missing; a model folder must have it");
    weights_ = std::make_unique<StoredWeights>(*files_, folder_.encoder, options.precision);
    const Encoder encoder = read_encoder(config->root(), *weights_, options.precision);
    model_ = std::make_unique<Model>(encoder.description, kernels);
}

void Embedder::read_tokenizer(int32_t asked) {
    const std::string path = folder_.encoder + "tokenizer.json";
    const std::optional<std::string_view> source = files_->find(path, false);
    const json::Document* described = files_->object(path);
    if (!described)
        refuse(path, " is missing; an older vocabulary must be saved as tokenizer.json once, with transformers' fast tokenizer");
    tokenizer_ = std::make_unique<text::Tokenizer>(*source);
    frame_ = read_frame(*files_, folder_.encoder, described->root());
    const auto specials = static_cast<int64_t>(frame_.prefix.size() + frame_.suffix.size());
    for (const std::vector<int32_t>* ids : {&frame_.prefix, &frame_.suffix})
        for (const int32_t id : *ids)
            if (id >= model_->vocabulary)
                refuse("the tokenizer adds the id ", id, " to every text, but the encoder has vectors for ",
                       model_->vocabulary, " ids only");
    if (frame_.skipped >= model_->vocabulary)
        refuse("the encoder has no vector for the id ", frame_.skipped, " of unknown words");
    if (asked < 0 || asked > model_->longest)
        fail(LW_BAD_INPUT, "max_seq_length is ", asked, "; this encoder reads 1 to ", model_->longest);
    const int32_t configured = asked ? asked : folder_.max_seq_length ? folder_.max_seq_length : model_->longest;
    limit_ = std::min(configured, model_->longest) - specials;
    if (limit_ < 1) refuse("max_seq_length leaves no room for text beside ", specials, " special tokens");
}

void Embedder::read_heads(int32_t truncate_dim, const Kernels& kernels) {
    std::vector<lw_head> heads;
    std::vector<std::unique_ptr<StoredWeights>> weights;
    for (const HeadPart& part : folder_.heads) {
        lw_head& head = heads.emplace_back(lw_head{part.kind, part.activation, 0, {}});
        if (part.kind == LW_NORMALIZE) continue;
        StoredWeights& stored = *weights.emplace_back(std::make_unique<StoredWeights>(*files_, part.folder,
                                                                                      LW_AS_FP32));
        head.linear = part.kind == LW_DENSE ? stored.linear("linear", part.outputs, part.inputs, part.bias)
            : stored.norm("norm", part.outputs, true);
    }
    const bool unit = !heads.empty() && heads.back().kind == LW_NORMALIZE;
    if (truncate_dim) heads.push_back({LW_TRUNCATE, LW_IDENTITY, truncate_dim, {}});
    if (truncate_dim && unit) heads.push_back({LW_NORMALIZE, LW_IDENTITY, 0, {}});
    heads_ = std::make_unique<Heads>(heads.data(), static_cast<int32_t>(heads.size()), reduction_count(folder_.reductions) * model_->width, kernels);
}

std::string Embedder::prompt_of(const lw_texts& texts) const {
    if (texts.prompt && texts.prompt_name)
        fail(LW_BAD_INPUT, "a prompt and a prompt's name were both passed; expected one of them, or neither");
    if (texts.prompt) return texts.prompt;
    const std::string name = texts.prompt_name ? texts.prompt_name : folder_.default_prompt;
    const auto found = folder_.prompts.find(name);
    if (found != folder_.prompts.end()) return found->second;
    if (texts.prompt_name == nullptr) return "";
    std::string known;
    for (const auto& [one, prompt] : folder_.prompts) known += " '" + one + "'";
    fail(LW_BAD_INPUT, "the model has no prompt named '", name, "'; its prompts are:", known.empty() ? " (none)"
         : known);
}

// The number of initial tokens that pooling skips: the prompt and anything before it, if the model excludes prompts.
int32_t Embedder::hidden_tokens(const std::string& prompt) const {
    if (folder_.include_prompt || prompt.empty()) return 0;
    return static_cast<int32_t>(frame_.prefix.size()) + tokens_of(prompt);
}

int32_t Embedder::tokens_of(const std::string& prompt) const {
    const int64_t characters = characters_of(prompt, "prompt", 0);
    text::Tokens tokens;
    tokenizer_->encode(prompt.data(), prompt.size(), &characters, 1, false, tokens);
    const auto skipped = std::count(tokens.ids.begin(), tokens.ids.end(), frame_.skipped);
    return static_cast<int32_t>(tokens.ids.size()) - static_cast<int32_t>(skipped);
}

// A prompt that alone reaches the limit would give all texts the same vector.
void Embedder::check_room_after(const std::string& prompt) const {
    const int32_t tokens = tokens_of(prompt);
    if (tokens >= limit_)
        fail(LW_BAD_INPUT, "the prompt has ", tokens, " tokens, and the model reads ", limit_,
             ": no room is left for text; expected a shorter prompt");
}

void Embedder::encode(const lw_texts& texts, float* vectors, lw_losses* losses) const {
    check_texts(texts, vectors);
    const std::string prompt = prompt_of(texts);
    const int32_t hidden = hidden_tokens(prompt);
    const int64_t threads = std::max(1, texts.threads), most = (texts.count + threads - 1) / threads;
    const int64_t size = std::max<int64_t>(1, std::min(most, MOST_TEXTS)), blocks = (texts.count + size - 1) / size;
    int64_t* const lost = losses ? losses->lost : nullptr;
    int64_t cut = 0, long_words = 0, unknown = 0;
    SharedWork shared;
    const auto pool = [&]() -> Pool& { return model_->pool(); };
    shared.run(pool, std::min(threads, blocks), [&] {
        try {
            Block block(*this, texts, prompt, hidden, blocks < threads ? threads / std::max<int64_t>(1, blocks) : 1);
            for (int64_t i = shared.next++; i < blocks; i = shared.next++) {
                const int64_t first = i * size, count = std::min(size, texts.count - first);
                block.run(first, count, vectors + first * dimension(), lost ? lost + first : nullptr);
            }
            const std::lock_guard<std::mutex> held(shared.guard);
            cut += block.cut;
            long_words += block.long_words;
            unknown += block.unknown;
        } catch (...) {
            shared.fail(blocks);
        }
    });
    if (losses) *losses = {lost, cut, long_words, unknown};
}

}  // namespace likewise
