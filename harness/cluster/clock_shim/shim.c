/* Preloaded into a process, it shifts the wall clock that the process is told, and nothing else.

   How far, says the file named by LOG_TRIAL_CLOCK, which may change at any time:

     int64 turn                      the lowest bit tells which of the two settings is in force
     { int64 since_ns, int64 offset_ns, double gain } twice

   told = true + offset_ns + gain * (true - since_ns). Whoever changes it writes the setting that is
   not in force and then the turn, so that nobody ever reads half of one.

   CLOCK_MONOTONIC and all the others stay true, and so do file times, which are the kernel's.
   Deadlines by the wall clock are translated where the C library takes them for a sleep or a
   semaphore. Statically linked programs cannot be reached. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

struct setting {
    int64_t since_ns;
    int64_t offset_ns;
    double gain;
};

struct clock_file {
    int64_t turn;
    struct setting settings[2];
};

static const struct clock_file true_time;
static const struct clock_file *shared = &true_time;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_sem_timedwait)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    if (real_gettime)
        return;
    real_nanosleep = dlsym(RTLD_NEXT, "clock_nanosleep");
    real_sem_timedwait = dlsym(RTLD_NEXT, "sem_timedwait");
    const char *path = getenv("LOG_TRIAL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *found = mmap(NULL, sizeof(struct clock_file), PROT_READ, MAP_SHARED, file, 0);
        if (found != MAP_FAILED)
            shared = found;
        close(file);
    }
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

static struct setting in_force(void) {
    int64_t turn = __atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE);
    return shared->settings[turn & 1];
}

static int64_t nanoseconds(const struct timespec *t) {
    return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static void put(struct timespec *t, int64_t ns) {
    int64_t rest = ns % SECOND;
    t->tv_sec = ns / SECOND - (rest < 0);
    t->tv_nsec = rest + (rest < 0 ? SECOND : 0);
}

static int64_t told(int64_t true_ns) {
    struct setting now = in_force();
    return true_ns + now.offset_ns + (int64_t)(now.gain * (double)(true_ns - now.since_ns));
}

/* The true time at which the clock will show this, if nobody touches it meanwhile. */
static struct timespec truly(const struct timespec *shown) {
    struct setting now = in_force();
    int64_t at_since = now.since_ns + now.offset_ns;
    double left = (double)(nanoseconds(shown) - at_since) / (1.0 + now.gain);
    struct timespec found;
    put(&found, now.since_ns + (int64_t)left);
    return found;
}

static int is_wall(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (!real_gettime)
        begin();
    int result = real_gettime(clock, t);
    if (result == 0 && is_wall(clock))
        put(t, told(nanoseconds(t)));
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *t, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
    if (!real_gettime)
        begin();
    if (!(flags & TIMER_ABSTIME) || !is_wall(clock))
        return real_nanosleep(clock, flags, t, left);
    struct timespec until = truly(t);
    return real_nanosleep(clock, flags, &until, left);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict t) {
    if (!real_gettime)
        begin();
    struct timespec until = truly(t);
    return real_sem_timedwait(semaphore, &until);
}
