#include "node/stop.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t stopped_by;

static void remember(int number)
{
    stopped_by = number;
}

void stop_signals(sigset_t *out)
{
    struct sigaction hangup;
    sigemptyset(out);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaddset(out, SIGHUP);
    }
}

void stop_begin(void)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = (int)SA_RESETHAND};
    sigset_t ours;
    stop_signals(&ours);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&ours, number) == 1) {
            (void)sigaction(number, &action, NULL);
        }
    }
}

int stop_signal(void)
{
    return stopped_by;
}

/* Signals are let in only while waiting, so that none slips by between look and wait. */
enum stop_event stop_wait(int in, int out, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = in, .events = POLLIN}, {.fd = out}};
    struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                               .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    sigset_t ours;
    sigset_t before;
    stop_signals(&ours);
    (void)sigprocmask(SIG_BLOCK, &ours, &before);
    int ready = 0;
    if (stopped_by == 0) {
        ready = ppoll(fds, 2, timeout_ms < 0 ? NULL : &timeout, &before);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (stopped_by != 0) {
        return STOP_SIGNAL;
    }
    if (ready > 0 && (fds[1].revents & (POLLERR | POLLHUP)) != 0) {
        return STOP_HANGUP;
    }
    return ready > 0 ? STOP_READABLE : STOP_TIMEOUT;
}
