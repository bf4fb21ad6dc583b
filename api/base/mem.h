/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: two allocators and the cleanup attribute.
 *
 * ek_xalloc and its kin are for small, fixed-size needs: they abort when memory is gone, because
 * nothing sensible is left to do. ek_alloc may return NULL and is for whatever is sized by remote
 * input; its callers turn NULL into EK_E_NOMEM. Both count down a test hook, so that a sweep can
 * make the n-th fallible allocation fail.
 *
 * Everything here is released with ek_free (which is free); all functions may be called from any
 * thread. The hook is for single-threaded tests only.
 */
#ifndef API_BASE_MEM_H
#define API_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* Returns size zeroed bytes, or NULL when there is no memory. */
void *ek_alloc(size_t size);

/* As realloc; NULL leaves ptr as it was. */
void *ek_realloc(void *ptr, size_t size);

/* As ek_alloc, but aborts instead of returning NULL. */
void *ek_xalloc(size_t size);

/* As ek_realloc for n elements of size bytes each, aborting on overflow or lack of memory. */
void *ek_xrealloc(void *ptr, size_t n, size_t size);

/* Returns an owned copy of s; NULL stays NULL. Aborts without memory. */
char *ek_xstrdup(const char *s);

/* Returns an owned, NUL-terminated copy of the first len bytes of s. Aborts without memory. */
char *ek_xstrndup(const char *s, size_t len);

/* Returns an owned string made by printf rules. Aborts without memory. */
char *ek_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Releases what the functions above returned; NULL is fine. */
void ek_free(void *ptr);

/* Test hook: the n-th ek_alloc/ek_realloc from now fails, counted from 1; 0 switches it off. */
void ek_alloc_fail_after(long n);

/* Test hook: false when a requested failure has happened since; else true. */
bool ek_alloc_unfailed(void);

/*
 * EK_AUTO(type) v declares a variable that is released by type_cleanup when it leaves scope;
 * the header of a type that supports EK_AUTO contains EK_CLEANUP.
 */
#define EK_AUTO(name) __attribute__((cleanup(name##_cleanup))) struct name
#define EK_CLEANUP(name, done)                                                                     \
    static inline void name##_cleanup(struct name *v)                                              \
    {                                                                                              \
        done(v);                                                                                   \
    }

static inline void ek_free_cleanup(void *slot)
{
    ek_free(*(void **)slot);
}

/* EK_AUTOFREE char *s = ...; is released by ek_free when it leaves scope. */
#define EK_AUTOFREE __attribute__((cleanup(ek_free_cleanup)))

/* EK_AUTOPTR(type, fn) *p = ...; see the macro's users: fn##_cleanup takes a pointer to the slot.
 */
#define EK_AUTOPTR(name, fn) __attribute__((cleanup(fn##_cleanup))) struct name

#define EK_CLEANUP_PTR(name, fn)                                                                   \
    static inline void fn##_cleanup(struct name **slot)                                            \
    {                                                                                              \
        fn(*slot);                                                                                 \
    }

#define EK_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
