#include "node/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "node/secret.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t came;

static void remember(int number)
{
    came = number;
}

/* What was in force before the question. */
struct before {
    struct sigaction actions[SIGNALS];
    sigset_t mask;
    struct termios modes;
};

/* Remember signals, and let them in only while waiting. What is ignored stays ignored. */
static void hold_signals(struct before *before)
{
    struct sigaction action = {.sa_handler = remember};
    sigset_t ours;
    sigemptyset(&ours);
    came = 0;
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], NULL, &before->actions[i]);
        if (before->actions[i].sa_handler != SIG_IGN) {
            (void)sigaction(signals[i], &action, NULL);
            sigaddset(&ours, signals[i]);
        }
    }
    (void)sigprocmask(SIG_BLOCK, &ours, &before->mask);
}

static void release_signals(const struct before *before)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], &before->actions[i], NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static void write_text(int tty, const char *text)
{
    ssize_t written = write(tty, text, strlen(text));
    (void)written; /* Who cannot see the question can still answer it. */
}

/* A line, which the terminal gives as a whole; less when a signal came. */
static void read_answer(int tty, const struct before *before, struct secret *out)
{
    struct pollfd wait = {.fd = tty, .events = POLLIN};
    out->len = 0;
    while (came == 0 && ppoll(&wait, 1, NULL, &before->mask) < 0 && errno == EINTR) {
    }
    ssize_t got = came == 0 ? read(tty, out->text, sizeof(out->text)) : 0;
    out->len = got > 0 ? (size_t)got : 0;
    secret_cut_line(out);
}

/* Ask once; leaves the signal that came, if one did, in came. */
static int ask_once(int tty, const char *question, bool shown, struct secret *out)
{
    struct before before;
    struct termios quiet;
    if (tcgetattr(tty, &before.modes) != 0) {
        return ERR_IO;
    }
    quiet = before.modes;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    quiet.c_lflag |= ICANON | ISIG;
    hold_signals(&before);
    if (!shown) {
        (void)tcsetattr(tty, TCSAFLUSH, &quiet);
    }
    write_text(tty, question);
    read_answer(tty, &before, out);
    if (!shown) {
        (void)tcsetattr(tty, TCSAFLUSH, &before.modes);
        write_text(tty, "\n"); /* The one that was typed was not shown. */
    }
    release_signals(&before);
    return 0;
}

static int ask(const char *question, bool shown, struct secret *out)
{
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int rv = tty < 0 ? ERR_IO : 0;
    bool again = rv == 0;
    while (again) {
        rv = ask_once(tty, question, shown, out);
        int number = rv == 0 ? came : 0;
        if (number != 0) {
            (void)raise(number);
            rv = ERR_IO; /* Whoever else takes this signal knows what to do. */
        }
        again = number == SIGTSTP;
    }
    if (tty >= 0) {
        close(tty);
    }
    return rv;
}

const struct asker terminal_asker = {.ask = ask};
