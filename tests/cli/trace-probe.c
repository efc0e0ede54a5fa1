/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose accesses are known, for test_trace.py: it writes the first byte of each page of `written` ten times,
 * then reads the first byte of each page of `hot` a thousand times. Its first word says what it does besides. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define WRITTEN 100
#define HOT 5

volatile char written[WRITTEN * PAGE] __attribute__((aligned(PAGE)));
volatile char hot[HOT * PAGE] __attribute__((aligned(PAGE)));

static unsigned sum; /* of what was read: Valgrind leaves out loads of values that are not used */

static void use(void)
{
    for (int i = 0; i < 10; i++)
        for (int page = 0; page < WRITTEN; page++)
            written[page * PAGE] = 1;
    for (int i = 0; i < 1000; i++)
        for (int page = 0; page < HOT; page++)
            sum += (unsigned char)hot[page * PAGE];
}

static void end(int number)
{
    (void)number;
    _exit(9);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    char line[64];
    use();
    if (strcmp(word, "fork") == 0) {
        if (fork() == 0) {
            use();
            _exit(0);
        }
        wait(NULL);
    } else if (strcmp(word, "exec") == 0) {
        /* All descriptors are closed; another file gets the number that the test has chosen. */
        int file = open(argv[3], O_WRONLY | O_CREAT, 0600);
        dup2(file, atoi(argv[2]));
        syscall(SYS_close_range, 3, ~0U, 0);
        execl(argv[0], argv[0], "again", (char *)NULL);
    } else if (strcmp(word, "echo") == 0) {
        while (fgets(line, sizeof(line), stdin))
            fputs(line, stdout);
        fputs("to standard error\n", stderr);
    } else if (strcmp(word, "die") == 0) {
        raise(SIGKILL);
    } else if (strcmp(word, "leave") == 0) {
        /* The child stays until the end of its input. */
        if (fork() == 0) {
            puts("ready");
            fflush(stdout);
            while (getchar() != EOF)
                ;
        }
    } else if (strcmp(word, "wait") == 0) {
        signal(SIGTERM, end);
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    return sum == 0 ? 7 : 1;
}
