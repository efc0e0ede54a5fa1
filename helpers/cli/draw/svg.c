/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char hm_svg_on_light[] =
    "text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#30343b}\n"
    ".title{font-size:17px;font-weight:600}.sub{font-size:13px}.mono{font-family:ui-monospace,'DejaVu Sans "
    "Mono',monospace;font-size:10.5px}\n"
    ".page{fill:#ffffff}.empty{fill:#eceef2}.fast{fill:#008c9e}.grid{stroke:#c5cad2}\n";
const char hm_svg_on_dark[] = "text{fill:#d6dae1}.page{fill:#14161a}.empty{fill:#23262c}.fast{fill:#3fd9ea}"
                              ".grid{stroke:#4a505b}\n";

void hm_svg_put_start(FILE *out, unsigned width, unsigned height)
{
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\">\n",
        width, height, width, height);
}

void hm_svg_put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("&<>\"", *text))
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
    }
}

int hm_svg_check_path(const char *path, struct hm_error *error)
{
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return hm_fail(error, EINVAL, "\"%.200s\" is not a file: name the picture to write, as in plot.svg", path);
    return 0;
}

typedef void draw_picture(FILE *out, const void *picture);

/* In the place of the regular file `path`, or of none. Returns 0, or -1 with a text about `said`. */
static int replace(const char *path, const char *said, draw_picture *draw, const void *picture, struct hm_error *error)
{
    char *temporary = NULL;
    FILE *out = NULL;
    int status = -1, fd = -1;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return hm_fail(error, ENOMEM, "out of memory");
    mode_t mask = umask(0);
    umask(mask);
    fd = mkostemp(temporary, O_CLOEXEC);
    out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        hm_fail_errno(error, "--plot %.300s: it cannot be written there", said);
        goto done;
    }
    draw(out, picture);
    bool is_written = fflush(out) == 0 && !ferror(out) && fchmod(fd, 0666 & ~mask) == 0;
    is_written = fclose(out) == 0 && is_written;
    if (!is_written || rename(temporary, path) < 0) {
        hm_fail_errno(error, "--plot %.300s: it cannot be written", said);
        unlink(temporary);
        goto done;
    }
    status = 0;
done:
    free(temporary);
    return status;
}

/* Into what is there and is no regular file: a pipe, a device. A link that points to nothing makes its file. */
static int write_into(const char *path, draw_picture *draw, const void *picture, struct hm_error *error)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return hm_fail_errno(error, "--plot %.300s: it cannot be written there", path);
    draw(out, picture);
    bool is_written = fflush(out) == 0 && !ferror(out);
    is_written = fclose(out) == 0 && is_written;
    return is_written ? 0 : hm_fail_errno(error, "--plot %.300s: it cannot be written", path);
}

/* Also by another name, /dev/stdout. */
static bool is_stdout(const struct stat *found)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == found->st_dev && out.st_ino == found->st_ino;
}

int hm_svg_write(const char *path, draw_picture *draw, const void *picture, struct hm_error *error)
{
    struct stat found;
    /* By stat the kernel says which links are not to be followed (fs.protected_symlinks); realpath alone would not. */
    bool is_there = stat(path, &found) == 0;
    if (!is_there && errno != ENOENT)
        return hm_fail_errno(error, "--plot %.300s: it cannot be written there", path);
    if (is_there && is_stdout(&found)) {
        draw(stdout, picture); /* what is in it already stays */
        return fflush(stdout) == 0 ? 0 : hm_fail_errno(error, "--plot %.300s: it cannot be written", path);
    }
    if (!is_there && lstat(path, &found) < 0)
        return replace(path, path, draw, picture, error);
    if (!is_there || !S_ISREG(found.st_mode))
        return write_into(path, draw, picture, error);
    char *target = realpath(path, NULL);
    if (!target)
        return hm_fail_errno(error, "--plot %.300s: it cannot be written there", path);
    int status = replace(target, path, draw, picture, error);
    free(target);
    return status;
}
