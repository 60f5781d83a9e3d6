#include "search.h"

namespace prosector {

Hypothesis hypothesis(std::vector<int> ids, double log_p, bool finished, double alpha) {
    const double score = normalised(log_p, ids.size() + finished, alpha);
    return {std::move(ids), log_p, score, finished};
}

void Outlook::forbid(int word) {
    const int* place = ids ? std::lower_bound(ids, ids + n, word) : nullptr;
    const int index = ids ? int(place - ids) : word;
    if (!ids || (index < n && *place == word)) logits[index] = -std::numeric_limits<float>::infinity();
}

void forbid(Outlook& outlook, const std::vector<int>& written, const Source& source, const Search& how,
            const Vocabulary& vocabulary) {
    for (int id : vocabulary.unwritten) outlook.forbid(id);
    if (how.guarded)
        for (int id : forbidden_next(written, source.allowed, vocabulary.wordiness)) outlook.forbid(id);
}

Searches::Searches(const Model& model, Work& work, const Search& how, const Vocabulary& vocabulary,
                   const Shortlist& shortlist)
    : model_(model), work_(work), how_(how), vocabulary_(vocabulary), shortlist_(shortlist) {}

void Searches::begin(const std::vector<Numbered>& sources) {
    std::vector<const std::vector<int>*> ids;
    for (const auto& [number, source] : sources) ids.push_back(&source->ids);
    std::vector<Memory> memories = encode(model_, work_, ids);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Source& source = *sources[i].second;
        Running one;
        one.number = sources[i].first;
        one.memory = std::make_unique<Memory>(std::move(memories[i]));
        if (how_.shortlisted) {
            one.words = std::make_unique<Words>();
            one.words->ids = shortlist_.of(source.ids, model_.target_words);
        }
        one.writing = (how_.width() == 1 ? greedy_or_sampling : beam)(source, how_, vocabulary_);
        one.rows.push_back({vocabulary_.first, one.memory.get(), {}});
        running_.push_back(std::move(one));
    }
    several_ = several_ || running_.size() > 1;
}

std::vector<Searches::Found> Searches::step() {
    std::vector<const Row*> rows;
    for (Running& one : running_)
        for (Row& row : one.rows) {
            row.places.push_back(work_.kept.take());
            one.places.push_back(row.places.back());
            rows.push_back(&row);
        }
    auto all = outlooks(prosector::step(model_, work_, rows), int(rows.size()));

    std::vector<Found> found;
    std::vector<Running> still;
    for (std::size_t i = 0; i < running_.size(); ++i) {
        Running& one = running_[i];
        const std::vector<Next> next = one.writing->advance(work_.kernels, std::move(all[i]));
        if (next.empty()) {
            found.emplace_back(one.number, one.writing->result());
            work_.kept.give_back(one.places);
            work_.spare.push_back(std::move(one.memory->key_value));
        } else {
            go_on(one, next);
            still.push_back(std::move(one));
        }
    }
    running_ = std::move(still);
    return found;
}

// The logits of every search's rows. With a shortlist, those of its words alone: by a map of their own, or, where several
// searches have a row each, out of all, since the rows of one product share its weights. The numbers are the same.
std::vector<std::vector<Outlook>> Searches::outlooks(const float* x, int rows) {
    const int d = model_.shape.d_model, n = model_.output.n;
    const bool of_all = !how_.shortlisted || (several_ && how_.width() == 1);
    work_.logits.resize(std::size_t(rows) * n);
    float* logits = work_.logits.data();
    if (of_all) work_.linear(model_.output, x, rows, logits);
    std::vector<std::vector<Outlook>> all;
    for (Running& one : running_) {
        const int some = int(one.rows.size()), n_words = one.words ? int(one.words->ids.size()) : n;
        if (one.words && !of_all) {
            if (!one.words->map.n) one.words->map = model_.output.only(one.words->ids);
            work_.linear(one.words->map, x, some, logits);
        }
        all.emplace_back();
        for (int row = 0; row < some; ++row) {
            if (one.words && of_all)
                for (int i = 0; i < n_words; ++i) logits[i] = logits[one.words->ids[i]];  // ids ascend: none is lost
            all.back().push_back({logits, n_words, one.words ? one.words->ids.data() : nullptr});
            logits += of_all ? n : n_words;
        }
        x += std::size_t(some) * d;
    }
    return all;
}

void Searches::go_on(Running& one, const std::vector<Next>& next) {
    if (next.size() == 1 && one.rows.size() == 1) {
        one.rows[0].token = next[0].token;
        return;
    }
    std::vector<Row> rows;
    for (const auto& [parent, token] : next) rows.push_back({token, one.memory.get(), one.rows[parent].places});
    one.rows = std::move(rows);
}

}  // namespace prosector
