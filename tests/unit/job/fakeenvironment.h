/* SPDX-License-Identifier: Apache-2.0 */
/* A task's environment of a few short variables, for the tests of what is set there. */
#ifndef FAKEENVIRONMENT_H
#define FAKEENVIRONMENT_H

#include "job/step/isolate.h"

/* The one there is. */
const struct hm_environment *fake_environment(void);
void fake_environment_clear(void);
void fake_environment_put(const char *name, const char *value);
/* The value, NULL where there is none. */
const char *fake_environment_get(const char *name);
/* From now on nothing can be set (ENOMEM), until it is cleared. */
void fake_environment_fill(void);

#endif
