#include "case.h"

#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

namespace prosector {

namespace {

using Named = std::map<std::string, std::string>;

template <class T>
T next(std::istream& in) {
    T value{};
    if (!(in >> value)) throw std::invalid_argument("the case's file ends early, or a number in it is none");
    return value;
}

template <class T>
std::vector<T> several(std::istream& in, std::size_t n) {
    std::vector<T> values(n);
    for (T& value : values) value = next<T>(in);
    return values;
}

const std::string& of(const Named& words, const std::string& name) {
    const auto found = words.find(name);
    if (found == words.end()) throw std::invalid_argument("the case lacks the setting " + name);
    return found->second;
}

Settings settings_of(const Named& words) {
    static const std::map<std::string, Activation> activations = {{"relu", Activation::relu},
                                                                  {"gelu", Activation::gelu},
                                                                  {"gelu-tanh", Activation::gelu_tanh},
                                                                  {"swish", Activation::swish}};
    const auto whole = [&](const char* name) { return std::stoi(of(words, name)); };
    const auto real = [&](const char* name) { return float(std::stod(of(words, name))); };
    Settings settings;
    Shape& shape = settings.shape;
    shape.d_model = whole("d_model");
    shape.n_heads = whole("n_heads");
    shape.n_kv_heads = whole("n_kv_heads");
    shape.d_head = whole("d_head");
    shape.d_ff = whole("d_ff");
    shape.pre_norm = whole("pre_norm") != 0;
    shape.activation = activations.at(of(words, "activation"));
    shape.attention_scale = real("attention_scale");
    shape.embedding_scale = real("embedding_scale");
    shape.output_scale = real("output_scale");
    settings.encoder_layers = whole("encoder_layers");
    settings.decoder_layers = whole("decoder_layers");
    settings.rms = whole("rms") != 0;
    settings.interleaved = whole("interleaved") != 0;
    settings.norm_eps = real("norm_eps");
    return settings;
}

Way way_of(std::istream& in) {
    Way way;
    way.name = next<std::string>(in);
    way.how.beam = next<int>(in);
    way.how.alpha = next<double>(in);
    way.how.n_best = next<int>(in);
    way.how.sampling = next<int>(in) != 0;
    way.how.temperature = next<double>(in);
    way.how.top_k = next<int>(in);
    way.how.top_p = next<double>(in);
    way.how.guarded = next<int>(in) != 0;
    return way;
}

Source source_of(std::istream& in) {
    Source source;
    source.longest = next<int>(in);
    source.allowed.words = next<int>(in);
    source.allowed.signs = next<int>(in);
    source.ids = several<int>(in, next<std::size_t>(in));
    source.chances = several<double>(in, std::size_t(source.longest) + 1);
    return source;
}

// Bytes to floats, whichever end this machine begins a number with.
void read_numbers(std::istream& in, std::vector<float>& numbers) {
    static_assert(sizeof(float) == 4, "a float32 has four bytes");
    for (float& number : numbers) {
        unsigned char bytes[4];
        if (!in.read(reinterpret_cast<char*>(bytes), 4)) throw std::invalid_argument("the case's numbers end early");
        std::uint32_t bits = 0;
        for (int i = 0; i < 4; ++i) bits |= std::uint32_t(bytes[i]) << 8 * i;
        std::memcpy(&number, &bits, 4);
    }
}

}  // namespace

Case read_case(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in || next<std::string>(in) != "prosector-case" || next<int>(in) != 1)
        throw std::invalid_argument(path + " is no case that case.py wrote");
    Case found;
    Named words;
    std::vector<std::string> names;
    std::size_t n_numbers = 0;
    for (auto word = next<std::string>(in); word != "data"; word = next<std::string>(in)) {
        if (word == "set") {
            const auto name = next<std::string>(in);
            words[name] = next<std::string>(in);
        } else if (word == "first") {
            found.vocabulary.first = next<int>(in);
        } else if (word == "end") {
            found.vocabulary.ends.push_back(next<int>(in));
        } else if (word == "unwritten") {
            found.vocabulary.unwritten.push_back(next<int>(in));
        } else if (word == "wordiness") {
            for (int each : several<int>(in, next<std::size_t>(in))) found.vocabulary.wordiness.push_back(std::uint8_t(each));
        } else if (word == "array") {
            names.push_back(next<std::string>(in));
            Array& array = found.arrays[names.back()];
            array.shape = several<std::size_t>(in, next<std::size_t>(in));
            n_numbers += array.size();
        } else if (word == "way") {
            found.ways.push_back(way_of(in));
        } else if (word == "source") {
            found.sources.push_back(source_of(in));
        } else {
            throw std::invalid_argument(path + " holds the word " + word + ", which says nothing");
        }
    }
    in.get();  // the line's end
    found.settings = settings_of(words);
    found.numbers.resize(n_numbers);
    read_numbers(in, found.numbers);
    const float* at = found.numbers.data();
    for (const std::string& name : names) {
        found.arrays[name].data = at;
        at += found.arrays[name].size();
    }
    return found;
}

}  // namespace prosector
