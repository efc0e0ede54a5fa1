/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers for sysfs' descriptions of a PMU's events. The input's first line is an event (and is parsed as a
 * scale, too), the second the format of each of its terms. An accepted event sets no bit outside of the format. */
#include <stdlib.h>
#include <string.h>

#include "base/pmu.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look_up(void *data, const char *term, char *text)
{
    const char *format = data;
    if (!*term || strlen(format) >= HM_PMU_TEXT)
        return -1;
    memcpy(text, format, strlen(format) + 1);
    return 0;
}

static void check_bits(const struct hm_pmu_format *format, const struct hm_pmu_config *config)
{
    struct hm_pmu_config all = {{0}};
    for (unsigned i = 0; i < format->n_ranges; i++)
        for (unsigned bit = format->range[i].first; bit <= format->range[i].last; bit++)
            all.word[format->word] |= UINT64_C(1) << bit;
    for (int word = 0; word < HM_PMU_WORDS; word++)
        if (config->word[word] & ~all.word[word])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_pmu_format format;
    struct hm_pmu_config config;
    struct hm_error error;
    double scale;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    char *second = strchr(text, '\n');
    if (second)
        *second++ = '\0';
    else
        second = text + size;
    if (hm_pmu_parse_scale(text, &scale, &error) == 0 && !(scale > 0))
        abort();
    int has_format = hm_pmu_parse_format(second, &format, &error) == 0;
    if (hm_pmu_parse_event(text, look_up, second, &config, &error) == 0) {
        if (!has_format)
            abort();
        check_bits(&format, &config);
    }
    free(text);
    return 0;
}
