#include "translator.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>

namespace prosector {

namespace {

// Sources that wait, the longest first, so that at the end short ones are left. What each of a team takes first, `most`
// at once, is dealt out by turns: all begin with as much.
class Queue {
  public:
    Queue(const std::vector<Source>& sources, int most, int team) : sources_(sources) {
        std::vector<int> sorted(sources.size());
        std::iota(sorted.begin(), sorted.end(), 0);
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](int a, int b) { return sources[a].ids.size() > sources[b].ids.size(); });
        const int first = std::min(int(sorted.size()), most * team);
        for (int one = 0; one < team; ++one)
            for (int i = one; i < first; i += team) order_.push_back(sorted[i]);
        order_.insert(order_.end(), sorted.begin() + first, sorted.end());
    }

    // The next ones: as many as there is room for, but no more than an even share.
    std::vector<Searches::Numbered> take(int room, int among) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const int left = int(order_.size()) - next_, some = std::min(room, (left + among - 1) / among);
        std::vector<Searches::Numbered> taken;
        for (int i = 0; i < some; ++i, ++next_) taken.emplace_back(order_[next_], &sources_[order_[next_]]);
        return taken;
    }

  private:
    const std::vector<Source>& sources_;
    std::vector<int> order_;
    int next_ = 0;
    std::mutex mutex_;
};

// Search for what is in the queue, `most` sources at once: whenever a quarter of them is found, others join.
void work_through(Queue& queue, Searches& searches, int most, int threads, std::vector<std::vector<Hypothesis>>& found) {
    auto next = queue.take(most, 1);
    while (!next.empty() || searches.n_running()) {
        if (!next.empty()) searches.begin(next);
        for (auto& [number, targets] : searches.step()) found[number] = std::move(targets);
        const int room = most - searches.n_running();
        next.clear();
        if (4 * room >= most) next = queue.take(room, threads);
    }
}

}  // namespace

Translator::Translator(const Settings& settings, const Arrays& arrays, Vocabulary vocabulary, Shortlist shortlist,
                       const std::string& kernels)
    : kernels_(choose(kernels)),
      model_(build(settings, arrays, kernels_)),
      vocabulary_(std::move(vocabulary)),
      shortlist_(std::move(shortlist)) {
    if (int(vocabulary_.wordiness.size()) < model_.target_words) vocabulary_.wordiness.resize(model_.target_words, 2);
    if (shortlist_.empty()) return;
    const auto outside = [&](int id) { return id < 0 || id >= model_.target_words; };
    if (int(shortlist_.start.size()) != model_.source_words + 1 || shortlist_.start.front() != 0 ||
        !std::is_sorted(shortlist_.start.begin(), shortlist_.start.end()) ||
        shortlist_.start.back() != int(shortlist_.words.size()) || shortlist_.always.empty() ||
        std::any_of(shortlist_.words.begin(), shortlist_.words.end(), outside) ||
        std::any_of(shortlist_.always.begin(), shortlist_.always.end(), outside))
        throw std::invalid_argument("the shortlist does not fit the vocabularies");
}

void Translator::check(const std::vector<Source>& sources, const Search& how) const {
    if (how.shortlisted && shortlist_.empty()) throw std::invalid_argument("the model has no shortlist");
    for (const Source& source : sources) {
        if (source.ids.empty()) throw std::invalid_argument("a source has no tokens");
        for (int id : source.ids)
            if (id < 0 || id >= model_.source_words)
                throw std::invalid_argument("a source has the id " + std::to_string(id) + ", and the vocabulary ends at " +
                                            std::to_string(model_.source_words - 1));
    }
}

// How many targets a thread writes at once. Each step reads all weights once, for all of them; of more targets what is kept
// no longer lies near. What a small model reads lies near itself, so that fewer are enough.
int Translator::most_rows() const {
    std::size_t bytes = model_.output.bytes();
    for (const Layer& layer : model_.decoder.layers)
        for (const Linear* map : {&layer.self.query, &layer.self.output, &layer.cross.query, &layer.cross.output,
                                  &layer.feed_forward.inner, &layer.feed_forward.outer, &layer.feed_forward.gate})
            bytes += map->bytes();
    return int(std::clamp<std::size_t>(bytes >> 19, 24, 48));
}

std::vector<std::vector<Hypothesis>> Translator::search(const std::vector<Source>& sources, const Search& how,
                                                        int threads) {
    check(sources, how);
    std::vector<std::vector<Hypothesis>> found(sources.size());
    if (sources.empty()) return found;
    const int n = int(sources.size()), team_size = std::max(1, std::min(threads, n));
    const auto shares = [](int whole, int of) { return (whole + of - 1) / of; };  // the larger ones
    const int share = shares(n, team_size), most = shares(share, shares(share, std::max(1, most_rows() / how.width())));
    Queue queue(sources, most, team_size);
    std::exception_ptr fault;
    const auto work_on = [&] {
        try {
            auto work = borrow();
            {
                Searches searches(model_, *work, how, vocabulary_, shortlist_);
                work_through(queue, searches, most, team_size, found);
            }
            give_back(std::move(work));  // after a fault it is in disorder, and is not given back
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            fault = std::current_exception();
        }
    };
    team_.run(team_size, work_on);
    if (fault) std::rethrow_exception(fault);
    return found;
}

std::unique_ptr<Work> Translator::borrow() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<Work>(kernels_, model_);
    auto work = std::move(idle_.back());
    idle_.pop_back();
    return work;
}

void Translator::give_back(std::unique_ptr<Work> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(work));
}

Stream::Stream(Translator& translator, Source source, const Search& how)
    : source_(std::move(source)),
      how_(how),
      work_(translator.kernels_, translator.model_),
      searches_(translator.model_, work_, how_, translator.vocabulary_, translator.shortlist_) {
    translator.check({source_}, how_);
    searches_.begin({{0, &source_}});
}

bool Stream::step() {
    if (!searches_.n_running()) return false;
    for (auto& found : searches_.step()) result_ = std::move(found.second);
    certain_ = searches_.n_running() ? searches_.certain(0) : result_.front().ids;
    return searches_.n_running() > 0;
}

std::vector<std::pair<std::string, std::uint64_t>> counts() {
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const Kernels* kernels : all_kernels()) found.emplace_back(kernels->name, kernels->calls->load());
    return found;
}

}  // namespace prosector
