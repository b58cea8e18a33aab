// A libFuzzer target. An input's first byte chooses what its other bytes, from the fourth on, stand for:
//   0  a text, read by one of the tokenizers         1  a tokenizer.json
//   2  a file of a model folder; of safetensors the header, in front of the undamaged weights
// The second byte chooses the tokenizer or the file, the third the precision. LIKEWISE_FUZZ holds what fuzz_inputs.py wrote.
#include <cstring>

#include "../files.h"
#include "folders.h"

namespace {

struct Tokens {
    lw_tokens found{};
    int32_t code;
    Tokens(const lw_tokenizer* tokenizer, const std::string& text, int64_t characters, bool spans) {
        char message[1024];
        code = lw_tokenize(tokenizer, text.data(), text.size(), &characters, 1, spans, &found, message, sizeof message);
        if (code == LW_INTERNAL || (code != LW_OK && !*message)) std::abort();
    }
    ~Tokens() { lw_tokens_free(&found); }
};

lw_tokenizer* opened(const std::string& json) {
    char message[1024];
    int32_t code = 0;
    lw_tokenizer* tokenizer = lw_tokenizer_create(json.data(), json.size(), &code, message, sizeof message);
    if (!tokenizer && (code == LW_OK || code == LW_INTERNAL || !*message)) std::abort();
    return tokenizer;
}

// Ids do not depend on whether spans are wanted, and spans lie in the text. What is not UTF-8 is the caller's mistake,
// and must do no harm.
void tokenize(const lw_tokenizer* tokenizer, const std::string& text) {
    int64_t characters = 0;
    for (size_t i = 0; i < text.size(); i++) characters += i == 0 || (text[i] & 0xC0) != 0x80;
    const Tokens bare(tokenizer, text, characters, false), spanned(tokenizer, text, characters, true);
    if (likewise::utf8_until(text) < text.size()) return;
    const auto bytes = sizeof(int32_t) * static_cast<size_t>(bare.found.tokens);
    if (bare.code != spanned.code || bare.found.tokens != spanned.found.tokens) std::abort();
    if (bytes && std::memcmp(bare.found.ids, spanned.found.ids, bytes) != 0) std::abort();
    for (int64_t i = 0; i < spanned.found.tokens; i++) {
        const uint32_t* span = spanned.found.spans + 2 * i;
        if (span[0] > span[1] || span[1] > static_cast<uint64_t>(characters)) std::abort();
    }
}

struct Inputs {
    std::vector<lw_tokenizer*> tokenizers;
    std::vector<std::pair<Files, std::string>> files;  // folders, with the name of each of their files
    explicit Inputs(const std::filesystem::path& root) {
        for (const auto& [name, json] : files_of(root / "tokenizers")) {
            tokenizers.push_back(opened(json));
            if (!tokenizers.back()) std::fprintf(stderr, "%s is refused\n", name.c_str()), std::exit(1);
        }
        std::map<std::string, Files> folders;
        for (const auto& [path, bytes] : files_of(root / "folders"))
            folders[path.substr(0, path.find('/'))][path.substr(path.find('/') + 1)] = bytes;
        for (const auto& [name, folder] : folders) {
            if (!encode(folder, "a cat", LW_AS_FP32)) std::fprintf(stderr, "%s is refused\n", name.c_str()), std::exit(1);
            for (const auto& file : folder) files.emplace_back(folder, file.first);
        }
    }
};

void replace(std::string& file, const std::string& name, const std::string& bytes) {
    uint64_t header = 0;
    const bool weights = name.size() > 12 && name.compare(name.size() - 12, 12, ".safetensors") == 0;
    if (weights) std::memcpy(&header, file.data(), sizeof header);
    file.replace(0, weights ? 8 + header : file.size(), bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Inputs& INPUTS = *new Inputs(std::getenv("LIKEWISE_FUZZ"));  // never freed: tokenizers have no owner
    if (size < 3) return 0;
    const std::string bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
    if (data[0] % 3 == 0) {
        tokenize(INPUTS.tokenizers[data[1] % INPUTS.tokenizers.size()], bytes);
    } else if (data[0] % 3 == 1) {
        lw_tokenizer* tokenizer = opened(bytes);
        for (const char* text : {"", "A cat's 12 na\xc3\xafve  \xe7\x8c\xab\n[CLS]"})
            if (tokenizer) tokenize(tokenizer, text);
        lw_tokenizer_free(tokenizer);
    } else {
        auto [files, name] = INPUTS.files[data[1] % INPUTS.files.size()];
        replace(files[name], name, bytes);
        encode(files, "the cat", data[2] % 3);
    }
    return 0;
}
