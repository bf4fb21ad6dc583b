/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/err.h"

/* What stays with a thread between walks, and how much below it is looked at for traces of one. */
#define KEEP    ((size_t)256 << 10)
#define LOOK_AT ((size_t)32)

struct call {
    int (*body)(void *arg);
    void *arg;
    int code;
};

static void *run(void *arg)
{
    struct call *call = arg;

    call->code = call->body(call->arg);
    return NULL;
}

int ek_stack_run(int (*body)(void *arg), void *arg, int *ret_code)
{
    struct call call = {.body = body, .arg = arg};
    pthread_attr_t attr;
    pthread_t thread;

    if (pthread_attr_init(&attr))
        return EK_E_NOMEM;
    int rc = pthread_attr_setstacksize(&attr, EK_STACK_SIZE);
    rc = rc ? rc : pthread_create(&thread, &attr, run, &call);
    pthread_attr_destroy(&attr);
    if (rc)
        return EK_E_NOMEM;
    pthread_join(thread, NULL);
    *ret_code = call.code;
    return 0;
}

/* The lowest address of the calling thread's stack, NULL when it is not known. */
static char *lowest(void)
{
    static _Thread_local void *low;
    pthread_attr_t attr;
    size_t size;

    if (!low && !pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    return low;
}

void ek_stack_trim(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *low = lowest(), *here = __builtin_frame_address(0);
    char *end = here - (uintptr_t)here % page - KEEP;
    unsigned char resident[LOOK_AT];
    bool used = false;

    if (!low || end < low || (size_t)(end - low) < LOOK_AT * page ||
        mincore(end - LOOK_AT * page, LOOK_AT * page, resident))
        return;
    for (size_t i = 0; i < LOOK_AT; i++)
        used = used || (resident[i] & 1);
    if (used)
        madvise(low, (size_t)(end - low), MADV_DONTNEED);
}
