// Threads that are kept for later. A thread that exists is woken on a core that is free; a new one may be put where its
// maker runs, and share that core for some milliseconds, which is as long as a short text takes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace prosector {

class Team {
  public:
    Team();
    ~Team();
    Team(const Team&) = delete;

    // The same work on n threads at once, of which this is one; returns when all have done it. It must not throw. Several
    // may ask at a time. Where the system gives no more threads, there are fewer.
    void run(int n, const std::function<void()>& work);

  private:
    struct State;
    std::shared_ptr<State> here();

    std::shared_ptr<State> state_;
    std::atomic<long> process_;  // whose threads they are: a child that it forks has none of them
    std::mutex mutex_;           // of a child, until it has a state of its own
};

}  // namespace prosector
