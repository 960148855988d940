/* Run under the shim, it prints how far its wall clock is ahead of the kernel's, in nanoseconds. */

#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    struct timespec told, truth;
    if (clock_gettime(CLOCK_REALTIME, &told) != 0)
        return 1;
    if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &truth) != 0)
        return 1;
    long long ahead = (told.tv_sec - truth.tv_sec) * 1000000000LL + (told.tv_nsec - truth.tv_nsec);
    printf("%lld\n", ahead);
    return 0;
}
