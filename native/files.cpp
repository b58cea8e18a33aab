#include "files.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "failure.h"

#if !defined(_WIN32) && !defined(__EMSCRIPTEN__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define LIKEWISE_FOLDERS
#endif

namespace likewise {
namespace {

constexpr uint64_t LARGEST_SMALL = 1U << 28U;  // bytes: a tokenizer.json of 32 MB is the largest in use

class FilesInMemory : public Files {
public:
    FilesInMemory(const lw_file* files, int32_t count) {
        if (count < 0 || (count > 0 && files == nullptr)) refuse("there are no files");
        for (int32_t i = 0; i < count; i++) {
            const lw_file& file = files[i];
            if (file.name == nullptr || (file.bytes == nullptr && file.size > 0))
                refuse("file ", i, " has no name or no bytes");
            const std::string_view bytes(static_cast<const char*>(file.bytes), file.size);
            if (!files_.emplace(file.name, bytes).second) refuse("there are two files ", file.name);
        }
    }

    std::optional<std::string_view> find(const std::string& name, bool) override {
        const auto found = files_.find(name);
        if (found == files_.end()) return std::nullopt;
        return found->second;
    }

private:
    std::map<std::string, std::string_view> files_;
};

#if defined(LIKEWISE_FOLDERS)
// An open file, which must be a regular file: a pipe would block, and a device may never end.
class Descriptor {
public:
    explicit Descriptor(const std::string& path) : path_(path), number_(::open(path.c_str(),
                                                                               O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        struct stat found {};
        if (number_ < 0) {
            if (errno == ENOENT && lstat(path.c_str(), &found) != 0) return;
            refuse(path, " cannot be opened: ", std::strerror(errno));
        }
        if (fstat(number_, &found) != 0 || !S_ISREG(found.st_mode)) {
            ::close(number_);
            refuse(path, " is not a regular file");
        }
        size_ = static_cast<uint64_t>(found.st_size);
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    bool opened() const { return number_ >= 0; }
    uint64_t size() const { return size_; }

    std::string content() const {
        if (size_ > LARGEST_SMALL) refuse(path_, " has ", size_, " bytes; expected at most ", LARGEST_SMALL);
        std::string text(size_, '\0');
        size_t done = 0;
        while (done < text.size()) {
            const ssize_t got = ::read(number_, &text[done], text.size() - done);
            if (got <= 0) refuse(path_, " cannot be read: ", got < 0 ? std::strerror(errno) : "it became shorter");
            done += static_cast<size_t>(got);
        }
        return text;
    }

    void* mapped() const {
        void* found = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, number_, 0);
        if (found == MAP_FAILED) refuse(path_, " cannot be mapped: ", std::strerror(errno));
        return found;
    }

private:
    std::string path_;
    int number_;
    uint64_t size_ = 0;
};

class FilesInFolder : public Files {
public:
    explicit FilesInFolder(const char* folder) : folder_(folder) {
        struct stat found {};
        if (stat(folder, &found) != 0) refuse(folder_, " cannot be opened: ", std::strerror(errno));
        if (!S_ISDIR(found.st_mode)) refuse(folder_, " is not a folder");
    }
    ~FilesInFolder() override {
        for (const auto& [name, bytes] : mapped_) munmap(const_cast<char*>(bytes.data()), bytes.size());
    }
    FilesInFolder(const FilesInFolder&) = delete;
    FilesInFolder& operator=(const FilesInFolder&) = delete;

    std::optional<std::string_view> find(const std::string& name, bool large) override {
        auto& known = large ? mapped_ : copied_;
        if (const auto found = known.find(name); found != known.end()) return found->second;
        const Descriptor file(folder_ + "/" + name);
        if (!file.opened()) return std::nullopt;
        if (file.size() == 0) return std::string_view();
        if (!large) return copied_[name] = contents_.emplace_back(file.content());
        return mapped_[name] = {static_cast<const char*>(file.mapped()), file.size()};
    }

private:
    const std::string folder_;
    std::map<std::string, std::string_view> mapped_, copied_;
    std::deque<std::string> contents_;
};
#endif

}  // namespace

std::unique_ptr<Files> files_of(const lw_file* files, int32_t count) {
    return std::make_unique<FilesInMemory>(files, count);
}

std::unique_ptr<Files> files_in(const char* folder) {
    if (folder == nullptr || *folder == '\0') refuse("no folder is named");
#if defined(LIKEWISE_FOLDERS)
    return std::make_unique<FilesInFolder>(folder);
#else
    refuse("folders are not read on this system; pass the files of ", folder, " to lw_open_memory");
#endif
}

const json::Document* Files::json_of(const std::string& name, json::Kind kind, const char* wanted) {
    const std::optional<std::string_view> source = find(name, false);
    if (!source) return nullptr;
    if (utf8_until(*source) < source->size()) refuse(name, " is not UTF-8 text");
    try {
        const json::Document& found = documents_.emplace_back(*source);
        if (found.root().kind() == kind) return &found;
    } catch (const Failure& failure) {
        fail(static_cast<lw_code>(failure.code), name, ": ", failure.what());
    }
    refuse(name, " does not hold ", wanted);
}

size_t utf8_until(std::string_view text, int64_t* characters) {
    const auto* const start = reinterpret_cast<const unsigned char*>(text.data());
    const unsigned char *at = start, *const end = start + text.size();
    for (int64_t count = 0; at < end; count++) {
        if (characters) *characters = count + 1;
        if (*at < 0x80) {
            at++;
            continue;
        }
        const int more = *at >= 0xF0 ? 3 : *at >= 0xE0 ? 2 : 1;
        if (*at < 0xC2 || *at > 0xF4 || end - at <= more) return static_cast<size_t>(at - start);
        const unsigned char least = *at == 0xE0 ? 0xA0 : *at == 0xF0 ? 0x90 : 0x80;
        const unsigned char most = *at == 0xED ? 0x9F : *at == 0xF4 ? 0x8F : 0xBF;
        if (at[1] < least || at[1] > most) return static_cast<size_t>(at - start);
        for (int i = 2; i <= more; i++)
            if ((at[i] & 0xC0) != 0x80) return static_cast<size_t>(at - start);
        at += more + 1;
    }
    return text.size();
}

}  // namespace likewise
