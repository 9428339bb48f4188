/* cli.h - One run of the program: words in, text out, an exit code. */
#ifndef NODE_CLI_H
#define NODE_CLI_H

#define EXIT_DONE 0
#define EXIT_REFUSED 1
#define EXIT_USAGE 2

int cli_run(int count, const char *const words[]);

#endif
