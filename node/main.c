/* main.c - Set up the process and run one command. */
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "node/cli.h"
#include "node/stop.h"

/* Where standard input, output or error is closed, take its number, so that no file of the store
 * gets it. Using it fails, as it should. */
static int hold_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) {
            return -1;
        }
    }
    return 0;
}

/* Keys are in this process: it leaves no core and lets nobody look in. Files are for us alone.
 * A closed pipe or a limit on file sizes is an error to be told, not a reason to die. */
static int set_up(void)
{
    const struct rlimit none = {0, 0};
    sigset_t stops;
    stop_signals(&stops);
    if (hold_standard_files() != 0) {
        return -1;
    }
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -1;
    }
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        return -1;
    }
    if (sigprocmask(SIG_UNBLOCK, &stops, NULL) != 0) { /* A parent may have blocked them. */
        return -1;
    }
    (void)umask(077);
    return sodium_init() < 0 ? -1 : 0;
}

int main(int argc, char *argv[])
{
    if (set_up() != 0) {
        (void)fputs("meshlog: The process could not be set up: files, limits, signals or random "
                    "numbers are not to be had.\n",
                    stderr);
        return EXIT_REFUSED;
    }
    const char *const *words = (const char *const *)argv;
    return argc > 0 ? cli_run(argc - 1, words + 1) : cli_run(0, words);
}
