/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "base/words.h"
#include "core/load/text.h"

#define FILE_MAX 65536

int hm_replayload_read(const char *path, struct hm_load *load, struct hm_error *error)
{
    size_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    char *text = hm_file_read_whole(fd, FILE_MAX, &length);
    int number = errno;
    close(fd);
    errno = number;
    if (!text && errno == E2BIG)
        return hm_fail(error, EFBIG, "%s is larger than %d bytes", path, FILE_MAX);
    if (!text)
        return errno == EINVAL ? hm_fail(error, EINVAL, "%s is no regular file", path)
                               : hm_fail_errno(error, "%s", path);
    int result = hm_load_parse(path, text, length, load, error);
    free(text);
    return result;
}

static const char *channels_of(const struct hm_load *load)
{
    return load->channels == HM_CHANNELS_SHARED ? "shared" : "separate";
}

void hm_replayload_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_options *options)
{
    const struct hm_load *load = options->load;
    hm_words_put_text(out, columns, indent,
                      "Accesses: the share that the fast tier served. AMAT: 1 is the fast tier without load, %.6g ns "
                      "(slow: %.6g ns). Latencies are those under the traffic of each phase of %.6g s; the tiers are "
                      "saturated at %.6g and %.6g GB/s, with %s channels.",
                      hm_curve_idle_ns(&load->fast), hm_curve_idle_ns(&load->slow), options->phase_s,
                      hm_curve_most_gbs(&load->fast), hm_curve_most_gbs(&load->slow), channels_of(load));
}

static json_t *json_tier(const struct hm_curve *curve)
{
    return json_pack("{s:f, s:f}", "idle_ns", hm_curve_idle_ns(curve), "most_gbs", hm_curve_most_gbs(curve));
}

json_t *hm_replayload_json(const struct hm_replay_options *options)
{
    const struct hm_load *load = options->load;
    return json_pack("{s:s, s:f, s:o, s:o}", "channels", channels_of(load), "phase_s", options->phase_s, "fast",
                     json_tier(&load->fast), "slow", json_tier(&load->slow));
}
