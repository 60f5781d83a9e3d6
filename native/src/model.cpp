#include "model.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace prosector {

void Norm::operator()(const Kernels& kernels, const float* x, float* y, int rows) const {
    const int d = int(weight.size());
    if (rms)
        kernels.rms_norm(x, y, rows, d, weight.data(), eps);
    else
        kernels.layer_norm(x, y, rows, d, weight.data(), bias.empty() ? nullptr : bias.data(), eps);
}

void Work::linear(const Linear& w, const float* x, int rows, float* y, const float* residual, Activation activation) {
    quantised_.resize(std::size_t(rows) * w.k_padded);
    scales_.resize(rows);
    for (int row = 0; row < rows; ++row)
        scales_[row] = kernels.quantise(x + std::size_t(row) * w.k, w.k, w.k_padded,
                                        quantised_.data() + std::size_t(row) * w.k_padded);
    kernels.linear(quantised_.data(), scales_.data(), rows, w, y, residual, activation);
}

namespace {

// table[id] · scale + position, then perhaps a norm.
void embed(const Model& model, const Stack& stack, Work& work, const float* table, const std::vector<int>& ids,
           const std::vector<int>& positions) {
    const int d = model.shape.d_model, rows = int(ids.size());
    work.x.resize(std::size_t(rows) * d);
    for (int row = 0; row < rows; ++row) {
        float* x = work.x.data() + std::size_t(row) * d;
        const float* word = table + std::size_t(ids[row]) * d;
        const float* place = stack.positions.added.empty() ? nullptr
                                                           : stack.positions.added.data() + std::size_t(positions[row]) * d;
        for (int i = 0; i < d; ++i) x[i] = word[i] * model.shape.embedding_scale + (place ? place[i] : 0.0f);
    }
    if (stack.first_norm) (*stack.first_norm)(work.kernels, work.x.data(), work.x.data(), rows);
}

// Turns the pairs of one head by the angles of a position.
void rotate(const Positions& positions, int position, float* head, int d_head) {
    const int pairs = d_head / 2;
    const float* cosine = positions.cosine.data() + std::size_t(position) * pairs;
    const float* sine = positions.sine.data() + std::size_t(position) * pairs;
    const int apart = positions.interleaved ? 1 : pairs, stride = positions.interleaved ? 2 : 1;
    for (int pair = 0; pair < pairs; ++pair) {
        float &a = head[pair * stride], &b = head[pair * stride + apart];
        const float before = a;
        a = a * cosine[pair] - b * sine[pair];
        b = before * sine[pair] + b * cosine[pair];
    }
}

void rotate_heads(const Positions& positions, int position, float* heads, int n, int d_head) {
    if (positions.cosine.empty()) return;
    for (int head = 0; head < n; ++head) rotate(positions, position, heads + head * d_head, d_head);
}

// A sublayer with its path around: x + f(norm(x)), or norm(x + f(x)). `f` reads its input, and writes input's residual
// and its own result to the place it is given.
template <class F>
void around(const Model& model, Work& work, const Norm& norm, int rows, F f) {
    const std::size_t size = std::size_t(rows) * model.shape.d_model;
    work.normed.resize(size);
    if (model.shape.pre_norm) {
        norm(work.kernels, work.x.data(), work.normed.data(), rows);
        f(work.normed.data(), work.x.data());
    } else {
        f(work.x.data(), work.x.data());
        norm(work.kernels, work.x.data(), work.x.data(), rows);
    }
}

void feed_forward(const Model& model, Work& work, const FeedForward& block, const Norm& norm, int rows) {
    around(model, work, norm, rows, [&](const float* in, float* x) {
        const Activation activation = model.shape.activation;
        work.hidden.resize(std::size_t(rows) * model.shape.d_ff);
        if (block.gate.n) {
            work.gate.resize(work.hidden.size());
            work.linear(block.gate, in, rows, work.gate.data(), nullptr, activation);
            work.linear(block.inner, in, rows, work.hidden.data());
            work.kernels.multiply(work.hidden.data(), work.gate.data(), work.hidden.size());
        } else {
            work.linear(block.inner, in, rows, work.hidden.data(), nullptr, activation);
        }
        work.linear(block.outer, work.hidden.data(), rows, x, x);
    });
}

// One query of all heads over some places, whose keys lie at `places`, values kv_width behind.
void attend(const Model& model, Work& work, const float* query, int length, const float* bias, std::size_t bias_stride,
            float* out, const std::vector<const Half*>& rows) {
    const Shape& shape = model.shape;
    const int group = shape.n_heads / shape.n_kv_heads;
    work.places.resize(length);
    work.scores.resize(length + 2 * BLOCK);
    for (int head = 0; head < shape.n_heads; ++head) {
        if (head % group == 0)
            for (int place = 0; place < length; ++place) work.places[place] = rows[place] + head / group * shape.d_head;
        const Keys keys = {work.places.data(), length, shape.kv_width(), bias ? bias + head * bias_stride : nullptr};
        work.kernels.attend(query + head * shape.d_head, keys, shape.d_head, shape.attention_scale,
                            out + head * shape.d_head, work.scores.data());
    }
}

void encoder_layer(const Model& model, Work& work, const Layer& layer, const Memory& memory, int tokens) {
    const Shape& shape = model.shape;
    const Positions& positions = model.encoder.positions;
    const int width = shape.q_width() + 2 * shape.kv_width();
    around(model, work, layer.norms[0], tokens, [&](const float* in, float* x) {
        work.wide.resize(std::size_t(tokens) * width);
        work.heads.resize(std::size_t(tokens) * shape.q_width());
        work.linear(layer.self.query, in, tokens, work.wide.data());
        const std::size_t kv = 2 * shape.kv_width();
        work.halves.resize(tokens * kv);
        std::vector<const Half*> rows;
        for (std::size_t source = 0; source < memory.start.size(); ++source) {
            const int length = memory.length[source];
            float* first = work.wide.data() + std::size_t(memory.start[source]) * width;
            rows.resize(length);
            for (int place = 0; place < length; ++place) {
                float* row = first + std::size_t(place) * width;
                rotate_heads(positions, place, row, shape.n_heads + shape.n_kv_heads, shape.d_head);
                Half* kept = work.halves.data() + (std::size_t(memory.start[source]) + place) * kv;
                work.kernels.halve(row + shape.q_width(), kv, kept);
                rows[place] = kept;
            }
            for (int place = 0; place < length; ++place) {
                // The bias of keys 0 ... length - 1 as seen from here.
                const float* bias = positions.bias.empty() ? nullptr : positions.bias.data() + positions.rows - 1 - place;
                attend(model, work, first + std::size_t(place) * width, length, bias, 2 * positions.rows - 1,
                       work.heads.data() + (std::size_t(memory.start[source]) + place) * shape.q_width(), rows);
            }
        }
        work.linear(layer.self.output, work.heads.data(), tokens, x, x);
    });
    feed_forward(model, work, layer.feed_forward, layer.norms[1], tokens);
}

}  // namespace

Memory encode(const Model& model, Work& work, const std::vector<std::vector<int>>& sources) {
    Memory memory;
    std::vector<int> ids, positions;
    for (const auto& source : sources) {
        memory.start.push_back(int(ids.size()));
        memory.length.push_back(int(source.size()));
        ids.insert(ids.end(), source.begin(), source.end());
        for (std::size_t i = 0; i < source.size(); ++i) positions.push_back(int(i));
    }
    const int tokens = int(ids.size());
    embed(model, model.encoder, work, model.source_table.data(), ids, positions);
    for (const Layer& layer : model.encoder.layers) encoder_layer(model, work, layer, memory, tokens);
    if (model.encoder.final_norm) (*model.encoder.final_norm)(work.kernels, work.x.data(), work.x.data(), tokens);
    for (const Layer& layer : model.decoder.layers) {
        work.wide.resize(std::size_t(tokens) * 2 * model.shape.kv_width());
        work.linear(layer.cross.key_value, work.x.data(), tokens, work.wide.data());
        memory.key_value.emplace_back(work.wide.size());
        work.kernels.halve(work.wide.data(), work.wide.size(), memory.key_value.back().data());
    }
    return memory;
}

Targets::Targets(const Model& model, const Memory& memory, Work& work)
    : model_(model), memory_(memory), work_(work), kept_(model.decoder.layers.size()) {}

float* Targets::step(const std::vector<int>& tokens, const std::vector<int>& sources, const std::vector<int>& parents) {
    const int rows = int(tokens.size());
    std::vector<std::vector<int>> slots(rows);
    for (int row = 0; row < rows; ++row) {
        if (n_steps_) slots[row] = slots_[parents[row]];
        slots[row].push_back(row);
    }
    slots_ = std::move(slots);
    ++n_steps_;

    const std::vector<int> positions(rows, n_steps_ - 1);
    embed(model_, model_.decoder, work_, model_.target_row(0), tokens, positions);
    for (std::size_t number = 0; number < kept_.size(); ++number)
        layer(model_.decoder.layers[number], int(number), rows, sources);
    if (model_.decoder.final_norm) (*model_.decoder.final_norm)(work_.kernels, work_.x.data(), work_.x.data(), rows);
    if (model_.shape.output_scale != 1.0f)
        for (float& value : work_.x) value *= model_.shape.output_scale;

    work_.logits.resize(std::size_t(rows) * model_.output.n);
    work_.linear(model_.output, work_.x.data(), rows, work_.logits.data());
    return work_.logits.data();
}

void Targets::layer(const Layer& layer, int number, int rows, const std::vector<int>& sources) {
    const Shape& shape = model_.shape;
    const Positions& positions = model_.decoder.positions;
    const int q = shape.q_width(), kv = 2 * shape.kv_width(), width = q + kv, now = n_steps_ - 1;
    std::vector<const Half*> places;
    work_.heads.resize(std::size_t(rows) * q);

    around(model_, work_, layer.norms[0], rows, [&](const float* in, float* x) {
        work_.wide.resize(std::size_t(rows) * width);
        work_.linear(layer.self.query, in, rows, work_.wide.data());
        auto& kept = kept_[number];
        kept.emplace_back(std::size_t(rows) * kv);
        for (int row = 0; row < rows; ++row) {
            float* all = work_.wide.data() + std::size_t(row) * width;
            rotate_heads(positions, now, all, shape.n_heads + shape.n_kv_heads, shape.d_head);
            work_.kernels.halve(all + q, kv, kept.back().data() + std::size_t(row) * kv);
        }
        places.resize(n_steps_);
        // The bias of keys 0 ... now as seen from now.
        const float* bias = positions.bias.empty() ? nullptr : positions.bias.data() + positions.rows - 1 - now;
        for (int row = 0; row < rows; ++row) {
            for (int step = 0; step < n_steps_; ++step)
                places[step] = kept[step].data() + std::size_t(slots_[row][step]) * kv;
            attend(model_, work_, work_.wide.data() + std::size_t(row) * width, n_steps_, bias, 2 * positions.rows - 1,
                   work_.heads.data() + std::size_t(row) * q, places);
        }
        work_.linear(layer.self.output, work_.heads.data(), rows, x, x);
    });

    around(model_, work_, layer.norms[1], rows, [&](const float* in, float* x) {
        work_.wide.resize(std::size_t(rows) * q);
        work_.linear(layer.cross.query, in, rows, work_.wide.data());
        const Buffer<Half>& memory = memory_.key_value[number];
        int last = -1;
        for (int row = 0; row < rows; ++row) {
            const int source = sources[row], length = memory_.length[source];
            if (source != last) {  // a beam's rows lie together
                places.resize(length);
                for (int place = 0; place < length; ++place)
                    places[place] = memory.data() + (std::size_t(memory_.start[source]) + place) * kv;
                last = source;
            }
            attend(model_, work_, work_.wide.data() + std::size_t(row) * q, length, nullptr, 0,
                   work_.heads.data() + std::size_t(row) * q, places);
        }
        work_.linear(layer.cross.output, work_.heads.data(), rows, x, x);
    });

    feed_forward(model_, work_, layer.feed_forward, layer.norms[2], rows);
}

}  // namespace prosector
