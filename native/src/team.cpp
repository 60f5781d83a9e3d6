#include "team.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <system_error>
#include <thread>

namespace prosector {

namespace {
struct Task {
    const std::function<void()>& work;
    int left;  // threads that have not done it yet
};
}  // namespace

// It outlives the team until the last thread has seen that it is over.
struct Team::State {
    std::mutex mutex;
    std::condition_variable wanted, done;
    std::deque<Task*> waiting;
    int threads = 0, busy = 0;
    bool over = false;

    static void work_on(const std::shared_ptr<State>& state) {
        std::unique_lock<std::mutex> lock(state->mutex);
        while (true) {
            state->wanted.wait(lock, [&] { return state->over || !state->waiting.empty(); });
            if (state->over) return;
            Task* task = state->waiting.front();
            state->waiting.pop_front();
            ++state->busy;
            lock.unlock();
            task->work();
            lock.lock();
            --state->busy;
            if (--task->left == 0) state->done.notify_all();
        }
    }

    // As many threads as there is work for, or less work, if there are no more.
    static void enlarge(const std::shared_ptr<State>& state) {
        try {
            for (; state->threads - state->busy < int(state->waiting.size()); ++state->threads)
                std::thread(work_on, state).detach();
        } catch (const std::system_error&) {
            for (; state->threads - state->busy < int(state->waiting.size()); state->waiting.pop_back())
                --state->waiting.back()->left;
        }
    }
};

Team::Team() : state_(std::make_shared<State>()), process_(getpid()) {}

Team::~Team() {
    if (process_ != getpid()) return;  // who held the lock while this child was made is not here to let go
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->over = true;
    state_->wanted.notify_all();
}

std::shared_ptr<Team::State> Team::here() {
    if (process_ != getpid()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (process_ != getpid()) {
            state_ = std::make_shared<State>();
            process_ = getpid();
        }
    }
    return state_;
}

void Team::run(int n, const std::function<void()>& work) {
    if (n <= 1) return work();
    const auto state = here();
    Task task{work, n - 1};
    {
        const std::lock_guard<std::mutex> lock(state->mutex);
        state->waiting.insert(state->waiting.end(), n - 1, &task);
        State::enlarge(state);
        state->wanted.notify_all();
    }
    work();
    std::unique_lock<std::mutex> lock(state->mutex);
    state->done.wait(lock, [&] { return task.left == 0; });
}

}  // namespace prosector
