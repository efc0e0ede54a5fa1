/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the rows of all sources, each of which is in a file of its own, and their number HM_SOURCES. */
#ifndef HM_MIGRATOR_SOURCES_ROWS_H
#define HM_MIGRATOR_SOURCES_ROWS_H

#include "source.h"

#define HM_SOURCE(word, ...) extern const struct hm_source_row hm_source_##word;
#include "core/request/sources.def"
enum {
#define HM_SOURCE(word, ...) HM_SOURCE_NUMBER_##word,
#include "core/request/sources.def"
    HM_SOURCES
};

#endif
