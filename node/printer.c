#include "node/printer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "node/wall.h"

/* More than a chunk of the log or the results of a group can take as text. */
#define OUT_MAX MIB(256)

void say(struct printer *printer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        printer->out.error = ERR_NO_MEMORY;
        return;
    }
    char *room = (char *)buf_extend(&printer->out, (size_t)len + 1);
    if (room == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(room, (size_t)len + 1, format, args);
    va_end(args);
    printer->out.len--; /* The final zero. */
}

void say_text(struct printer *printer, struct bytes text, size_t max)
{
    text_escape(text, max, &printer->out);
}

void say_tint(struct printer *printer, enum tint tint)
{
    static const char *const codes[] = {[TINT_PLAIN] = "\033[0m",
                                        [TINT_BOLD] = "\033[1m",
                                        [TINT_DIM] = "\033[2m",
                                        [TINT_GOOD] = "\033[32m",
                                        [TINT_WARN] = "\033[33m",
                                        [TINT_BAD] = "\033[31m",
                                        [TINT_PICTURE] = "\033[38;5;231;48;5;16m"};
    if (printer->colour) {
        buf_put_text(&printer->out, codes[tint]);
    }
}

static void clear_progress(struct printer *printer)
{
    if (printer->progress) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        printer->progress = false;
    }
}

void say_aside(struct printer *printer, const char *text)
{
    clear_progress(printer);
    (void)printer->sink.flush(printer);
    (void)fprintf(stderr, "meshlog: %s\n", text);
}

static int emit(void *ctx, const struct value *response)
{
    struct printer *printer = ctx;
    clear_progress(printer);
    if (printer->json) {
        int rv = value_to_json(response, &printer->out);
        if (rv != 0) {
            return rv;
        }
        buf_put_byte(&printer->out, '\n');
    } else {
        printer->people(printer, response);
    }
    return buf_error(&printer->out);
}

/* Write everything; wait where the other side takes its time (it may be non-blocking). */
static int flush(void *ctx)
{
    struct printer *printer = ctx;
    if (printer->fd < 0 || printer->broken != 0) {
        return printer->broken == 0 ? 0 : ERR_IO;
    }
    size_t done = 0;
    while (done < printer->out.len) {
        ssize_t written = write(printer->fd, printer->out.data + done, printer->out.len - done);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = printer->fd, .events = POLLOUT};
            (void)poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            printer->broken = errno;
            return ERR_IO;
        }
    }
    buf_clear(&printer->out);
    return 0;
}

static void note(void *ctx, const char *text)
{
    struct printer *printer = ctx;
    if (!printer->quiet) {
        say_aside(printer, text);
    }
}

/* A bar is drawn again after so long. */
#define REDRAW_MS 100u
#define BAR_MAX 40u
#define LINE_WIDTH 80u /* Of a terminal that does not tell. */

void progress_bar(const char *what, uint64_t done, uint64_t total, unsigned width, char *out,
                  size_t size)
{
    char bar[BAR_MAX + 8] = "";
    char tail[80];
    done = done < total ? done : total;
    unsigned percent = (unsigned)((double)done * 100 / (double)total);
    (void)snprintf(tail, sizeof(tail), "%3u %%  %s of %s ops", percent, text_count(done).text,
                   text_count(total).text);
    size_t used = strlen(what) + 2 + strlen(tail) + 4 + 1; /* With the brackets; the last column
                                                              stays free. */
    size_t cells = width > used ? width - used : 0;
    cells = cells < BAR_MAX ? cells : BAR_MAX;
    if (cells >= 4) {
        size_t full = (size_t)((double)done / (double)total * (double)cells);
        bar[0] = '[';
        memset(bar + 1, '#', full);
        memset(bar + 1 + full, '-', cells - full);
        (void)snprintf(bar + 1 + cells, sizeof(bar) - 1 - cells, "]  ");
    }
    (void)snprintf(out, size, "%s  %s%s", what, bar, tail);
    if (width > 0 && strlen(out) >= width) { /* Else it would wrap, and stay. */
        out[width - 1] = 0;
    }
}

static unsigned error_width(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : LINE_WIDTH;
}

static void progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    struct printer *printer = ctx;
    char line[PROGRESS_LINE];
    uint64_t now = steady_ms();
    bool between = total > 0 && done < total; /* Beginnings and ends are always drawn. */
    if (printer->quiet || (between && now - printer->shown < REDRAW_MS)) {
        return;
    }
    printer->shown = now;
    if (isatty(STDERR_FILENO) != 1) {
        return;
    }
    (void)snprintf(line, sizeof(line), "%s", what);
    if (total > 0) {
        progress_bar(what, done, total, error_width(), line, sizeof(line));
    }
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    printer->progress = true;
}

static int divert(void *ctx)
{
    struct printer *printer = ctx;
    int fd = printer->fd;
    if (fd >= 0) {
        printer->fd = STDERR_FILENO;
        printer->colour = false;
        printer->width = 0;
    }
    return fd;
}

static bool wants_colour(void)
{
    const char *refused = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool able = term != NULL && strcmp(term, "dumb") != 0;
    return able && (refused == NULL || refused[0] == 0);
}

static void init(struct printer *printer, print_fn *people, int fd)
{
    *printer = (struct printer){.fd = fd, .people = people};
    buf_init(&printer->out, OUT_MAX);
    printer->sink = (struct sink){.ctx = printer,
                                  .emit = emit,
                                  .flush = flush,
                                  .note = note,
                                  .progress = progress,
                                  .divert = divert,
                                  .watch = fd};
}

void printer_init(struct printer *printer, print_fn *people, bool json)
{
    init(printer, people, STDOUT_FILENO);
    printer->json = json;
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 1) {
        printer->colour = wants_colour();
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
            printer->width = size.ws_col;
        }
    }
}

void printer_init_memory(struct printer *printer, print_fn *people, unsigned width)
{
    init(printer, people, -1);
    printer->width = width;
    printer->quiet = true;
}

void printer_free(struct printer *printer)
{
    clear_progress(printer);
    buf_free(&printer->out);
}
