/* SPDX-License-Identifier: Apache-2.0 */
#include "tracewriter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "migrator/replay/trace.h"

#define CHUNK 65536
#define LEVEL 9 /* of compression: above it, traces are hardly smaller */

static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno != EINTR)
            return -1;
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Writes text, compressed or not; ZSTD_e_end ends a frame. */
static int pack(struct hm_tracewriter *writer, int fd, const char *text, size_t length, ZSTD_EndDirective directive)
{
    char packed[CHUNK];
    ZSTD_inBuffer in = {text, length, 0};
    size_t left;
    if (!writer->zstd)
        return write_all(fd, text, length);
    do {
        ZSTD_outBuffer out = {packed, sizeof(packed), 0};
        left = ZSTD_compressStream2(writer->zstd, &out, &in, directive);
        if (ZSTD_isError(left)) {
            errno = ENOMEM; /* the only error for valid parameters */
            return -1;
        }
        if (write_all(fd, packed, out.pos) != 0)
            return -1;
    } while (directive == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

/* A file without a name, in the folder of the trace. Returns its descriptor, or -1 with errno. */
static int make_rows(const struct hm_tracewriter *writer)
{
    char *name = NULL;
    if (asprintf(&name, "%s.XXXXXX", writer->file.path) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(name, O_CLOEXEC), number = errno;
    if (fd >= 0)
        unlink(name);
    free(name);
    errno = number;
    return fd;
}

int hm_tracewriter_open(struct hm_tracewriter *writer, const char *path, struct hm_error *error)
{
    size_t length = strlen(path);
    *writer = (struct hm_tracewriter){.rows = -1};
    if (hm_newfile_open(&writer->file, path, "app.trace.zst", error) != 0)
        return -1;
    writer->rows = make_rows(writer);
    if (writer->rows < 0)
        return hm_fail_errno(error, "%s", path);
    if (length < 4 || strcmp(path + length - 4, ".zst") != 0)
        return 0;
    writer->zstd = ZSTD_createCCtx();
    if (!writer->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL)))
        return hm_fail(error, ENOMEM, "%s: no memory to compress it", path);
    return 0;
}

int hm_tracewriter_put(struct hm_tracewriter *writer, const char *text, size_t length, struct hm_error *error)
{
    if (pack(writer, writer->rows, text, length, ZSTD_e_continue) != 0)
        return hm_fail_errno(error, "%s", writer->file.path);
    return 0;
}

static int copy_rows(const struct hm_tracewriter *writer)
{
    char text[CHUNK];
    ssize_t got;
    if (lseek(writer->rows, 0, SEEK_SET) != 0)
        return -1;
    while ((got = read(writer->rows, text, sizeof(text))) != 0) {
        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0 && write_all(writer->file.fd, text, (size_t)got) != 0)
            return -1;
    }
    return 0;
}

int hm_tracewriter_end(struct hm_tracewriter *writer, const char *header, struct hm_error *error)
{
    static const char columns[] = HM_TRACE_COLUMNS "\n";
    if (pack(writer, writer->rows, "", 0, ZSTD_e_end) != 0 ||
        pack(writer, writer->file.fd, header, strlen(header), ZSTD_e_continue) != 0 ||
        pack(writer, writer->file.fd, columns, strlen(columns), ZSTD_e_end) != 0 || copy_rows(writer) != 0 ||
        hm_newfile_place(&writer->file) != 0)
        return hm_fail_errno(error, "%s", writer->file.path);
    return 0;
}

void hm_tracewriter_close(struct hm_tracewriter *writer)
{
    if (writer->rows >= 0)
        close(writer->rows);
    ZSTD_freeCCtx(writer->zstd);
    hm_newfile_close(&writer->file);
    writer->zstd = NULL;
    writer->rows = -1;
}
