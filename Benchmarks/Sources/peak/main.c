/* SPDX-License-Identifier: Apache-2.0 */

/*
 * peak COMMAND...: runs a command with its output thrown away and prints the most memory that it held, in KiB.
 *
 * A program of its own because a child's peak begins at what its parent holds when it starts it: a Swift
 * program's several MiB would hide what a small command needs.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(char *arguments[]) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    execvp(arguments[0], arguments);
    _exit(127);
}

int main(int count, char *arguments[]) {
    if (count < 2) {
        fprintf(stderr, "usage: peak COMMAND...\n");
        return 64;
    }
    pid_t child = fork();
    if (child == 0) {
        run(arguments + 1);
    }
    int ending = 0;
    struct rusage usage;
    pid_t ended;
    do {
        ended = wait4(child, &ending, 0, &usage);
    } while (ended < 0 && errno == EINTR);
    if (child < 0 || ended < 0 || !WIFEXITED(ending) || WEXITSTATUS(ending) == 127) {
        fprintf(stderr, "peak: cannot run %s\n", arguments[1]);
        return 1;
    }
    printf("%ld\n", usage.ru_maxrss);
    return 0;
}
