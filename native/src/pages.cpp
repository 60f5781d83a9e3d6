#include "pages.h"

#include <algorithm>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace prosector {

namespace {
std::align_val_t alignment(std::size_t bytes) { return std::align_val_t(bytes >= PAGE ? PAGE : ALIGN); }
}  // namespace

void* reserve(std::size_t bytes) {
    void* p = ::operator new(bytes, alignment(bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= PAGE) madvise(p, bytes / PAGE * PAGE, MADV_HUGEPAGE);  // a wish, which may be refused
#endif
    return p;
}

void let_go(void* p, std::size_t bytes) { ::operator delete(p, alignment(bytes)); }

std::shared_ptr<std::int8_t> Pages::take(std::size_t bytes) {
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (size_ - used_ < bytes) {
        const std::size_t size = std::max(bytes, at_once_);  // what is never touched takes no memory
        all_ = {static_cast<std::int8_t*>(reserve(size)), [size](std::int8_t* p) { let_go(p, size); }};
        size_ = size;
        used_ = 0;
    }
    std::int8_t* taken = all_.get() + used_;
    used_ += bytes;
    std::memset(taken, 0, bytes);
    return {all_, taken};
}

}  // namespace prosector
