// A request, checked, cut into chunks and shared out between threads.
#include "run.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "chunk.h"
#include "failure.h"

namespace likewise {
namespace {

// Tokens: so few that their states stay in a second-level cache beside the weights that pass by, so many that the next
// weights arrive while these are multiplied; bytes are multiplied faster, and arrive faster still.
constexpr int USUAL_CHUNK = 96, USUAL_CHUNK_OF_BYTES = 64;
constexpr int LEAST_CHUNK = 48;
constexpr int MOST_THREADS = 1024;

std::string named(const char* what, int64_t value, int64_t sentence) {
    return std::string(what) + " " + std::to_string(value) + " of sentence " + std::to_string(sentence);
}

// Lengths first: they say how far ids may be read.
void check_lengths(const Model& model, const lw_request& r) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < r.sentences; i++) {
        if (r.lengths[i] < 1 || r.lengths[i] > model.longest) {
            throw Failure(BAD_INPUT,
                          named("length", r.lengths[i], i) + ": wanted 1 to " + std::to_string(model.longest));
        }
        if (r.skips && r.skips[i] < 0) throw Failure(BAD_INPUT, named("skip", r.skips[i], i) + " is below 0");
        tokens += r.lengths[i];
    }
    if (tokens != r.tokens) {
        throw Failure(BAD_INPUT, std::to_string(r.tokens) + " ids do not make " + std::to_string(r.sentences) +
                                     " sentences of these lengths, which want " + std::to_string(tokens));
    }
}

void check_tokens(const Model& model, const lw_request& r) {
    int64_t token = 0;
    for (int64_t i = 0; i < r.sentences; i++) {
        for (const int64_t end = token + r.lengths[i]; token < end; token++) {
            if (r.ids[token] < 0 || r.ids[token] >= model.vocabulary) {
                throw Failure(BAD_INPUT,
                              named("id", r.ids[token], i) + ": wanted 0 to " + std::to_string(model.vocabulary - 1));
            }
            const int kind = r.segments ? r.segments[token] : 0;
            if (kind < 0 || (kind > 0 && kind >= model.segment_kinds)) {
                throw Failure(BAD_INPUT,
                              named("segment", kind, i) + ": this model knows " + std::to_string(model.segment_kinds));
            }
        }
    }
}

void check_request(const Model& model, const lw_request& r) {
    if (r.sentences < 0 || (r.sentences > 0 && (r.ids == nullptr || r.lengths == nullptr))) {
        throw Failure(BAD_INPUT, "there are no sentences");
    }
    if (r.threads < 1 || r.threads > MOST_THREADS || r.chunk_tokens < 0) {
        throw Failure(BAD_INPUT, "threads are " + std::to_string(r.threads) + "; wanted 1 to 1024");
    }
    if (r.first_layer < 0 || r.first_layer > r.last_layer || r.last_layer > model.depth) {
        throw Failure(BAD_INPUT, "layers " + std::to_string(r.first_layer) + " to " + std::to_string(r.last_layer) +
                                     " are none of 0 to " + std::to_string(model.depth));
    }
    if (r.pooled && (r.reductions <= 0 || r.reductions >= 2 * LW_LAST)) {
        throw Failure(BAD_INPUT, "reductions are " + std::to_string(r.reductions) + "; wanted a sum of lw_reduction");
    }
}

std::vector<Span> cut(const Model& model, const lw_request& r, int64_t tokens) {
    const int64_t share = std::max<int64_t>(LEAST_CHUNK, (tokens + r.threads - 1) / r.threads);
    const int usual = model.scheme.weight_bytes == 1 ? USUAL_CHUNK_OF_BYTES : USUAL_CHUNK;
    const int64_t most = std::min<int64_t>(r.chunk_tokens ? r.chunk_tokens : usual, share);
    std::vector<Span> spans;
    int64_t token = 0;
    for (int64_t i = 0; i < r.sentences; i++) {
        if (spans.empty() || spans.back().tokens + r.lengths[i] > most) spans.push_back({i, 0, token, 0});
        spans.back().sentences++;
        spans.back().tokens += r.lengths[i];
        token += r.lengths[i];
    }
    return spans;
}

// What the threads of a call share: the next chunk, the first failure, the time.
struct Shared {
    std::atomic<size_t> next{0};
    std::mutex guard;
    std::exception_ptr failure;
};

void take_chunks(const Model& model, const lw_request& r, const std::vector<Span>& spans, int64_t tokens,
                 Shared& shared) noexcept {
    try {
        Stopwatch watch(r.seconds != nullptr);
        std::unique_ptr<Workspace> work = model.borrow();
        for (size_t i = shared.next++; i < spans.size(); i = shared.next++) {
            Chunk(model, r, spans[i], tokens, *work, watch).run();
        }
        model.give_back(std::move(work));
        const std::lock_guard<std::mutex> lock(shared.guard);
        for (int kind = 0; r.seconds && kind < LW_KINDS; kind++) r.seconds[kind] += watch.seconds[kind];
    } catch (...) {
        shared.next = spans.size();
        const std::lock_guard<std::mutex> lock(shared.guard);
        if (!shared.failure) shared.failure = std::current_exception();
    }
}

}  // namespace

void run(const Model& model, const lw_request& r) {
    check_request(model, r);
    check_lengths(model, r);
    check_tokens(model, r);
    const int64_t tokens = r.tokens;
    const std::vector<Span> spans = cut(model, r, tokens);
    Shared shared;
    const size_t threads = std::min<size_t>(r.threads, spans.size());
    const auto work = [&] { take_chunks(model, r, spans, tokens, shared); };
    if (threads > 1) {
        model.pool().run(threads - 1, work);
    } else {
        work();
    }
    if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace likewise
