// Memory in pages as large as the system gives. Every word reads all weights once; of pages of 4 KiB each has to be looked
// up, and what is fetched ahead ends with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace prosector {

constexpr int ALIGN = 64;                           // bytes; what is taken begins at a multiple of it
constexpr std::size_t PAGE = std::size_t(2) << 20;   // bytes

// Bytes that begin at a page if they fill one; `let_go` gives them back.
void* reserve(std::size_t bytes);
void let_go(void* p, std::size_t bytes);

// Many pieces, one behind the other. Each keeps what it lies in alive.
class Pages {
  public:
    explicit Pages(std::size_t at_once = 0) : at_once_(at_once) {}
    std::shared_ptr<std::int8_t> take(std::size_t bytes);  // zeros

  private:
    std::size_t at_once_;
    std::shared_ptr<std::int8_t> all_;
    std::size_t size_ = 0, used_ = 0;
};

}  // namespace prosector
