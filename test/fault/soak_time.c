/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_time.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "api/base/mem.h"

#define MS         INT64_C(1000000)
#define LOOK_NS    100 /* what reading the clock takes: equal times would hide their order */
#define WORK_MAX   64
#define OTHERS_MAX 8 /* threads with a loop, besides the two */
#define SIGSET_SZ  8

static bool begun;
static int64_t now_ns = 1000 * MS, base_ns;

static __thread bool is_controller, is_driver;
static pthread_t thread;
static sem_t to_controller, to_driver;
static bool alive, moved; /* of the controller: its thread runs; it did something in its turn */
static int64_t due_ns;    /* when it wants to be woken at the latest */
static int exit_code;
static unsigned long long turns, turns_at_leap;
static bool driver_moved;
static int n_working;

/* --- the clock ---------------------------------------------------------------------------- */

static int64_t look(void)
{
    return __atomic_add_fetch(&now_ns, LOOK_NS, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    bool wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;

    if (!begun || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, id, ts);
    int64_t t = look() + (wall ? base_ns : 0);
    *ts = (struct timespec){.tv_sec = t / (1000 * MS), .tv_nsec = t % (1000 * MS)};
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret_time)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (ret_time)
        *ret_time = ts.tv_sec;
    return ts.tv_sec;
}

void soak_time_begin(int64_t wall_ms)
{
    base_ns = wall_ms * MS - now_ns;
    begun = is_driver = true;
    sem_init(&to_controller, 0, 0);
    sem_init(&to_driver, 0, 0);
}

int64_t soak_now(void)
{
    return look() / MS;
}

int64_t soak_wall(void)
{
    return (look() + base_ns) / MS;
}

/* --- sleeping ----------------------------------------------------------------------------- */

/* The controller's further loops: they run whenever they have something to do. */
static struct other {
    atomic_bool used;
    atomic_int asleep; /* the descriptor that it sleeps on, plus one; 0 while it is awake */
    atomic_int_least64_t due_ns; /* of its next timer */
} others[OTHERS_MAX];
static pthread_key_t other_key;

static void forget_other(void *other)
{
    atomic_store(&((struct other *)other)->used, false);
}

static void make_other_key(void)
{
    pthread_key_create(&other_key, forget_other);
}

static void complain_of_spinning(void)
{
    fprintf(stdout, "FAILED: the controller's loop turned %d times without time passing\n",
            SOAK_SPIN_MAX);
    fflush(stdout);
    abort();
}

static int poll_now(int fd, struct epoll_event *events, int max, const sigset_t *mask)
{
    return (int)syscall(SYS_epoll_pwait, fd, events, max, 0, mask, SIGSET_SZ);
}

/* The driver never sleeps here: soak_live decides about time. */
static int driver_polls(int fd, struct epoll_event *events, int max, const sigset_t *mask)
{
    int n = poll_now(fd, events, max, mask);

    driver_moved = driver_moved || n > 0;
    return n;
}

/* Another thread that is about to sleep in its loop. */
static struct other *register_other(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_other_key);
    struct other *other = pthread_getspecific(other_key);
    for (size_t i = 0; !other && i < OTHERS_MAX; i++) {
        bool free = false;
        if (atomic_compare_exchange_strong(&others[i].used, &free, true))
            other = &others[i];
    }
    if (!other)
        abort();
    pthread_setspecific(other_key, other);
    return other;
}

/* Sleeps until there are events, or until time has leapt to the end of the timeout. */
static int other_polls(int fd, struct epoll_event *events, int max, int timeout,
                       const sigset_t *mask)
{
    struct other *other = register_other();
    int n = poll_now(fd, events, max, mask);

    if (n != 0 || timeout == 0)
        return n;
    atomic_store(&other->due_ns, timeout < 0 ? INT64_MAX : look() + timeout * MS);
    atomic_store(&other->asleep, fd + 1);
    do {
        n = (int)syscall(SYS_epoll_pwait, fd, events, max, 1, mask, SIGSET_SZ);
    } while (n == 0 && __atomic_load_n(&now_ns, __ATOMIC_RELAXED) < atomic_load(&other->due_ns));
    atomic_store(&other->asleep, 0);
    return n;
}

/* True when all other threads sleep, and nothing is there to wake them. *next is brought forward to
 * the first that has a timer. */
static bool others_rest(int64_t *next)
{
    for (size_t i = 0; i < OTHERS_MAX; i++) {
        if (!atomic_load(&others[i].used))
            continue;
        int asleep = atomic_load(&others[i].asleep);
        int64_t due = atomic_load(&others[i].due_ns);
        struct pollfd events = {.fd = asleep - 1, .events = POLLIN};
        if (asleep == 0 || poll(&events, 1, 0) != 0 || due <= now_ns)
            return false;
        *next = due < *next ? due : *next;
    }
    return true;
}

int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
    if (!begun)
        return (int)syscall(SYS_epoll_pwait, fd, events, max, timeout, mask, SIGSET_SZ);
    if (!is_controller)
        return is_driver ? driver_polls(fd, events, max, mask)
                         : other_polls(fd, events, max, timeout, mask);
    int n = poll_now(fd, events, max, mask);
    if (++turns - turns_at_leap > SOAK_SPIN_MAX)
        complain_of_spinning();
    if (n != 0 || timeout == 0)
        return n;
    due_ns = timeout < 0 ? INT64_MAX : now_ns + timeout * MS;
    for (;;) {
        sem_post(&to_driver);
        sem_wait(&to_controller);
        n = poll_now(fd, events, max, mask);
        if (n != 0 || now_ns >= due_ns) {
            moved = true;
            return n;
        }
    }
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
    return epoll_pwait(fd, events, max, timeout, NULL);
}

/* --- work on other threads ---------------------------------------------------------------- */

static struct work {
    uv_work_t *request;
    uv_work_cb work;
    uv_after_work_cb after;
} works[WORK_MAX];

static struct work *find_work(const uv_work_t *request)
{
    for (size_t i = 0; i < WORK_MAX; i++)
        if (works[i].request == request)
            return &works[i];
    abort();
}

static void do_work(uv_work_t *request)
{
    find_work(request)->work(request);
}

static void after_work(uv_work_t *request, int status)
{
    struct work done = *find_work(request);

    *find_work(request) = (struct work){0};
    n_working--;
    done.after(request, status);
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb work, uv_after_work_cb after)
{
    static int (*real)(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "uv_queue_work");
    *find_work(NULL) = (struct work){request, work, after};
    n_working++;
    return real(loop, request, do_work, after_work);
}

/* --- addresses ---------------------------------------------------------------------------- */

static bool translate(const struct sockaddr *address, struct sockaddr_in *ret_in)
{
    if (address->sa_family != AF_INET)
        return false;
    *ret_in = *(const struct sockaddr_in *)(const void *)address;
    uint32_t ip = ntohl(ret_in->sin_addr.s_addr);
    if (ip >> 16 != (10 << 8 | 99))
        return false;
    ret_in->sin_addr.s_addr = htonl((127u << 24) | (ip & 0xffffff));
    return true;
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in in;
    const void *to = translate(address, &in) ? (const void *)&in : (const void *)address;

    return (int)syscall(SYS_connect, fd, to, len);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in in;
    const void *to = translate(address, &in) ? (const void *)&in : (const void *)address;

    return (int)syscall(SYS_bind, fd, to, len);
}

/* --- the two who live --------------------------------------------------------------------- */

static void *run_controller(void *ctx)
{
    int (**body)(void) = ctx;

    is_controller = true;
    sem_wait(&to_controller);
    exit_code = (*body)();
    alive = false;
    moved = true;
    sem_post(&to_driver);
    return NULL;
}

static void give_turn(void)
{
    sem_post(&to_controller);
    while (sem_wait(&to_driver) != 0)
        continue;
}

void soak_controller_start(int (*body)(void))
{
    static int (*kept)(void);

    kept = body;
    alive = true;
    turns_at_leap = turns;
    if (pthread_create(&thread, NULL, run_controller, &kept) != 0)
        abort();
    give_turn();
}

bool soak_controller_runs(int *ret_code)
{
    if (ret_code)
        *ret_code = exit_code;
    return alive;
}

void soak_controller_join(void)
{
    pthread_join(thread, NULL);
}

unsigned long long soak_turns(void)
{
    return turns;
}

/* One turn of both; true when anybody did anything. */
static bool turn(uv_loop_t *own)
{
    driver_moved = moved = false;
    uv_run(own, UV_RUN_NOWAIT);
    if (alive)
        give_turn();
    uv_update_time(own);
    return driver_moved || moved || (uv_loop_alive(own) && uv_backend_timeout(own) == 0);
}

static int64_t next_event(const uv_loop_t *own, int64_t end_ns)
{
    int wait_ms = uv_loop_alive(own) ? uv_backend_timeout(own) : -1;
    int64_t next = end_ns;

    if (wait_ms >= 0 && now_ns + wait_ms * MS < next)
        next = now_ns + wait_ms * MS;
    if (alive && due_ns < next)
        next = due_ns;
    return next;
}

void soak_live(uv_loop_t *own, int64_t ms)
{
    int64_t end_ns = now_ns + ms * MS;

    for (;;) {
        if (turn(own))
            continue;
        if (n_working > 0) {
            sched_yield(); /* the pool of threads works */
            continue;
        }
        int64_t next = next_event(own, end_ns);
        if (!others_rest(&next)) {
            sched_yield();
            continue;
        }
        if (next > now_ns) {
            now_ns = next;
            turns_at_leap = turns;
        } else if (now_ns >= end_ns) {
            return;
        }
    }
}
