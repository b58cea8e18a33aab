// A model folder as written by sentence-transformers and likewise: the contents of modules.json and related files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "files.h"
#include "likewise_native.h"

namespace likewise {

// A head as described by its folder.
struct HeadPart {
    int32_t kind = LW_NORMALIZE, activation = LW_IDENTITY;
    int64_t inputs = 0, outputs = 0;
    bool bias = false;
    std::string folder;
};

struct Folder {
    std::string encoder;  // its location; like every folder name here, empty or ending in a slash
    int32_t reductions = LW_MEAN;
    bool include_prompt = true;
    std::vector<HeadPart> heads;
    std::map<std::string, std::string> prompts;
    std::string default_prompt;
    int32_t max_seq_length = 0;  // 0: not set
};

// The special tokens around a text, and how unknown words are handled.
struct Frame {
    std::vector<int32_t> prefix, suffix;
    int32_t skipped = -1;  // the id of a token that is dropped unless a text has no others; -1: none
};

// These throw LW_BAD_DESCRIPTION, whose message names what is invalid or unsupported.
Folder read_folder(Files& files);
Frame read_frame(Files& files, const std::string& folder, const json::Value& tokenizer);

}  // namespace likewise
