// Loops over arrays of registers have to be written out by the compiler, or the arrays are kept in memory.
#pragma once

#define UNROLL _Pragma("GCC unroll 16")
