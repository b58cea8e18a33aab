// The counterpart of likewise/model_files/folder.py and module_registry.py in Python, with the same checks.
#include "folder.h"

#include <cmath>

#include "failure.h"

namespace likewise {
namespace {

using json::Kind;
using json::Value;

constexpr double UNLIMITED = 1 << 30;  // limits above this mean no limit: transformers writes 10^30
constexpr int32_t LARGEST_WIDTH = 1'000'000;
constexpr size_t MOST_MODULES = 100;

struct Module {
    std::string kind, folder;
};

struct Name {
    std::string_view name;
    int32_t number;
};

template <size_t COUNT>
int32_t number_of(const Name (&names)[COUNT], std::string_view name, const std::string& where) {
    std::string known;
    for (const Name& one : names) {
        if (one.name == name) return one.number;
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    refuse(where, " names '", name, "'; supported are ", known);
}

constexpr Name FLAGS[] = {{"pooling_mode_cls_token", LW_CLS},
                          {"pooling_mode_max_tokens", LW_MAX},
                          {"pooling_mode_mean_tokens", LW_MEAN},
                          {"pooling_mode_mean_sqrt_len_tokens", LW_MEAN_SQRT_LEN},
                          {"pooling_mode_weightedmean_tokens", LW_WEIGHTED_MEAN},
                          {"pooling_mode_lasttoken", LW_LAST}};
constexpr Name MODES[] = {{"cls", LW_CLS},
                          {"max", LW_MAX},
                          {"mean", LW_MEAN},
                          {"mean_sqrt_len_tokens", LW_MEAN_SQRT_LEN},
                          {"weightedmean", LW_WEIGHTED_MEAN},
                          {"lasttoken", LW_LAST}};
constexpr Name HEADS[] = {{"Dense", LW_DENSE}, {"LayerNorm", LW_LAYER_NORM}, {"Normalize", LW_NORMALIZE}};
constexpr Name ACTIVATIONS[] = {
    {"GELU", LW_GELU}, {"ReLU", LW_RELU}, {"Tanh", LW_TANH}, {"Sigmoid", LW_SIGMOID}, {"Identity", LW_IDENTITY}};
constexpr Name SIMILARITIES[] = {{"cosine", 0}, {"dot", 1}, {"euclidean", 2}, {"manhattan", 3}};

std::string_view last_part(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// A module's folder, which must be inside the model folder.
std::string folder_of(std::string path) {
    for (char& c : path)
        if (c == '\\') c = '/';
    const bool outside = path.find('\0') != std::string::npos || path.find(':') != std::string::npos ||
                         (!path.empty() && path.front() == '/') || ("/" + path + "/").find("/../") != std::string::npos;
    if (outside) refuse("modules.json points to '", path.c_str(), "', which lies outside the folder");
    return path.empty() || path.back() == '/' ? path : path + "/";
}

std::vector<Module> modules_of(const Value& list) {
    std::vector<Module> modules;
    for (const Value one : list) {
        if (one.kind() != Kind::OBJECT || modules.size() == MOST_MODULES)
            refuse("modules.json is not a list of up to ", MOST_MODULES, " modules with a path and a type each");
        const std::string_view type = one.text_of("type");
        const bool own = type.substr(0, 9) == "likewise.";
        modules.push_back({std::string(own ? type : last_part(type)), folder_of(std::string(one.text_of("path")))});
    }
    return modules;
}

const json::Document& required(Files& files, const std::string& name) {
    const json::Document* found = files.object(name);
    if (!found) refuse(name, " is missing; the folder may be half a download: fetch it again");
    return *found;
}

int32_t size_of(const Value& config, const char* key, const std::string& path) {
    const Value found = config.member(key);
    const double value = found.kind() == Kind::NUMBER ? found.number(key) : 0;
    if (!(value >= 1 && value <= LARGEST_WIDTH) || value != std::floor(value))
        refuse(path, " must give ", key, " as a whole number from 1 to ", LARGEST_WIDTH);
    return static_cast<int32_t>(value);
}

int32_t newer_pooling(const Value& mode, const std::string& path) {
    if (mode.kind() == Kind::TEXT) return number_of(MODES, mode.text("pooling_mode"), path);
    int32_t found = 0;
    for (const Value one : mode) {
        const int32_t next = number_of(MODES, one.text("pooling_mode"), path);
        if (next <= found) refuse(path, " lists its poolings twice, or not in the order in which they are computed here");
        found |= next;
    }
    if (!found) refuse(path, " has a pooling_mode that is neither a name nor a list of names");
    return found;
}

int32_t older_pooling(const Value& config, const std::string& path) {
    int32_t found = 0;
    for (auto at = config.begin(); at != config.end(); ++at) {
        const std::string_view key = (*at).text("a name");
        const Value value = *++at;
        if (key.substr(0, 12) != "pooling_mode" || key == "pooling_mode") continue;
        const int32_t reduction = number_of(FLAGS, key, path);
        if (!value.is_null() && value.boolean("a flag of a pooling")) found |= reduction;
    }
    if (!found) refuse(path, " names no pooling");
    return found;
}

void read_pooling(Files& files, const Module& module, Folder& folder) {
    if (module.kind != "Pooling") refuse("the pooling is of the kind ", module.kind, ", which only likewise for Python computes");
    const std::string path = module.folder + "config.json";
    const Value config = required(files, path).root(), newer = config.member("pooling_mode");
    folder.reductions = newer.is_null() ? older_pooling(config, path) : newer_pooling(newer, path);
    folder.include_prompt = config.flag("include_prompt", true);
}

// Rejects dense heads that do more than map a vector, for which results would be wrong.
void check_plain(const Value& config, const std::string& path) {
    if (config.flag("use_residual", false)) refuse(path, " sets use_residual, which is not supported");
    for (const char* key : {"module_input_name", "module_output_name"}) {
        const Value name = config.member(key);
        if (!name.is_null() && name.text(key) != "sentence_embedding") refuse(path, " sets ", key, ", which is not supported");
    }
}

HeadPart read_head(Files& files, const Module& module) {
    HeadPart head;
    head.kind = number_of(HEADS, module.kind, "modules.json");
    head.folder = module.folder;
    const std::string path = module.folder + "config.json";
    if (head.kind == LW_NORMALIZE) return head;
    const Value config = required(files, path).root();
    if (head.kind == LW_LAYER_NORM) {
        head.inputs = head.outputs = size_of(config, "dimension", path);
        return head;
    }
    check_plain(config, path);
    const Value activation = config.member("activation_function");
    const std::string_view named = activation.is_null() ? "torch.nn.Tanh" : activation.text("activation_function");
    if (named.find('.') != std::string_view::npos && named.substr(0, 6) != "torch.") refuse(path, " names the activation '", named, "', which is not one of torch's");
    head.activation = number_of(ACTIVATIONS, last_part(named), path);
    head.inputs = size_of(config, "in_features", path);
    head.outputs = size_of(config, "out_features", path);
    head.bias = config.flag("bias", true);
    return head;
}

void read_prompts(Files& files, Folder& folder) {
    const json::Document* spoken = files.object("config_sentence_transformers.json");
    if (!spoken) return;
    const Value root = spoken->root(), prompts = root.member("prompts"), chosen = root.member("default_prompt_name");
    const Value type = root.member("model_type"), similarity = root.member("similarity_fn_name");
    if (type.kind() == Kind::TEXT && type.text("model_type") == "CrossEncoder")
        refuse("the folder holds a reranker, which gives scores instead of vectors; expected an embedding model");
    if (!similarity.is_null()) number_of(SIMILARITIES, similarity.text("similarity_fn_name"), "config_sentence_transformers.json");
    if (!prompts.is_null() && prompts.kind() != Kind::OBJECT) refuse("config_sentence_transformers.json holds prompts that are not texts");
    for (auto at = prompts.begin(); at != prompts.end(); ++at) {
        const std::string name((*at).text("a name"));
        folder.prompts[name] = (*++at).text("a prompt");
    }
    if (!chosen.is_null()) folder.default_prompt = chosen.text("default_prompt_name");
    if (!chosen.is_null() && !folder.prompts.count(folder.default_prompt))
        refuse("config_sentence_transformers.json names the default prompt '", folder.default_prompt, "', which it lacks");
}

int32_t limit_of(const Value& value, const std::string& path) {
    if (value.is_null()) return 0;
    const double limit = value.number(path.c_str());
    if (limit >= UNLIMITED) return 0;
    if (!(limit >= 1) || limit != std::floor(limit)) refuse(path, " gives a limit of tokens that is not a whole number above 0");
    return static_cast<int32_t>(limit);
}

void read_limits(Files& files, Folder& folder) {
    const char* kinds[] = {"bert", "roberta", "distilbert", "camembert", "albert", "xlnet", "xlm-roberta"};
    for (const char* kind : kinds) {  // versions of sentence-transformers named the file by the kind of encoder
        const std::string path = folder.encoder + "sentence_" + kind + "_config.json";
        const json::Document* older = files.object(path);
        if (!older || !(older->root().begin() != older->root().end())) continue;
        if (older->root().flag("do_lower_case", false)) refuse(path, " sets do_lower_case, which is not supported");
        folder.max_seq_length = limit_of(older->root().member("max_seq_length"), path);
        break;
    }
    const std::string path = folder.encoder + "tokenizer_config.json";
    const json::Document* newer = files.object(path);
    const int32_t limit = newer ? limit_of(newer->root().member("model_max_length"), path) : 0;
    if (!folder.max_seq_length) folder.max_seq_length = limit;
}

void add_special(const Value& pair, std::vector<int32_t>& to) {
    auto at = pair.begin();
    if (pair.kind() != Kind::ARRAY || !(at != pair.end()) || !(++at != pair.end())) refuse("the post_processor in tokenizer.json is broken");
    to.push_back((*at).integer("the id of a special token"));
}

void add_template(const Value& processor, Frame& frame) {
    int32_t texts = 0;
    for (const Value piece : processor.member("single")) {
        if (!piece.member("Sequence").is_null()) {
            texts++;
            continue;
        }
        const std::string_view name = piece.member("SpecialToken").text_of("id");
        const Value special = processor.member("special_tokens").member(name);
        if (special.is_null()) refuse("the template in tokenizer.json lacks the special token ", name);
        for (const Value id : special.member("ids"))
            (texts ? frame.suffix : frame.prefix).push_back(id.integer("the id of a special token"));
    }
    if (texts != 1) refuse("the template in tokenizer.json holds the text ", texts, " times; expected once");
}

void add_specials(const Value& processor, Frame& frame, int depth) {
    if (processor.is_null()) return;
    const std::string_view type = processor.text_of("type");
    const bool pair = type == "BertProcessing" || type == "RobertaProcessing";
    if ((pair || type == "TemplateProcessing") && !(frame.prefix.empty() && frame.suffix.empty()))
        refuse("the post_processor in tokenizer.json adds special tokens twice, which is not supported");
    if (pair) {
        add_special(processor.member("cls"), frame.prefix);
        add_special(processor.member("sep"), frame.suffix);
    } else if (type == "TemplateProcessing") {
        add_template(processor, frame);
    } else if (type == "Sequence" && depth < 4) {
        for (const Value one : processor.member("processors")) add_specials(one, frame, depth + 1);
    } else if (type != "ByteLevel") {
        refuse("the post_processor in tokenizer.json is of the kind ", type, ", which is not supported");
    }
}

}  // namespace

Folder read_folder(Files& files) {
    if (files.has(".saving")) refuse("the folder may mix files of two models: a save was interrupted, or is still running");
    Folder folder;
    if (const json::Document* list = files.list("modules.json")) {
        const std::vector<Module> modules = modules_of(list->root());
        if (modules.size() < 2 || modules[0].kind != "Transformer")
            refuse("modules.json begins with ", modules.empty() ? "nothing" : modules[0].kind, "; expected Transformer, Pooling, then heads");
        folder.encoder = modules[0].folder;
        read_pooling(files, modules[1], folder);
        for (size_t i = 2; i < modules.size(); i++)
            if (modules[i].kind != "Dropout") folder.heads.push_back(read_head(files, modules[i]));
        read_prompts(files, folder);
    }
    read_limits(files, folder);
    return folder;
}

Frame read_frame(Files& files, const std::string& folder, const Value& tokenizer) {
    Frame frame;
    add_specials(tokenizer.member("post_processor"), frame, 0);
    if (const json::Document* unknown = files.object(folder + "unknown_words.json")) {
        if (unknown->root().member("buckets").kind() == Kind::NUMBER && unknown->root().member("buckets").integer("buckets"))
            refuse("unknown words are spelled by n-grams, which are not supported");
        frame.skipped = unknown->root().member("id").integer("the id in unknown_words.json");
    }
    return frame;
}

}  // namespace likewise
