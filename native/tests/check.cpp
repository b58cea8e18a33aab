// Holds every instruction set of this processor to the portable kernels' bits: products, norms, activations, attention.
// Run as it is, under sanitizers, and under an emulator of another processor (`make -C native check`).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "../kernels.h"
#include "../pack.h"
#include "../scan.h"
#include "../text/tokenizer.h"
#include "synthetic.h"

using namespace likewise;
using Vector = std::vector<float>;

namespace {

int failures = 0;
std::mt19937 generator(1);

Vector drawn(size_t count, float deviation = 1.0F) {
    std::normal_distribution<float> normal(0.0F, deviation);
    Vector x(count);
    for (float& value : x) value = normal(generator);
    return x;
}

Vector whole(size_t count) {
    std::uniform_int_distribution<int> uniform(-127, 127);
    Vector x(count);
    for (float& value : x) value = static_cast<float>(uniform(generator));
    return x;
}

void expect_equal(const std::string& what, const Vector& found, const Vector& wanted) {
    if (found.size() == wanted.size() && std::memcmp(found.data(), wanted.data(), wanted.size() * 4) == 0) return;
    failures++;
    float most = 0.0F;
    for (size_t i = 0; i < wanted.size(); i++) {
        const float error = std::fabs(found[i] - wanted[i]);
        most = error >= most || std::isnan(error) ? error : most;
    }
    std::printf("%s: off by %g\n", what.c_str(), static_cast<double>(most));
}

struct Sizes {
    int rows, outputs, inputs;
};

Vector product(const Kernels& kernels, int precision, Sizes s, const Vector& a, const Vector& b, const Vector& bias,
               bool adds) {
    const size_t count = static_cast<size_t>(s.rows) * s.outputs;
    const Vector residual(count, 0.5F);
    Vector y(count);
    char message[200];
    if (lw_product(kernels.name, precision, a.data(), b.data(), bias.data(), adds ? residual.data() : nullptr, s.rows,
                   s.outputs, s.inputs, y.data(), message, sizeof message) != LW_OK) {
        failures++;
        std::printf("%s: %s\n", kernels.name, message);
    }
    return y;
}

void check_products(const Kernels& kernels, const Kernels& truth) {
    for (const int rows : {1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 17, 30}) {
        for (const auto& [outputs, inputs] :
             {std::pair{1, 1}, {3, 5}, {16, 16}, {33, 20}, {48, 64}, {100, 129}, {257, 31}}) {
            const Sizes s = {rows, outputs, inputs};
            std::ostringstream name;
            name << kernels.name << " product " << rows << " x " << outputs << " x " << inputs << " ";
            const bool adds = rows % 2 == 0;
            const Vector a = drawn(rows * inputs), b = drawn(outputs * inputs), bias = drawn(outputs);
            const Vector m = whole(rows * inputs), n = whole(outputs * inputs);
            const auto check = [&](const char* what, int precision, const Vector& x, const Vector& w) {
                expect_equal(name.str() + what, product(kernels, precision, s, x, w, bias, adds),
                             product(truth, precision, s, x, w, bias, adds));
            };
            check("fp32", LW_AS_FP32, a, b);
            check("bf16", LW_AS_BF16, a, b);
            check("int8", LW_AS_INT8, m, n);
        }
    }
    const Sizes s = {7, 40, 1000};  // large enough to saturate, if anything does
    for (const float sign : {1.0F, -1.0F}) {
        const Vector a(7 * 1000, 127.0F), b(40 * 1000, 127.0F * sign), bias(40);
        expect_equal(std::string(kernels.name) + " extremes", product(kernels, LW_AS_INT8, s, a, b, bias, false),
                     product(truth, LW_AS_INT8, s, a, b, bias, false));
    }
}

// Bytes of any scheme, minus its offset, and their scale.
Vector quantised(const Kernels& kernels, const Vector& x, float largest) {
    const Scheme& scheme = kernels.int8;
    std::vector<uint8_t> rounded(x.size() * scheme.row_bytes);
    Vector found(x.size() + 1);
    scheme.prepare(x.data(), static_cast<int>(x.size()), largest, rounded.data(), &found.back());
    for (size_t i = 0; i < x.size(); i++) {
        int16_t half;
        std::memcpy(&half, rounded.data() + i * scheme.row_bytes, scheme.row_bytes);
        const int byte = scheme.offset ? rounded[i] : static_cast<int8_t>(rounded[i]);
        found[i] = static_cast<float>(scheme.row_bytes == 2 ? half : byte - scheme.offset);
    }
    return found;
}

void check_activations(const std::string& name, const Kernels& kernels, const Kernels& truth, const Vector& x) {
    const Vector gate = drawn(x.size());
    const int count = static_cast<int>(x.size());
    for (int kind = 0; kind <= static_cast<int>(Activation::rough_gelu); kind++) {
        const auto activation = static_cast<Activation>(kind);
        Vector y = x, z = x, v = x, w = x;
        y.push_back(kernels.activate(y.data(), count, activation));
        z.push_back(truth.activate(z.data(), count, activation));
        expect_equal(name + "activation " + std::to_string(kind), y, z);
        v.push_back(kernels.gate(v.data(), gate.data(), count, activation));
        w.push_back(truth.gate(w.data(), gate.data(), count, activation));
        expect_equal(name + "gate " + std::to_string(kind), v, w);
    }
}

void check_rows(const Kernels& kernels, const Kernels& truth) {
    for (const int width : {1, 7, 16, 20, 32, 60, 64, 100, 384, 1000}) {
        const int stride = padded(width);
        Vector x = drawn(width, 3.0F), weight = drawn(width), bias = drawn(width);
        for (Vector* v : {&x, &weight, &bias}) v->resize(stride, 0.0F);
        const std::string name = std::string(kernels.name) + " width " + std::to_string(width) + " ";
        const auto normed = [&](const Kernels& kernels) {
            Vector out(stride);
            out.push_back(
                kernels.layer_norm(x.data(), out.data(), width, stride, weight.data(), bias.data(), 1e-5F));
            return out;
        };
        expect_equal(name + "layer norm", normed(kernels), normed(truth));
        const auto scaled = [&](const Kernels& kernels) {
            Vector out(stride);
            out.push_back(kernels.rms_norm(x.data(), out.data(), width, stride, weight.data(), 1e-6F));
            return out;
        };
        expect_equal(name + "rms norm", scaled(kernels), scaled(truth));
        const float most = kernels.largest(x.data(), stride);
        expect_equal(name + "largest", {most}, {truth.largest(x.data(), stride)});
        expect_equal(name + "squares", {kernels.scan.squares(x.data(), width)}, {truth.scan.squares(x.data(), width)});
        expect_equal(name + "bytes", quantised(kernels, x, most), quantised(truth, x, most));
        check_activations(name, kernels, truth, x);
    }
    check_activations(std::string(kernels.name) + " far ", kernels, truth,
                      {-1e30F, -200.0F, -90.0F, -30.0F, -5.7F, -1e-6F, 0.0F, 1e-6F, 5.7F, 30.0F, 80.0F, 90.0F, 200.0F,
                       1e4F, 1e10F, -1e10F});
    check_activations(std::string(kernels.name) + " many ", kernels, truth, drawn(1 << 16, 20.0F));
    const Vector tiny(64, 1e-38F);
    expect_equal(std::string(kernels.name) + " tiny", quantised(kernels, tiny, 1e-38F), quantised(truth, tiny, 1e-38F));
}

constexpr int LIMIT = 800;  // tokens

Vector attention(void (*attend)(const Attention&), int tokens, int heads, int width, int group, int reach, bool causal,
                 const Vector& joined, const Vector* relative) {
    const int all = padded(heads * width), before = reach < 0 ? EVERY : reach;
    Vector out(static_cast<size_t>(tokens) * all, 7.0F), work(attention_work(tokens, width));
    attend({joined.data(), joined.data() + all, joined.data() + 2 * all, 3L * all, tokens, heads, width, group, before,
            causal ? 0 : before, std::sqrt(static_cast<float>(width)), relative ? relative->data() + LIMIT : nullptr,
            2L * LIMIT, -1, out.data(), all, work.data()});
    return out;
}

// A bias for each pair of tokens, as of disentangled attention, and scores that are not divided.
Vector paired_attention(void (*attend)(const Attention&), int tokens, const Vector& joined, const Vector& bias) {
    constexpr int HEADS = 2, WIDTH = 32, ALL = HEADS * WIDTH;
    const long key_step = padded(tokens) + 16L;
    Vector out(static_cast<size_t>(tokens) * ALL, 7.0F), work(attention_work(tokens, WIDTH));
    attend({joined.data(), joined.data() + ALL, joined.data() + 2 * ALL, 3L * ALL, tokens, HEADS, WIDTH, 1, EVERY, EVERY, 1.0F,
            bias.data(), tokens * key_step, key_step, out.data(), ALL, work.data()});
    return out;
}

void check_attention(const Kernels& kernels, const Kernels& truth) {
    for (const int tokens : {1, 5, 16, 33, 77, 300}) {
        const Vector joined = drawn((tokens + 16L) * 3 * 64 + 16, 0.5F), bias = drawn(2L * tokens * (padded(tokens) + 16));
        for (const auto kind : {&Kernels::attend, &Kernels::attend_rounded}) {
            expect_equal(std::string(kernels.name) + " attention with a bias for each pair of " + std::to_string(tokens),
                         paired_attention(kernels.*kind, tokens, joined, bias),
                         paired_attention(truth.*kind, tokens, joined, bias));
        }
    }
    for (const int tokens : {1, 2, 5, 8, 9, 14, 16, 17, 31, 33, 64, 77, 300, 777}) {
        for (const auto& [heads, width] : {std::pair{2, 32}, {3, 64}, {4, 8}, {2, 5}, {1, 20}, {2, 48}}) {
            if (tokens > 300 && width != 32) continue;
            const int group = tokens % 3 ? 1 : heads;
            for (const int reach : {-1, 0, 3, 20, 200}) {
                const Vector joined = drawn((tokens + 16L) * 3 * padded(heads * width) + 16);
                const Vector relative = drawn(2 * LIMIT * heads + 16);
                const Vector* added = tokens % 2 ? &relative : nullptr;
                std::ostringstream name;
                name << kernels.name << " attention of " << tokens << ", heads " << heads << " x " << width
                     << ", groups of " << group << ", reach " << reach;
                const auto check = [&, heads = heads, width = width](const char* what, auto kind) {
                    for (const bool causal : {false, true})
                        expect_equal(name.str() + what + (causal ? ", causal" : ""),
                                     attention(kernels.*kind, tokens, heads, width, group, reach, causal, joined, added),
                                     attention(truth.*kind, tokens, heads, width, group, reach, causal, joined, added));
                };
                check("", &Kernels::attend);
                check(", rounded", &Kernels::attend_rounded);
            }
        }
    }
}

// Scores of all queries and rows: k is the number of rows, so none is left out.
Vector scores(const Kernels& kernels, lw_scan scan, int threads) {
    scan.threads = threads;
    std::vector<int64_t> counts(scan.queries), rows(scan.queries * scan.rows);
    Vector best(rows.size()), found(rows.size());
    scan_best(kernels, scan, {nullptr, 0, scan.rows, counts.data(), rows.data(), best.data()});
    for (size_t i = 0; i < rows.size(); i++) found[i / scan.rows * scan.rows + rows[i]] = best[i];
    return found;
}

// A search above the median score must find as many pairs as there are, and the best row of each query must be right.
void check_selection(const std::string& name, const Kernels& kernels, lw_scan scan, const Vector& all) {
    Vector sorted = all;
    std::sort(sorted.begin(), sorted.end());
    const float threshold = sorted[sorted.size() / 2];
    const auto wanted = std::count_if(all.begin(), all.end(), [&](float score) { return score >= threshold; });
    std::vector<int64_t> queries(all.size()), rows(all.size()), counts(scan.queries), first(scan.queries);
    Vector kept(all.size()), most(scan.queries), best(scan.queries);
    scan.threads = 2;
    const int64_t room = static_cast<int64_t>(all.size());
    const int64_t found =
        scan_above(kernels, scan, {threshold, 0, 0, room, queries.data(), rows.data(), kept.data(), 0});
    expect_equal(name + " above", {static_cast<float>(found)}, {static_cast<float>(wanted)});
    scan_best(kernels, scan, {nullptr, 0, 1, counts.data(), first.data(), best.data()});
    for (int64_t q = 0; q < scan.queries; q++)
        most[q] = *std::max_element(all.begin() + q * scan.rows, all.begin() + (q + 1) * scan.rows);
    expect_equal(name + " best", best, most);
}

void check_scan(const std::string& name, const Kernels& kernels, const Kernels& truth, const lw_scan& scan) {
    const Vector found = scores(kernels, scan, 1);
    expect_equal(name, found, scores(truth, scan, 1));
    expect_equal(name + ", threads", scores(kernels, scan, 3), found);
    check_selection(name, kernels, scan, found);
}

void check_scans(const Kernels& kernels, const Kernels& truth) {
    for (const auto& [queries, rows, width] :
         {Sizes{1, 1, 1}, {2, 5, 7}, {1, 20, 64}, {3, 13, 130}, {4, 20, 388}, {9, 60, 16}, {17, 49, 33}, {40, 130, 100}, {70, 30, 384}}) {
        std::ostringstream name;
        name << kernels.name << " scan " << queries << " x " << rows << " x " << width << " ";
        const Vector q = drawn(queries * width), x = drawn(rows * width), scales = drawn(rows),
                     factors = drawn(queries);
        lw_scan scan{};
        scan.queries = queries;
        scan.rows = rows;
        scan.width = width;
        scan.near = 2.0F;
        scan.corpus = x.data();
        scan.query_vectors = q.data();
        scan.row_bytes = 4L * width;
        scan.type = LW_FP32;
        check_scan(name.str() + "fp32", kernels, truth, scan);
        const Vector m = whole(queries * width), n = whole(rows * width);
        const std::vector<int8_t> a(m.begin(), m.end()), b(n.begin(), n.end());
        scan.corpus = b.data();
        scan.query_vectors = a.data();
        scan.row_bytes = width;
        scan.type = LW_INT8;
        scan.scales = scales.data();
        scan.query_scales = factors.data();
        check_scan(name.str() + "int8", kernels, truth, scan);
        scan.scales = scan.query_scales = nullptr;
        scan.row_bytes = (width + 7) / 8;
        scan.type = LW_BITS;
        scan.width = (width + 7) / 8 * 8;  // whole bytes: bits behind the width would have to be 0
        check_scan(name.str() + "bits", kernels, truth, scan);
    }
    std::vector<uint16_t> halves(1 << 16);
    for (size_t i = 0; i < halves.size(); i++) halves[i] = (i >> 10 & 31) == 31 ? 0 : static_cast<uint16_t>(i);
    Vector found(halves.size()), wanted(halves.size());
    kernels.scan.from_fp16(halves.data(), static_cast<int>(halves.size()), found.data());
    truth.scan.from_fp16(halves.data(), static_cast<int>(halves.size()), wanted.data());
    expect_equal(std::string(kernels.name) + " halves", found, wanted);
}

void check_words(const Kernels& kernels, const Kernels& truth) {
    constexpr int ROWS = 50;
    for (const int width : {16, 17, 31, 40, 100, 288, 300, 512, 600}) {
        const Vector floats = drawn(ROWS * width), scales = drawn(ROWS), numbers = whole(ROWS * width);
        const std::vector<int8_t> bytes(numbers.begin(), numbers.end());
        std::vector<int32_t> ids(60);
        for (int32_t& id : ids) id = static_cast<int32_t>(generator() % ROWS);
        for (const long count : {1, 2, 7, 60}) {
            const auto sum = [&](const Kernels& kernels, const void* words, const float* factors) {
                Vector out(width);
                kernels.sum_words({words, factors, width, ids.data(), count, 60, static_cast<float>(count), out.data()});
                return out;
            };
            const std::string name = std::string(kernels.name) + " words " + std::to_string(count) + " x " + std::to_string(width);
            expect_equal(name, sum(kernels, floats.data(), nullptr), sum(truth, floats.data(), nullptr));
            expect_equal(name + ", bytes", sum(kernels, bytes.data(), scales.data()), sum(truth, bytes.data(), scales.data()));
        }
    }
}

// Whole models, through the C interface.
void check_hashes(const Kernels& kernels) {
    for (int precision = LW_AS_FP32; precision <= LW_AS_INT8; precision++) {
        for (const int threads : {1, 3}) {
            const uint64_t found = synthetic::hash(kernels.name, precision, threads);
            const uint64_t wanted = synthetic::HASHES[precision];
            if (found == wanted) continue;
            failures++;
            std::printf("%s: the models' hash in precision %d on %d threads is 0x%016llx, wanted 0x%016llx\n", kernels.name,
                        precision, threads, static_cast<unsigned long long>(found),
                        static_cast<unsigned long long>(wanted));
        }
    }
}

// A forked process inherits the locks that other threads hold, but not the threads that would release them.
void check_forks() {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)  // whose allocator has locks of its own
    const text::Tokenizer tokenizer(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})");
    const auto encode = [&] {
        text::Tokens tokens;
        tokenizer.encode("", 0, nullptr, 0, false, tokens);
    };
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            while (!stop) encode();
        });
    int status = 0;
    for (int i = 0; i < 100 && status == 0; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            encode();
            _exit(0);
        }
        waitpid(child, &status, 0);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    if (status == 0) return;
    failures++;
    std::printf("a tokenizer hangs in a forked process\n");
#endif
}

}  // namespace

int main() {
    const Kernels& truth = kernels_named("portable");
    std::istringstream names(kernels_here());
    for (std::string name; names >> name;) {
        const Kernels& kernels = kernels_named(name.c_str());
        check_products(kernels, truth);
        check_rows(kernels, truth);
        check_attention(kernels, truth);
        check_scans(kernels, truth);
        check_words(kernels, truth);
        check_hashes(kernels);
        std::printf("%s: checked\n", name.c_str());
    }
    check_forks();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
