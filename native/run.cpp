// Validates a request, splits it into chunks and distributes them over threads.
#include <algorithm>
#include <mutex>
#include <vector>

#include "chunk.h"
#include "failure.h"
#include "heads.h"
#include "team.h"

namespace likewise {
namespace {

// Tokens per chunk: few enough for their states to stay in the L2 cache while weights stream through it, and enough for
// the next weights to arrive during a matmul. Int8 matmuls are faster, and int8 weights arrive faster still.
constexpr int USUAL_CHUNK = 96, USUAL_CHUNK_OF_BYTES = 64;
constexpr int CHUNK_OF_WORDS = 1024;  // for a static model, whose heads process some sixty sentences at a time; smaller
                                      // chunks are summed before another thread wakes up
constexpr int LEAST_CHUNK = 24;  // more tokens than this are worth another thread
constexpr int MOST_THREADS = 1024;
constexpr int MOST_TOGETHER = 8;  // threads of a team: a matmul with 384 columns has no more panels
constexpr int64_t WORTH_A_THREAD = 75'000'000;  // bytes of weights times tokens, computed until a thread wakes up

// Checks lengths first, because they determine how many ids may be read.
void check_lengths(const Model& model, const lw_request& r) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < r.sentences; i++) {
        if (r.lengths[i] < 1 || r.lengths[i] > model.longest) {
            fail(LW_BAD_INPUT, "length ", r.lengths[i], " of sentence ", i, ": wanted 1 to ", model.longest);
        }
        if (r.skips && r.skips[i] < 0) fail(LW_BAD_INPUT, "skip ", r.skips[i], " of sentence ", i, " is below 0");
        tokens += r.lengths[i];
    }
    if (tokens != r.tokens) {
        fail(LW_BAD_INPUT, r.tokens, " ids do not make ", r.sentences, " sentences of these lengths, which want ",
             tokens);
    }
}

void check_tokens(const Model& model, const lw_request& r) {
    int64_t token = 0;
    for (int64_t i = 0; i < r.sentences; i++) {
        for (const int64_t end = token + r.lengths[i]; token < end; token++) {
            const int id = r.ids[token], kind = r.segments ? r.segments[token] : 0;
            if (id < 0 || id >= model.vocabulary) {
                fail(LW_BAD_INPUT, "id ", id, " of sentence ", i, ": wanted 0 to ", model.vocabulary - 1);
            }
            if (kind < 0 || (kind > 0 && kind >= model.segment_kinds)) {
                fail(LW_BAD_INPUT, "segment ", kind, " of sentence ", i, ": this model knows ", model.segment_kinds);
            }
        }
    }
}

void check_request(const Model& model, const lw_request& r, const Heads* heads) {
    if (r.sentences < 0 || (r.sentences > 0 && (r.ids == nullptr || r.lengths == nullptr))) {
        fail(LW_BAD_INPUT, "there are no sentences");
    }
    if (r.threads < 1 || r.threads > MOST_THREADS || r.chunk_tokens < 0) {
        fail(LW_BAD_INPUT, "threads are ", r.threads, "; wanted 1 to 1024");
    }
    if (r.first_layer < 0 || r.first_layer > r.last_layer || r.last_layer > model.depth) {
        fail(LW_BAD_INPUT, "layers ", r.first_layer, " to ", r.last_layer, " are none of 0 to ", model.depth);
    }
    if (r.pooled && (r.reductions <= 0 || r.reductions >= 2 * LW_LAST)) {
        fail(LW_BAD_INPUT, "reductions are ", r.reductions, "; wanted a sum of lw_reduction");
    }
    const int64_t pooled = int64_t{reduction_count(r.reductions)} * model.width;
    if (heads && r.pooled && heads->inputs() != pooled)
        fail(LW_BAD_INPUT, "the heads expect ", heads->inputs(), " numbers, and the reductions have ", pooled);
}

// Splits tokens into equal shares; a sentence belongs to the share that contains its middle. The number of shares is
// a multiple of the threads, so that no thread is idle while another computes a last chunk.
std::vector<Span> cut(const Model& model, const lw_request& r) {
    const bool words = sums_words(model, r);
    const int usual = words ? CHUNK_OF_WORDS : model.scheme.weight_bytes == 1 ? USUAL_CHUNK_OF_BYTES : USUAL_CHUNK;
    const int64_t most = r.chunk_tokens ? r.chunk_tokens : usual, least = words ? CHUNK_OF_WORDS : LEAST_CHUNK;
    const int64_t threads = std::min<int64_t>(r.threads, std::max<int64_t>(1, (r.tokens + least - 1) / least));
    const int64_t shares = ((r.tokens + most - 1) / most + threads - 1) / threads * threads;
    std::vector<Span> spans;
    int64_t token = 0, last = -1;
    for (int64_t i = 0; i < r.sentences; i++) {
        const int64_t share = (2 * token + r.lengths[i]) * shares / (2 * r.tokens);
        if (share != last) spans.push_back({i, 0, token, 0});
        spans.back().sentences++;
        spans.back().tokens += r.lengths[i];
        token += r.lengths[i];
        last = share;
    }
    return spans;
}

void take_chunks(const Model& model, const lw_request& r, const Heads* heads, const std::vector<Span>& spans,
                 SharedWork& shared, Team& team) noexcept {
    try {
        Stopwatch watch(r.seconds != nullptr);
        std::unique_ptr<Workspace> work = model.borrow();
        const auto count = static_cast<int64_t>(spans.size());
        for (int64_t i = shared.next++; i < count; i = shared.next++) {
            Chunk(model, r, heads, spans[i], *work, watch, team).run();
        }
        model.give_back(std::move(work));
        const std::lock_guard<std::mutex> lock(shared.guard);
        for (int kind = 0; r.seconds && kind < LW_KINDS; kind++) r.seconds[kind] += watch.seconds[kind];
    } catch (...) {
        shared.fail(static_cast<int64_t>(spans.size()));
    }
}

// The size in bytes of the weights that tokens are multiplied by.
int64_t multiplied_bytes(const Model& model, const lw_request& r) {
    int64_t of_a_token = 0;
    for (int i = 0; i < r.last_layer; i++) {
        const Block& block = model.blocks[model.order[i]];
        for (const Weights* weights : {&block.qkv, &block.out, &block.up, &block.down})
            of_a_token += int64_t{weights->packed().inputs} * weights->packed().outputs;
    }
    return r.tokens * of_a_token * model.scheme.weight_bytes;
}

// The number of threads that compute each chunk together: several if there are fewer chunks than threads and it pays
// off, or if the caller set the chunk size.
int together(const Model& model, const lw_request& r, int64_t chunks) {
    if (chunks >= r.threads) return 1;
    const int64_t worth = r.chunk_tokens ? r.threads : multiplied_bytes(model, r) / WORTH_A_THREAD;
    const int64_t threads = std::min<int64_t>({r.threads, MOST_TOGETHER, worth});
    return threads > chunks ? static_cast<int>(threads) : 1;
}

void take_together(const Model& model, const lw_request& r, const Heads* heads, const std::vector<Span>& spans,
                   SharedWork& shared, int threads) {
    Team team(threads);
    const auto leader = std::this_thread::get_id();
    const auto pool = [&]() -> Pool& { return model.pool(); };
    shared.run(pool, threads, [&] {
        if (std::this_thread::get_id() != leader) return team.help();
        take_chunks(model, r, heads, spans, shared, team);
        team.dismiss();
    });
}

}  // namespace

void run(const Model& model, const lw_request& r, const Heads* heads) {
    check_request(model, r, heads);
    check_lengths(model, r);
    check_tokens(model, r);
    const std::vector<Span> spans = cut(model, r);
    SharedWork shared;
    if (const int threads = together(model, r, static_cast<int64_t>(spans.size())); threads > 1)
        return take_together(model, r, heads, spans, shared, threads);
    const auto pool = [&]() -> Pool& { return model.pool(); };
    shared.run(pool, std::min<int64_t>(r.threads, spans.size()), [&] {
        Team alone(1);
        take_chunks(model, r, heads, spans, shared, alone);
    });
}

}  // namespace likewise
