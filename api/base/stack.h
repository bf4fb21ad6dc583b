/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack for walks over JSON values.
 *
 * JSON is taken up to EK_JSON_DEPTH_MAX levels deep, and walks over values (comparison, difference,
 * merge, defaults, schema checks, CEL values, printing) are recursive. Every thread that walks
 * remote values therefore has a stack of EK_STACK_SIZE: the main thread by ek_stack_run, others by
 * giving the size at their creation. That is address space; memory is used as far as a walk goes.
 *
 * The bound: EK_STACK_SIZE holds 6,700 bytes for each of EK_JSON_DEPTH_MAX levels. What the walks
 * take at 10,000 levels (x86-64, gcc 12, release; unit/api/depth_test prints it, and fails where a
 * walk takes more than half of the stack):
 *
 *   difference and patch of lists   12.0 MB      YAML in and out     5.0 MB
 *   mutation and its safety check    6.4 MB      CEL values          3.6 MB
 *   field gates                      5.0 MB      merge by schema     2.5 MB
 *   comparison, copies               1.3 MB
 *
 * A serving thread gives that memory back after the review (ek_stack_trim), so that it takes
 * 12 MB at most for as long as a review of that depth is judged. AddressSanitizer, and code that is
 * not optimised, have larger frames and get a larger stack. Work on libuv's own threads, whose
 * stack is the system's, parses (without recursion), copies (120 bytes a level) and compiles
 * schemas, which have a bound of their own (EK_SCHEMA_DEPTH_MAX).
 */
#ifndef API_BASE_STACK_H
#define API_BASE_STACK_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EK_STACK_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define EK_STACK_SANITIZED 1
#endif

#ifdef EK_STACK_SANITIZED
#define EK_STACK_SIZE ((size_t)512 << 20)
#else
#define EK_STACK_SIZE ((size_t)64 << 20)
#endif

/*
 * Calls body(arg) on a new thread with such a stack, waits for its end, and sets *ret_code to what
 * body returned. Returns 0, or EK_E_NOMEM when no thread could be made (then body was not called).
 */
int ek_stack_run(int (*body)(void *arg), void *arg, int *ret_code);

/*
 * Gives the memory of the calling thread's stack back, but for what is in use and a little more, if
 * a deep walk has used it. To be called between requests; a system call when there is nothing to
 * give back. The thread must have its stack from ek_stack_run or pthread_create.
 */
void ek_stack_trim(void);

#endif
