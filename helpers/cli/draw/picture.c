/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROGRAM HM_PKGLIBEXECDIR "/hybridmem-picture"
#define DIGITS 12 /* of a JSON number with a fraction */

/* Is it the name of another kind of picture than SVG, as a.png? */
static bool is_other_kind(const char *path)
{
    static const char *const kinds[] = {"bmp", "eps", "gif", "jpeg", "jpg", "pdf", "png", "ps", "tif", "tiff", "webp"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcasecmp(dot + 1, kinds[i]) == 0)
            return true;
    return false;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int hm_picture_check_path(const char *path, struct hm_error *error)
{
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return hm_fail(error, EINVAL, "\"%.200s\" is not a file: name the picture to write, as in plot.svg", path);
    if (is_other_kind(path))
        return hm_fail(error, EINVAL,
                       "\"%.200s\" is the name of another kind of picture: only SVG is drawn, so name it %.*s.svg",
                       path, (int)(strrchr(path, '.') - path), path);
    return 0;
}

FILE *hm_picture_choose_output(const char *path)
{
    return is_stdout(path) ? stderr : stdout;
}

/* Puts the figures into a memory file and makes it standard input. Returns 0, or -1 with errno. */
static int put_on_input(const json_t *figures)
{
    /* No MFD_CLOEXEC: if standard input was closed, the memory file itself gets descriptor 0, and must stay open. */
    int fd = memfd_create("figures", 0);
    errno = fd < 0 ? errno : ENOMEM; /* json_dumpfd may leave errno unset */
    if (fd < 0 || json_dumpfd(figures, fd, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    return dup2(fd, STDIN_FILENO) == STDIN_FILENO ? 0 : -1;
}

int hm_picture_draw(const char *command, const char *option, const char *path, const json_t *figures,
                    struct hm_error *error)
{
    if (put_on_input(figures) < 0)
        return hm_fail_errno(error, "%s %.300s: the figures cannot be handed to " PROGRAM, option, path);
    char *file = NULL;
    /* The program takes a name that begins with "-" for an option; "-" alone is standard output to it, too. */
    if (asprintf(&file, "%s%s", path[0] == '-' && !is_stdout(path) ? "./" : "", path) < 0)
        return hm_fail(error, ENOMEM, "%s %.300s: no memory to draw it", option, path);
    execl(PROGRAM, PROGRAM, command, file, (char *)NULL);
    hm_fail_errno(error, "%s %.300s: it is drawn by Python 3, but " PROGRAM " cannot be run", option, path);
    free(file);
    return -1;
}
