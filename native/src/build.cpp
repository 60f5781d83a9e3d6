#include "build.h"

#include <algorithm>
#include <stdexcept>

namespace prosector {

std::size_t Array::size() const {
    std::size_t n = 1;
    for (std::size_t side : shape) n *= side;
    return n;
}

namespace {

class Reader {
  public:
    Reader(const Settings& settings, const Arrays& arrays, const Kernels& kernels)
        : settings_(settings), arrays_(arrays), kernels_(kernels) {}

    const Array* find(const std::string& name) const {
        const auto place = arrays_.find(name);
        return place == arrays_.end() ? nullptr : &place->second;
    }

    const Array& get(const std::string& name, std::vector<std::size_t> shape) const {
        const Array* found = find(name);
        if (!found) throw std::invalid_argument("there is no weight " + name);
        if (found->shape != shape) throw std::invalid_argument("the weight " + name + " has another shape");
        return *found;
    }

    // One map, or several that read the same thing, one below the other.
    Linear linear(const std::string& path, const std::vector<std::string>& names, const std::vector<int>& outputs,
                  int inputs) const {
        std::vector<float> weight, bias;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::size_t n = std::size_t(outputs[i]);
            const Array& w = get(path + names[i] + ".weight", {n, std::size_t(inputs)});
            weight.insert(weight.end(), w.data, w.data + w.size());
            if (find(path + names[i] + ".bias")) {
                const Array& b = get(path + names[i] + ".bias", {n});
                bias.insert(bias.end(), b.data, b.data + b.size());
            } else {
                bias.insert(bias.end(), n, 0.0f);
            }
        }
        return Linear(weight.data(), bias.data(), int(bias.size()), inputs, kernels_.blocks, pages_);
    }

    Norm norm(const std::string& path) const {
        const std::size_t d = std::size_t(settings_.shape.d_model);
        Norm norm;
        norm.rms = settings_.rms;
        norm.eps = settings_.norm_eps;
        const Array& weight = get(path + ".weight", {d});
        norm.weight.assign(weight.data, weight.data + d);
        if (find(path + ".bias")) {
            const Array& bias = get(path + ".bias", {d});
            norm.bias.assign(bias.data, bias.data + d);
        }
        return norm;
    }

    std::unique_ptr<Norm> norm_if_there(const std::string& path) const {
        return find(path + ".weight") ? std::make_unique<Norm>(norm(path)) : nullptr;
    }

    std::vector<float> floats(const std::string& name) const {
        const Array* found = find(name);
        return found ? std::vector<float>(found->data, found->data + found->size()) : std::vector<float>();
    }

    Positions positions(const std::string& side) const {
        const Shape& shape = settings_.shape;
        const std::string path = "positions." + side;
        Positions positions;
        positions.interleaved = settings_.interleaved;
        positions.added = floats(path + ".added");
        positions.cosine = floats(path + ".cosine");
        positions.sine = floats(path + ".sine");
        positions.bias = floats(path + ".bias");
        if (!positions.bias.empty()) positions.rows = int(positions.bias.size() / shape.n_heads + 1) / 2;
        return positions;
    }

    Layer layer(const std::string& path, bool across) const {
        const Shape& shape = settings_.shape;
        const int d = shape.d_model, q = shape.q_width(), kv = shape.kv_width();
        Layer layer;
        const std::string self = path + (across ? ".self." : ".attention.");
        layer.self.query = linear(self, {"query", "key", "value"}, {q, kv, kv}, d);
        layer.self.output = linear(self, {"output"}, {d}, q);
        if (across) {
            layer.cross.query = linear(path + ".cross.", {"query"}, {q}, d);
            layer.cross.key_value = linear(path + ".cross.", {"key", "value"}, {kv, kv}, d);
            layer.cross.output = linear(path + ".cross.", {"output"}, {d}, q);
        }
        const std::string block = path + ".feed_forward.";
        layer.feed_forward.inner = linear(block, {"inner"}, {shape.d_ff}, d);
        layer.feed_forward.outer = linear(block, {"outer"}, {d}, shape.d_ff);
        if (find(block + "gate.weight")) layer.feed_forward.gate = linear(block, {"gate"}, {shape.d_ff}, d);
        for (int number = 1; number <= (across ? 3 : 2); ++number)
            layer.norms.push_back(norm(path + ".norm" + std::to_string(number)));
        return layer;
    }

    Stack stack(const std::string& side, int n_layers) const {
        Stack stack;
        for (int number = 0; number < n_layers; ++number)
            stack.layers.push_back(layer(side + "." + std::to_string(number), side == "decoder"));
        stack.positions = positions(side);
        stack.first_norm = norm_if_there(side + ".first_norm");
        stack.final_norm = norm_if_there(side + ".final_norm");
        return stack;
    }

    Buffer<float> table(const std::string& name, int& words) const {
        const Array* found = find(name);
        if (!found) return {};
        words = int(found->shape.at(0));
        get(name, {std::size_t(words), std::size_t(settings_.shape.d_model)});
        return Buffer<float>(found->data, found->data + found->size());
    }

  private:
    const Settings& settings_;
    const Arrays& arrays_;
    const Kernels& kernels_;
    mutable Pages pages_{8 * PAGE};  // of all weights
};

}  // namespace

Model build(const Settings& settings, const Arrays& arrays, const Kernels& kernels) {
    const Reader reader(settings, arrays, kernels);
    Model model;
    model.shape = settings.shape;
    model.source_table = reader.table("source_embedding.weight", model.source_words);
    model.target_table = reader.table("target_embedding.weight", model.target_words);
    if (model.source_table.empty()) throw std::invalid_argument("there is no weight source_embedding.weight");
    if (model.target_table.empty()) model.target_words = model.source_words;
    model.encoder = reader.stack("encoder", settings.encoder_layers);
    model.decoder = reader.stack("decoder", settings.decoder_layers);
    model.output = reader.linear("", {"output"}, {model.target_words}, settings.shape.d_model);
    return model;
}

}  // namespace prosector
