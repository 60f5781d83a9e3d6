// What Python sees.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <tuple>

#include "translator.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace prosector;

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Found = std::tuple<std::vector<int>, double, double, bool>;  // ids, log p, score, whether finished

namespace {

template <class T>
T value(const nb::dict& settings, const char* name) {
    if (!settings.contains(name)) throw std::invalid_argument(std::string("the settings lack ") + name);
    return nb::cast<T>(settings[name]);
}

Settings settings_of(const nb::dict& given) {
    static const std::map<std::string, Activation> activations = {{"relu", Activation::relu},
                                                                  {"gelu", Activation::gelu},
                                                                  {"gelu-tanh", Activation::gelu_tanh},
                                                                  {"swish", Activation::swish}};
    Settings settings;
    Shape& shape = settings.shape;
    shape.d_model = value<int>(given, "d_model");
    shape.n_heads = value<int>(given, "n_heads");
    shape.n_kv_heads = value<int>(given, "n_kv_heads");
    shape.d_head = value<int>(given, "d_head");
    shape.d_ff = value<int>(given, "d_ff");
    shape.pre_norm = value<bool>(given, "pre_norm");
    shape.attention_scale = value<float>(given, "attention_scale");
    shape.embedding_scale = value<float>(given, "embedding_scale");
    shape.output_scale = value<float>(given, "output_scale");
    const auto activation = activations.find(value<std::string>(given, "activation"));
    if (activation == activations.end()) throw std::invalid_argument("an unknown activation");
    shape.activation = activation->second;
    settings.encoder_layers = value<int>(given, "encoder_layers");
    settings.decoder_layers = value<int>(given, "decoder_layers");
    settings.rms = value<bool>(given, "rms");
    settings.interleaved = value<bool>(given, "interleaved");
    settings.norm_eps = value<float>(given, "norm_eps");
    return settings;
}

std::vector<std::string> names_of_kernels() {
    std::vector<std::string> names;
    for (const Kernels* kernels : all_kernels())
        if (runs_here(*kernels)) names.push_back(kernels->name);
    return names;
}

// W x + b of one kind of kernels: x [rows, k], w [n, k], b [n] → [rows][n].
std::vector<std::vector<float>> linear_of(Floats x, Floats w, Floats b, const std::string& kernels) {
    if (x.ndim() != 2 || w.ndim() != 2 || b.ndim() != 1 || x.shape(1) != w.shape(1) || b.shape(0) != w.shape(0))
        throw std::invalid_argument("give x [rows, k], w [n, k] and b [n]");
    const int rows = int(x.shape(0)), n = int(w.shape(0)), k = int(w.shape(1));
    Pages pages;
    const Kernels& chosen = choose(kernels);
    const Linear map(w.data(), b.data(), n, k, chosen.blocks, pages);
    Work work(chosen, Model());
    Buffer<float> y(std::size_t(rows) * n);
    work.linear(map, x.data(), rows, y.data());
    std::vector<std::vector<float>> found;
    for (int row = 0; row < rows; ++row) found.emplace_back(y.begin() + std::size_t(row) * n, y.begin() + std::size_t(row + 1) * n);
    return found;
}

Search search_of(int beam, double alpha, int n_best, double temperature, int top_k, double top_p, bool shortlisted,
                 bool sampling, bool guarded) {
    Search how;
    how.beam = beam;
    how.alpha = alpha;
    how.n_best = n_best;
    how.temperature = temperature;
    how.top_k = top_k;
    how.top_p = top_p;
    how.shortlisted = shortlisted;
    how.sampling = sampling;
    how.guarded = guarded;
    return how;
}

std::vector<Source> sources_of(const std::vector<std::vector<int>>& sources, const std::vector<int>& longest,
                               const std::vector<std::pair<int, int>>& allowed,
                               const std::vector<std::vector<double>>& chances) {
    const std::size_t n = sources.size();
    if (longest.size() != n || (!allowed.empty() && allowed.size() != n) || (!chances.empty() && chances.size() != n))
        throw std::invalid_argument("give as many lengths, allowances and chances as sources");
    std::vector<Source> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i].ids = sources[i];
        all[i].longest = longest[i];
        if (!allowed.empty()) all[i].allowed = {allowed[i].first, allowed[i].second};
        if (!chances.empty()) all[i].chances = chances[i];
        if (!chances.empty() && int(chances[i].size()) <= longest[i])
            throw std::invalid_argument("give one chance more than the longest target has tokens");
    }
    return all;
}

std::vector<Found> given(std::vector<Hypothesis> some) {
    std::vector<Found> found;
    for (Hypothesis& one : some) found.emplace_back(std::move(one.ids), one.log_p, one.score, one.finished);
    return found;
}

}  // namespace

NB_MODULE(_core, m) {
    nb::class_<Translator>(m, "Translator")
        .def(
            "__init__",
            [](Translator* self, const nb::dict& settings, const std::vector<std::pair<std::string, Floats>>& weights,
               int first, std::vector<int> ends, std::vector<int> unwritten, std::vector<std::uint8_t> wordiness,
               const std::tuple<std::vector<int>, std::vector<int>, std::vector<int>>& shortlist,
               const std::string& kernels) {
                Arrays arrays;
                for (const auto& [name, array] : weights) {
                    Array& kept = arrays[name];
                    kept.data = array.data();
                    for (std::size_t i = 0; i < array.ndim(); ++i) kept.shape.push_back(array.shape(i));
                }
                const auto& [start, words, always] = shortlist;
                new (self) Translator(settings_of(settings), arrays,
                                      {first, std::move(ends), std::move(unwritten), std::move(wordiness)},
                                      {start, words, always}, kernels);
            },
            "settings"_a, "weights"_a, "first"_a, "ends"_a, "unwritten"_a, "wordiness"_a, "shortlist"_a,
            "kernels"_a = "")
        .def_prop_ro("kernels", [](const Translator& self) { return std::string(self.kernels().name); })
        .def(
            "search",
            [](Translator& self, const std::vector<std::vector<int>>& sources, const std::vector<int>& longest,
               const std::vector<std::pair<int, int>>& allowed, const std::vector<std::vector<double>>& chances,
               int beam, double alpha, int n_best, double temperature, int top_k, double top_p, bool shortlisted,
               int threads) {
                const auto all = sources_of(sources, longest, allowed, chances);
                const auto how = search_of(beam, alpha, n_best, temperature, top_k, top_p, shortlisted,
                                           !chances.empty(), !allowed.empty());
                std::vector<std::vector<Hypothesis>> found;
                {
                    const nb::gil_scoped_release released;
                    found = self.search(all, how, threads);
                }
                std::vector<std::vector<Found>> all_given;
                for (auto& some : found) all_given.push_back(given(std::move(some)));
                return all_given;
            },
            "sources"_a, "longest"_a, "allowed"_a, "chances"_a, nb::kw_only(), "beam"_a = 1, "alpha"_a = 1.0,
            "n_best"_a = 1, "temperature"_a = 1.0, "top_k"_a = 0, "top_p"_a = 0.0, "shortlisted"_a = false,
            "threads"_a = 1);
    nb::class_<Stream>(m, "Stream")
        .def(
            "__init__",
            [](Stream* self, Translator& translator, const std::vector<std::vector<int>>& sources,
               const std::vector<int>& longest, const std::vector<std::pair<int, int>>& allowed,
               const std::vector<std::vector<double>>& chances, int beam, double alpha, int n_best, double temperature,
               int top_k, double top_p, bool shortlisted) {
                auto all = sources_of(sources, longest, allowed, chances);
                if (all.size() != 1) throw std::invalid_argument("a stream has one source");
                new (self) Stream(translator, std::move(all[0]),
                                  search_of(beam, alpha, n_best, temperature, top_k, top_p, shortlisted,
                                            !chances.empty(), !allowed.empty()));
            },
            nb::keep_alive<1, 2>(), "translator"_a, "sources"_a, "longest"_a, "allowed"_a, "chances"_a, nb::kw_only(),
            "beam"_a = 1, "alpha"_a = 1.0, "n_best"_a = 1, "temperature"_a = 1.0, "top_k"_a = 0, "top_p"_a = 0.0,
            "shortlisted"_a = false)
        .def("step", &Stream::step, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("certain", &Stream::certain)
        .def_prop_ro("result", [](const Stream& self) { return given(self.result()); });
    m.def("linear", &linear_of, "x"_a, "w"_a, "b"_a, "kernels"_a = "", "W x + b in 8-bit integers, a list a row.");
    m.def("kernels", &names_of_kernels, "The kinds of kernels that this machine can run, the best first.");
    m.def("counts", &counts, "How often each kind of kernels has computed a linear map in this process.");
}
