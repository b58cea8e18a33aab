// Damages model folders and texts, and opens and encodes them: each must be read or refused, under sanitizers.
//   folders FOLDER [ROUNDS]    reads a folder's files and changes bytes of them at random
// With -DLIKEWISE_FUZZ it is a libFuzzer target instead; the folder comes from the environment's LIKEWISE_FOLDER.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../likewise_native.h"

namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const std::filesystem::path& folder) {
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        files[entry.path().lexically_relative(folder).generic_string()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
}

// Whether the model was opened; ends the program if a vector is not finite although nothing was refused.
bool encode(const Files& files, const std::string& text, int32_t precision) {
    std::vector<lw_file> listed;
    for (const auto& [name, bytes] : files) listed.push_back({name.c_str(), bytes.data(), bytes.size()});
    lw_options options{};
    options.precision = precision;
    char message[1024];
    int32_t code = 0;
    lw_embedder* model = lw_open_memory(listed.data(), static_cast<int32_t>(listed.size()), &options, &code, message, sizeof message);
    if (!model) {
        if (code == LW_OK || code == LW_INTERNAL || !*message) std::abort();
        return false;
    }
    const char* texts[] = {text.data(), "a cat", ""};
    const size_t sizes[] = {text.size(), 5, 0};
    std::vector<float> vectors(3 * static_cast<size_t>(lw_dimension(model)));
    lw_texts request{};
    request.texts = texts;
    request.sizes = sizes;
    request.count = 3;
    request.threads = 2;
    code = lw_encode(model, &request, vectors.data(), nullptr, message, sizeof message);
    if (code == LW_INTERNAL) std::abort();
    for (const float number : vectors)
        if (code == LW_OK && !std::isfinite(number)) std::abort();
    lw_close(model);
    return true;
}

// Some bytes of a text replaced by others, or by pieces that parsers stumble over.
template <class Draw>
void damage(std::string& bytes, Draw draw) {
    static const std::string PIECES[] = {"", "{", "]", "\"", "null", "-1", "1e999", "\\ud800", std::string(1, '\0'), "\xff\xfe", "[[[[[[[[", "99999999999"};
    const size_t most = draw(4) ? std::min<size_t>(bytes.size(), 4096) : bytes.size();  // most is decided in the first bytes
    const size_t at = draw(most + 1), gone = draw(2) ? draw(std::min<size_t>(bytes.size() - at, 8) + 1) : 0;
    bytes.replace(at, gone, draw(2) ? PIECES[draw(std::size(PIECES))] : std::string(1 + draw(3), static_cast<char>(draw(256))));
    if (draw(16) == 0) bytes.resize(draw(bytes.size() + 1));
}

}  // namespace

#if defined(LIKEWISE_FUZZ)
// The first byte chooses what is damaged: a file, by the bytes that follow, or the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Files FILES = files_of(std::getenv("LIKEWISE_FOLDER"));
    Files files = FILES;
    std::string text = "the quick cat";
    if (size < 4) return 0;
    const size_t which = data[0] % (files.size() + 1), at = data[1] | data[2] << 8U;
    std::string& bytes = which < files.size() ? std::next(files.begin(), static_cast<long>(which))->second : text;
    bytes.replace(at % (bytes.size() + 1), data[3], reinterpret_cast<const char*>(data) + 4, size - 4);
    encode(files, text, data[3] % 3);
    return 0;
}
#else
int main(int count, char** arguments) {
    if (count < 2) return std::fprintf(stderr, "usage: folders FOLDER [ROUNDS]\n"), 2;
    const Files files = files_of(arguments[1]);
    const int rounds = count > 2 ? std::atoi(arguments[2]) : 1000;
    std::mt19937 generator(1);
    const auto draw = [&](size_t below) { return below ? generator() % below : 0; };
    if (!encode(files, "the cat", LW_AS_FP32)) return std::fprintf(stderr, "%s cannot be opened undamaged\n", arguments[1]), 1;
    int opened = 0;
    for (int i = 0; i < rounds; i++) {
        Files damaged = files;
        std::string text = "the quick \xe7\x8c\xab cat";
        if (draw(4) == 0) {
            damage(text, draw);
        } else {
            auto file = std::next(damaged.begin(), static_cast<long>(draw(damaged.size())));
            damage(file->second, draw);
            if (draw(32) == 0) damaged.erase(file);
        }
        opened += encode(damaged, text, static_cast<int32_t>(draw(3)));
    }
    std::printf("%d damaged folders and texts: %d could be opened, the others were refused\n", rounds, opened);
    return 0;
}
#endif
