/* SPDX-License-Identifier: Apache-2.0 */
/* Reads traces from files, plain or compressed. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/size.h"

#define CHUNK (1u << 20)

struct text {
    char *data;
    size_t length, room, most;
};

static int check_length(const struct text *text, const char *path, struct hm_error *error)
{
    char most[32];
    if (text->length <= text->most)
        return 0;
    return hm_fail(error, E2BIG, "%s: no trace, as it is longer than %s", path,
                   hm_size_format(text->most, most, sizeof(most)));
}

/* Makes room for another chunk. */
static int reserve(struct text *text, const char *path, struct hm_error *error)
{
    if (text->room - text->length >= CHUNK)
        return 0;
    size_t room = 2 * text->room < text->most ? 2 * text->room + CHUNK : text->most + 2 * CHUNK;
    char *data = realloc(text->data, room);
    if (!data)
        return hm_fail(error, ENOMEM, "%s: no memory for the trace", path);
    text->data = data;
    text->room = room;
    return 0;
}

static int read_file(const char *path, struct text *text, struct hm_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    ssize_t got = -1;
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        hm_fail(error, EINVAL, "%s: no trace, as it is not a file", path);
        goto done;
    }
    do {
        if (reserve(text, path, error) < 0)
            goto done;
        got = read(fd, text->data + text->length, text->room - text->length);
        if (got < 0 && errno != EINTR) {
            hm_fail_errno(error, "%s", path);
            goto done;
        }
        text->length += got > 0 ? (size_t)got : 0;
        if (check_length(text, path, error) < 0) {
            got = -1;
            goto done;
        }
    } while (got != 0);
done:;
    int number = errno;
    close(fd);
    errno = number;
    return got == 0 ? 0 : -1;
}

/* Decompresses all frames of `packed`. */
static int decompress(const char *path, const struct text *packed, struct text *text, struct hm_error *error)
{
    ZSTD_inBuffer in = {packed->data, packed->length, 0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t hint = 1;
    int result = stream ? 0 : hm_fail(error, ENOMEM, "%s: no memory to decompress", path);
    while (result == 0 && (in.pos < in.size || hint != 0)) {
        if ((result = reserve(text, path, error)) < 0)
            break;
        ZSTD_outBuffer out = {text->data, text->room, text->length};
        size_t before = in.pos;
        hint = ZSTD_decompressStream(stream, &out, &in);
        if (ZSTD_isError(hint))
            result = hm_fail(error, EBADMSG, "%s: cannot be decompressed: %s", path, ZSTD_getErrorName(hint));
        else if (hint != 0 && in.pos == before && out.pos == text->length)
            result = hm_fail(error, EBADMSG, "%s: the archive is cut: it ends within a frame", path);
        text->length = out.pos;
        if (result == 0)
            result = check_length(text, path, error);
    }
    ZSTD_freeDStream(stream);
    return result;
}

static int is_packed(const struct text *text)
{
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878, 3.1.1 */
    return text->length >= sizeof(magic) && memcmp(text->data, magic, sizeof(magic)) == 0;
}

int hm_trace_read_most(const char *path, size_t most, struct hm_trace *trace, struct hm_error *error)
{
    struct text file = {.most = most}, text = {.most = most};
    memset(trace, 0, sizeof(*trace));
    int result = read_file(path, &file, error);
    if (result == 0 && is_packed(&file))
        result = decompress(path, &file, &text, error);
    if (result == 0)
        result = text.data ? hm_trace_parse(path, text.data, text.length, trace, error)
                           : hm_trace_parse(path, file.data, file.length, trace, error);
    int number = errno;
    free(file.data);
    free(text.data);
    errno = number;
    return result;
}

int hm_trace_read(const char *path, struct hm_trace *trace, struct hm_error *error)
{
    return hm_trace_read_most(path, HM_TRACE_MOST, trace, error);
}
